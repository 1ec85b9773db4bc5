"""The real rules of an SGLang release: which DSA layers reuse top-k, and which config fields are restored?

From the release: from 0.5.14 on ``dsa_layer_skips_topk``, before that ``DeepseekV2AttentionMLA.__init__``; and, to
0.5.14, ``HfModelConfigParser.parse`` up to where it looks for the text config. Stood in for: everything else.
Transformers is stood in for where it is not installed, and what its config object and ``config.json`` hold is given
here, as transformers 5.8.1 leaves them. What differs from a server: an attention layer whose own parts are all dummies.
"""

from __future__ import annotations

import importlib
from types import ModuleType, SimpleNamespace
from typing import Any

from prtoggle.scenario import CannotRun, Case
from prtoggle_fixes import standins

PACKAGE = "sglang"
NEEDS = ("torch",)
MODEL = "sglang.srt.models.deepseek_v2"
RULE = "sglang.srt.configs.model_config"
PARSER = "sglang.srt.utils.hf_transformers.config"
ENVIRON = "sglang.srt.environ"
ABSENT = ("triton", "sgl_kernel", "transformers", "huggingface_hub", "numpy", "tqdm", "einops", "packaging")
LAYERS, FREQ, OFFSET = 8, 4, 3


def real(version: str) -> tuple[str, ...]:
    """The modules with the rule and, where the release restores fields, the parser."""
    from packaging.version import Version

    at = Version(version)
    if at < Version("0.5.14"):
        return (ENVIRON, MODEL, PARSER)
    return (ENVIRON, RULE, PARSER) if at < Version("0.5.15") else (ENVIRON, RULE)


class Parsed(Exception):
    """The parser is past the restored fields."""


