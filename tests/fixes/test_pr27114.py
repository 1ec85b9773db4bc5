"""Fix 27114: config fields and which layers share; each state: what the scenario claims."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr27114_dsa_topk_sharing import forward, scenario  # noqa: E402
from tests.fixes.states import each  # noqa: E402

BY_HAND = {
    "topk-offset": (
        """\
    offset = getattr(config, "index_skip_topk_offset", None)
    if offset is not None:
        if offset < 1:
            raise ValueError(f"index_skip_topk_offset must be positive, got {offset}")
        return max(layer_id - offset + 1, 0) % freq != 0
""",
        "",
    ),
    "config-fields": (
        """\
        if config.architectures[0] == GLM:
            for key in ("qk_rope_head_dim", "index_topk_freq"):
                if key in raw_config:
                    setattr(config, key, raw_config[key])
            config.qk_head_dim = config.qk_nope_head_dim + config.qk_rope_head_dim
""",
        "",
    ),
}
STATES = {
    "none": (),
    "27114": ("topk-offset",),
    "27114/config-fields": ("config-fields",),
    "27114/all": ("topk-offset", "config-fields"),
}


def indexers(layers: int, freq: int | None, offset: int | None, pattern: str | None) -> list[int]:
    """The layers with an indexer, listed as a person would: all up to the start, then every freq-th."""
    if pattern is not None:
        return [layer for layer in range(layers) if layer >= len(pattern) or pattern[layer] == "F"]
    start = 1 if offset is None else offset - 1
    return [layer for layer in range(layers) if layer <= start or layer in range(start, layers, freq or 1)]


@given(
    layers=st.integers(1, 20),
    freq=st.none() | st.integers(1, 6),
    offset=st.none() | st.integers(1, 8),
    pattern=st.none() | st.text("FS", min_size=1, max_size=20),
)
@pytest.mark.guards("27114/topk-offset")
@settings(max_examples=200, deadline=None)
def test_a_layer_shares_unless_it_has_an_indexer(
    layers: int, freq: int | None, offset: int | None, pattern: str | None
) -> None:
    config = SimpleNamespace(index_topk_freq=freq, index_skip_topk_offset=offset, index_topk_pattern=pattern)
    with_one = [layer for layer in range(layers) if not forward.dsa_layer_skips_topk(config, layer)]
    assert with_one == indexers(layers, freq, offset, pattern)


def test_without_any_of_the_fields_no_layer_shares() -> None:
    assert not any(forward.dsa_layer_skips_topk(SimpleNamespace(), layer) for layer in range(9))


@pytest.mark.parametrize("offset", [0, -1])
def test_an_offset_with_which_layer_0_has_nothing_to_reuse_is_refused(offset: int) -> None:
    with pytest.raises(ValueError, match="must be positive"):
        forward.dsa_layer_skips_topk(SimpleNamespace(index_topk_freq=2, index_skip_topk_offset=offset), 0)


@given(
    architecture=st.sampled_from([forward.GLM, "DeepseekV32ForCausalLM"]),
    rope=st.integers(1, 256),
    nope=st.integers(1, 256),
    head_dim=st.none() | st.integers(1, 512),
    freq=st.none() | st.integers(1, 9),
)
@pytest.mark.guards("27114/config-fields")
@settings(max_examples=100, deadline=None)
def test_a_parsed_config_has_the_fields_of_its_file(
    architecture: str, rope: int, nope: int, head_dim: int | None, freq: int | None
) -> None:
    raw = {"architectures": [architecture], "qk_rope_head_dim": rope, "qk_nope_head_dim": nope}
    raw.update({key: value for key, value in (("head_dim", head_dim), ("index_topk_freq", freq)) if value})
    before = dict(raw)
    config = forward.HfModelConfigParser().parse(raw)
    assert config.qk_rope_head_dim == rope
    assert getattr(config, "index_topk_freq", None) == freq
    assert architecture != forward.GLM or config.qk_head_dim == nope + rope
    assert raw == before


def test_the_scenarios_checkpoint_has_the_indexers_that_its_config_says() -> None:
    assert list(scenario.WITH_INDEXER) == indexers(scenario.LAYERS, scenario.FREQ, scenario.OFFSET, None)
    for layer in range(scenario.LAYERS):
        column = max(one for one in scenario.WITH_INDEXER if one <= layer)
        scores = scenario.hidden_states("cpu")[:, column]
        assert sorted(scores.topk(scenario.TOPK).indices.tolist()) == scenario.tokens_of(layer)


def test_tokens_are_ascending_int64() -> None:
    config = forward.HfModelConfigParser().parse(scenario.raw_config(forward.GLM, scenario.ROPE))
    model = forward.DeepseekV2Model(config, scenario.checkpoint("cpu"), torch.device("cpu"))
    for chosen in model.forward_topk(scenario.hidden_states("cpu")):
        assert chosen.dtype is torch.int64 and chosen.shape == (scenario.TOPK,)
        assert chosen.tolist() == sorted(set(chosen.tolist()))


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == [state], seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)
