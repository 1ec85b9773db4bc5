"""Which layers of a DSA model share their top-k tokens, from ``config.json`` to the layers: what fix 27114 changes.

Purpose: what SGLang's ``utils.hf_transformers.config``, ``configs.model_config.dsa_layer_skips_topk`` and
``models.deepseek_v2`` do with these fields, with their names, shapes and dtypes. Contract: a layer computes its top-k
exactly where the checkpoint has an indexer for it, and the rotary part is as wide as the checkpoint says.

Example::

    config = HfModelConfigParser().parse(raw_config)
    [dsa_layer_skips_topk(config, layer_id) for layer_id in range(config.num_hidden_layers)]
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

GLM = "GlmMoeDsaForCausalLM"


def from_pretrained(raw_config: dict[str, Any]) -> SimpleNamespace:
    """The config object of a ``config.json``.

    For GLM as transformers 5.8.1 makes it, which SGLang 0.5.13 and 0.5.14 require: ``head_dim`` is another name of
    ``qk_rope_head_dim``, so it overwrites it; ``index_topk_freq`` is used up. For others: as it stands.
    """
    fields = dict(raw_config)
    if fields["architectures"][0] == GLM:
        fields["qk_head_dim"] = fields["qk_nope_head_dim"] + fields["qk_rope_head_dim"]
        fields["qk_rope_head_dim"] = fields.pop("head_dim", fields["qk_rope_head_dim"])
        fields.pop("index_topk_freq", None)
    return SimpleNamespace(**fields)


class HfModelConfigParser:
    """Reads a model's config."""

    def parse(self, raw_config: dict[str, Any]) -> SimpleNamespace:
        """The config of ``raw_config``, whose fields are those of the checkpoint."""
        config = from_pretrained(raw_config)
        if config.architectures[0] == GLM:
            for key in ("qk_rope_head_dim", "index_topk_freq"):
                if key in raw_config:
                    setattr(config, key, raw_config[key])
            config.qk_head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim
        return config


def dsa_layer_skips_topk(config: SimpleNamespace, layer_id: int) -> bool:
    """Whether a layer reuses the top-k of the layer before. Every ``index_topk_freq``-th layer has an indexer, counted
    from layer 1, or from ``index_skip_topk_offset - 1`` where that is set; ``index_topk_pattern`` (``F`` and ``S``, one
    a layer) overrules both.

    Raises:
        ValueError: an offset below 1, with which layer 0 would have nothing to reuse.
    """
    pattern = getattr(config, "index_topk_pattern", None)
    if pattern is not None:
        return layer_id < len(pattern) and pattern[layer_id] == "S"
    freq = getattr(config, "index_topk_freq", None) or 1
    offset = getattr(config, "index_skip_topk_offset", None)
    if offset is not None:
        if offset < 1:
            raise ValueError(f"index_skip_topk_offset must be positive, got {offset}")
        return max(layer_id - offset + 1, 0) % freq != 0
    return max(layer_id - 1, 0) % freq != 0


class DeepseekV2AttentionMLA:
    """One layer, as far as it concerns top-k.

    Args:
        config: of the model.
        layer_id: from 0.
        device: of the weights.
    """

    def __init__(self, config: SimpleNamespace, layer_id: int, device: torch.device) -> None:
        self.layer_id = layer_id
        self.index_topk = config.index_topk
        self.skip_topk = dsa_layer_skips_topk(config, layer_id)
        self.kv_a_proj_with_mqa = torch.zeros(
            config.kv_lora_rank + config.qk_rope_head_dim, config.hidden_size, device=device
        )
        # A weight that is never loaded keeps what it was made with; in SGLang that is whatever the memory held.
        self.indexer = torch.zeros(config.hidden_size, device=device)
        self.indexer[-1] = 1

    def load_weights(self, weights: dict[str, torch.Tensor]) -> None:
        """Load this layer's weights: ``{layer}.kv_a_proj_with_mqa`` float32 ``[kv_lora_rank + qk_rope_head_dim,
        hidden]``, and ``{layer}.indexer`` float32 ``[hidden]`` where the checkpoint has one.

        Raises:
            RuntimeError: a weight has another shape than the layer.
        """
        for name in ("kv_a_proj_with_mqa", "indexer"):
            weight = weights.get(f"{self.layer_id}.{name}")
            own: torch.Tensor = getattr(self, name)
            if weight is None:
                continue
            if own.shape != weight.shape:
                raise RuntimeError(
                    f"layer {self.layer_id}: {name} is {list(own.shape)}, the checkpoint has {list(weight.shape)}"
                )
            own.copy_(weight)

    def forward_topk(self, hidden_states: torch.Tensor, prev_topk_indices: torch.Tensor | None) -> torch.Tensor:
        """The tokens that this layer attends to: int64 ``[index_topk]``, ascending, of float32 ``[tokens, hidden]``."""
        if self.skip_topk and prev_topk_indices is not None:
            return prev_topk_indices
        return (hidden_states @ self.indexer).topk(self.index_topk).indices.sort().values


class DeepseekV2Model:
    """The layers of a model.

    Args:
        config: of the model.
        weights: of the checkpoint (:meth:`DeepseekV2AttentionMLA.load_weights`).
        device: CPU or CUDA.
    """

    def __init__(self, config: SimpleNamespace, weights: dict[str, torch.Tensor], device: torch.device) -> None:
        self.layers = [DeepseekV2AttentionMLA(config, layer_id, device) for layer_id in range(config.num_hidden_layers)]
        for layer in self.layers:
            layer.load_weights(weights)

    def forward_topk(self, hidden_states: torch.Tensor) -> list[torch.Tensor]:
        """Each layer's tokens."""
        topk_indices: torch.Tensor | None = None
        chosen = []
        for layer in self.layers:
            topk_indices = layer.forward_topk(hidden_states, topk_indices)
            chosen.append(topk_indices)
        return chosen