class Dummy:
    """Any layer, function, flag or number that a layer is built of: zero, false, and whatever else is asked of it."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, *_: Any, **__: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self

    def __bool__(self) -> bool:
        return False


def nothing(*_: Any, **__: Any) -> None:
    """Takes the place of checks and hooks."""


def unchanged(*_: Any, **__: Any) -> Any:
    """A decorator with arguments that leaves what it decorates."""
    return lambda decorated: decorated


def parsed(config: Any = None, **_: Any) -> Any:
    raise Parsed(config)


def no(*_: Any, **__: Any) -> bool:
    return False


standins.provide("sglang.srt.utils.custom_op", register_custom_op=unchanged)
HARDWARE = (
    "is_cuda",
    "is_hip",
    "is_npu",
    "is_cpu",
    "is_musa",
    "is_xpu",
    "is_cpu_amx_available",
    "is_gfx95_supported",
    "use_aiter",
    "use_aiter_gfx95",
)
standins.provide("sglang.srt.models.deepseek_common.utils", **{f"_{name}": False for name in HARDWARE})
standins.provide("sglang.srt.configs.model_config_parser_registry", register_model_config_parser=unchanged)
for _module in ("sglang.srt.utils", "sglang.srt.utils.common"):
    standins.provide(_module, lru_cache_frozenset=unchanged, is_remote_url=no, print_info_once=nothing)
"""The parser's package is SGLang's own, and takes these from here."""


def sharing() -> dict[str, Any]:
    """Layers that reuse top-k, with an offset and without."""
    seen = {}
    for name, offset in (("offset", OFFSET), ("plain", None)):
        config = SimpleNamespace(
            architectures=["DeepseekV32ForCausalLM"],
            index_topk=8,
            index_topk_freq=FREQ,
            index_topk_pattern=None,
            index_skip_topk_offset=offset,
            rms_norm_eps=1e-6,
        )
        seen[name] = [layer_id for layer_id in range(LAYERS) if skips(config, layer_id)]
    return seen


def skips(config: Any, layer_id: int) -> bool:
    """Whether the release lets this layer reuse top-k; where a layer also answers for the next, both agree."""
    rule = importlib.import_module(RULE)
    function = vars(rule).get("dsa_layer_skips_topk")
    if function is not None:
        return bool(function(config, layer_id))
    own, before = attention(config, layer_id), attention(config, layer_id - 1) if layer_id else None
    assert before is None or before.next_skip_topk == own.skip_topk
    return bool(own.skip_topk)


def attention(config: Any, layer_id: int) -> Any:
    """An attention layer whose parts are dummies."""
    from torch import nn

    module = importlib.import_module(MODEL)
    layer = object.__new__(module.DeepseekV2AttentionMLA)
    nn.Module.__init__(layer)
    for kind in ("mha", "mla", "mla_fused_rope_rocm", "mla_fused_rope_cpu"):  # of the mixins, which are stand-ins
        setattr(layer, f"init_{kind}_forward", nothing)
    for name, value in list(vars(module).items()):
        if isinstance(value, standins.StandIn) or (
            isinstance(value, standins.Thing) and "stand_in_base" in value.__dict__
        ):
            setattr(module, name, Dummy())
    module.is_deepseek_dsa = lambda _: True
    module.get_attention_tp_rank, module.get_attention_tp_size = (lambda: 0), (lambda: 1)
    module.DeepseekV2AttentionMLA.__init__(
        layer,
        config=config,
        hidden_size=16,
        num_heads=2,
        qk_nope_head_dim=4,
        qk_rope_head_dim=4,
        v_head_dim=4,
        q_lora_rank=4,
        kv_lora_rank=4,
        rope_theta=10000,
        layer_id=layer_id,
        prefix="",
    )
    return layer


def restored() -> dict[str, Any] | None:
    """The fields of a GLM config after ``parse``; None where the release has nothing to restore them with."""
    try:
        parser = importlib.import_module(PARSER)
        parse = parser.HfModelConfigParser.parse
    except AttributeError:
        return None
    if isinstance(parser, standins.StandIn):
        return None
    config = SimpleNamespace(
        architectures=["GlmMoeDsaForCausalLM"],
        model_type="glm_moe_dsa",
        qk_nope_head_dim=24,
        qk_rope_head_dim=16,
        qk_head_dim=40,
    )
    raw = {"qk_nope_head_dim": 24, "qk_rope_head_dim": 8, "head_dim": 16, "index_topk_freq": FREQ}
    transformers: ModuleType = importlib.import_module("transformers")
    transformers.PretrainedConfig = SimpleNamespace(get_config_dict=lambda *_, **__: (raw, {}))  # type: ignore[attr-defined]
    parser.AutoConfig = SimpleNamespace(from_pretrained=lambda *_, **__: config)
    parser.get_hf_text_config = parsed
    try:
        parse(SimpleNamespace(), "a/model", False)
    except Parsed:
        return {
            "qk_rope_head_dim": config.qk_rope_head_dim,
            "qk_head_dim": config.qk_head_dim,
            "index_topk_freq": getattr(config, "index_topk_freq", None),
        }
    raise CannotRun("HfModelConfigParser.parse does not look for the text config")


def observe() -> dict[str, Any]:
    """Both rules."""
    return {"sharing": sharing(), "fields": restored()}


def _case(seen: dict[str, Any], offset_out: bool, fields_out: bool) -> bool:
    plain, moved = [2, 3, 4, 6, 7], [3, 4, 5, 7]
    right = {"qk_rope_head_dim": 8, "qk_head_dim": 32, "index_topk_freq": FREQ}
    overwritten = {"qk_rope_head_dim": 16, "qk_head_dim": 40, "index_topk_freq": None}
    return bool(
        seen["sharing"] == {"offset": plain if offset_out else moved, "plain": plain}
        and seen["fields"] in (None, overwritten if fields_out else right)
    )


CASES = (
    Case(
        "none",
        "sharing is counted from the offset, and the fields of config.json are restored where transformers needs that",
        lambda seen: _case(seen, False, False),
    ),
    Case(
        "27114",
        "sharing is counted from layer 1 whatever the offset; fields are restored",
        lambda seen: _case(seen, True, False),
    ),
    Case(
        "27114/config-fields",
        "fields stay as transformers left them; sharing is counted from the offset",
        lambda seen: _case(seen, False, True) and seen["fields"] is not None,
    ),
    Case(
        "27114/all",
        "sharing is counted from layer 1, and fields stay as transformers left them",
        lambda seen: _case(seen, True, True),
    ),
)
