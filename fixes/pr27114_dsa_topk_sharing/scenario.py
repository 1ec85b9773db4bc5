"""Two DSA checkpoints, read from their ``config.json``: does each layer choose its tokens with the right indexer?

Of eight layers four have an indexer in the checkpoint, as ``index_topk_freq`` and ``index_skip_topk_offset`` say. One
checkpoint is GLM's, whose fields transformers overwrites; the other is not. :func:`observe` returns which layers choose
for themselves, and which do not choose the tokens that they should.

Example::

    observe("cpu")["glm"]["wrong_layers"]     # [] when fixed
"""

from __future__ import annotations

from typing import Any

import torch

from prtoggle.scenario import Case
from prtoggle_fixes.bits import attempt
from prtoggle_fixes.pr27114_dsa_topk_sharing import forward

LAYERS, HIDDEN, TOKENS, TOPK = 8, 16, 12, 4
FREQ, OFFSET = 4, 3
WITH_INDEXER = (0, 1, 2, 6)
"""Layers that have an indexer in the checkpoint."""
ROPE = 8
"""Rows of the rotary part in the checkpoint."""


def raw_config(architecture: str, head_dim: int) -> dict[str, Any]:
    """A ``config.json``."""
    return {
        "architectures": [architecture],
        "num_hidden_layers": LAYERS,
        "hidden_size": HIDDEN,
        "kv_lora_rank": 4,
        "qk_nope_head_dim": 24,
        "qk_rope_head_dim": ROPE,
        "head_dim": head_dim,
        "index_topk": TOPK,
        "index_topk_freq": FREQ,
        "index_skip_topk_offset": OFFSET,
    }


def checkpoint(device: str) -> dict[str, torch.Tensor]:
    """Weights: an indexer for some layers, each of which likes other tokens best."""
    weights = {f"{layer}.kv_a_proj_with_mqa": torch.ones(4 + ROPE, HIDDEN, device=device) for layer in range(LAYERS)}
    for layer in WITH_INDEXER:
        weights[f"{layer}.indexer"] = torch.eye(HIDDEN, device=device)[layer]
    return weights


def hidden_states(device: str) -> torch.Tensor:
    """Column ``c`` is largest for tokens ``c``, ``c + 1``, ... around the end."""
    tokens, columns = torch.arange(TOKENS)[:, None], torch.arange(HIDDEN)[None]
    return (TOKENS - (tokens - columns) % TOKENS).float().to(device)


def tokens_of(layer: int) -> list[int]:
    """What a layer should attend to: the choice of the last indexer up to it."""
    column = max(with_one for with_one in WITH_INDEXER if with_one <= layer)
    return sorted((column + i) % TOKENS for i in range(TOPK))


def choose(raw: dict[str, Any], device: str) -> dict[str, Any]:
    """Load a checkpoint and let every layer choose."""
    config = forward.HfModelConfigParser().parse(raw)
    model = forward.DeepseekV2Model(config, checkpoint(device), torch.device(device))
    chosen = [tokens.tolist() for tokens in model.forward_topk(hidden_states(device))]
    return {
        "computing": [layer.layer_id for layer in model.layers if not layer.skip_topk],
        "wrong_layers": [layer for layer in range(LAYERS) if chosen[layer] != tokens_of(layer)],
        "qk_rope_head_dim": config.qk_rope_head_dim,
    }


def observe(device: str) -> dict[str, Any]:
    """Both checkpoints; and GLM's once more with a ``head_dim`` that is not the rotary part's."""
    return {
        "glm": attempt(lambda where: choose(raw_config(forward.GLM, ROPE), where), device),
        "other": attempt(lambda where: choose(raw_config("DeepseekV32ForCausalLM", ROPE), where), device),
        "glm_head_dim": attempt(lambda where: choose(raw_config(forward.GLM, 2 * ROPE), where), device),
    }


def _right(seen: dict[str, Any]) -> bool:
    return not seen["error"] and seen["computing"] == list(WITH_INDEXER) and not seen["wrong_layers"]


def _counted_from_one(seen: dict[str, Any]) -> bool:
    """Layers 2 and 6 ignore their indexers, layer 5 computes without one."""
    return not seen["error"] and seen["computing"] == [0, 1, 5] and seen["wrong_layers"] == [2, 3, 4, 5, 6, 7]


def _none_shares(seen: dict[str, Any]) -> bool:
    return not seen["error"] and seen["computing"] == list(range(LAYERS)) and seen["wrong_layers"] == [3, 4, 5, 7]


def _does_not_fit(seen: dict[str, Any]) -> bool:
    return str(seen["error"]).startswith("RuntimeError: layer 0: kv_a_proj_with_mqa")


CASES = (
    Case(
        "none",
        "every layer chooses its tokens with the indexer that the checkpoint has for it, and the weights fit",
        lambda seen: _right(seen["glm"]) and _right(seen["other"]) and _right(seen["glm_head_dim"]),
    ),
    Case(
        "27114",
        "layers that have an indexer ignore it, and one computes that has none, so six of eight attend to wrong tokens",
        lambda seen: all(_counted_from_one(seen[name]) for name in ("glm", "other", "glm_head_dim")),
    ),
    Case(
        "27114/config-fields",
        "no layer of the GLM checkpoint shares, so four compute without an indexer of their own; with another head_dim "
        "its weights do not fit; the other checkpoint is right",
        lambda seen: _none_shares(seen["glm"]) and _right(seen["other"]) and _does_not_fit(seen["glm_head_dim"]),
    ),
    Case(
        "27114/all",
        "no layer of the GLM checkpoint shares, or its weights do not fit; the other checkpoint counts from layer 1",
        lambda seen: (
            _none_shares(seen["glm"]) and _counted_from_one(seen["other"]) and _does_not_fit(seen["glm_head_dim"])
        ),
    ),
)
