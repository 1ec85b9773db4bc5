"""Fix 24401: policies, registry, runner, plan; each state: the symptoms that the scenario claims."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from prtoggle_fixes.pr24401_positions_zero_padding import forward, runner, scenario  # noqa: E402
from prtoggle_fixes.pr24401_positions_zero_padding.forward import GraphSlot, PaddingPolicy  # noqa: E402
from tests.fixes.states import each  # noqa: E402

BY_HAND = {
    "positions": (
        'GraphSlot("positions", tokens, torch.int64, axis="tokens", padding_policy=PaddingPolicy.ZERO)',
        'GraphSlot("positions", tokens, torch.int64, axis="tokens")',
    ),
    "mrope-positions": (
        "            slice_fn=lambda buffer, n: buffer[:, :n],\n            padding_policy=PaddingPolicy.ZERO,\n",
        "            slice_fn=lambda buffer, n: buffer[:, :n],\n",
    ),
}
STATES = {
    "none": (),
    "24401": ("positions", "mrope-positions"),
    "24401/positions": ("positions",),
    "24401/mrope-positions": ("mrope-positions",),
}
MAX = 12


def registry_of(*slots: GraphSlot) -> forward.CudaGraphBufferRegistry:
    registry = forward.CudaGraphBufferRegistry(device=torch.device("cpu"), max_bs=MAX, max_num_tokens=MAX)
    for slot in slots:
        registry.register_slot(slot)
    return registry


def fill(registry: forward.CudaGraphBufferRegistry, raw: int, padded: int, **fields: Any) -> None:
    registry.fill_from(
        SimpleNamespace(**fields), raw_bs=raw, padded_bs=padded, raw_num_tokens=raw, padded_num_tokens=padded
    )


def what_the_buffer_holds(policy: PaddingPolicy, pad_value: int, fills: list[tuple[list[int], int]]) -> list[int]:
    """The policies, said once more in plain Python lists."""
    starts_filled = policy in (PaddingPolicy.FILL_SENTINEL, PaddingPolicy.FILL_ONCE)
    held = [pad_value if starts_filled else 0] * MAX
    for values, padded in fills:
        for i in range(len(values), padded):
            if policy is PaddingPolicy.ZERO:
                held[i] = 0
            elif policy is PaddingPolicy.FILL_SENTINEL:
                held[i] = pad_value
        held[: len(values)] = values
    return held


sizes = st.integers(0, MAX).flatmap(lambda padded: st.tuples(st.integers(0, padded), st.just(padded)))


@pytest.mark.parametrize("policy", PaddingPolicy)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32])
@given(steps=st.lists(sizes, max_size=6), pad_value=st.integers(-9, 9), seed=st.integers(0, 99))
@settings(max_examples=25, deadline=None)
def test_a_policy_holds_over_any_sequence_of_batch_sizes(
    policy: PaddingPolicy, dtype: Any, steps: list[tuple[int, int]], pad_value: int, seed: int
) -> None:
    rng = random.Random(seed)
    registry = registry_of(
        GraphSlot("flat", lambda _bs, n: (n,), dtype, padding_policy=policy, pad_value=pad_value),
        GraphSlot("by_request", lambda bs, _n: (bs,), dtype, "bs", padding_policy=policy, pad_value=pad_value),
        GraphSlot(
            "three",
            lambda _bs, n: (3, n),
            dtype,
            padding_policy=policy,
            pad_value=pad_value,
            slice_fn=lambda buffer, n: buffer[:, :n],
        ),
    )
    fills = [([rng.randrange(100, 200) for _ in range(raw)], padded) for raw, padded in steps]
    for values, padded in fills:
        source = torch.tensor(values, dtype=torch.int64)
        fill(registry, len(values), padded, flat=source, by_request=source, three=source.expand(3, -1))
    wanted = what_the_buffer_holds(policy, pad_value, fills)
    assert registry.get_slot("flat").buffer.tolist() == wanted
    assert registry.get_slot("by_request").buffer.tolist() == wanted
    assert registry.get_slot("three").buffer.tolist() == [wanted] * 3
    assert registry.get_slot("three").buffer.dtype is dtype


def test_views_never_move() -> None:
    registry = registry_of(GraphSlot("flat", lambda _bs, n: (n,), torch.int64, padding_policy=PaddingPolicy.ZERO))
    address = registry.get_slot("flat").view(4).data_ptr()
    fill(registry, 3, 4, flat=torch.tensor([1, 2, 3]))
    assert registry.get_slot("flat").view(4).data_ptr() == address


def test_a_field_that_the_batch_lacks_keeps_its_head_and_loses_its_tail() -> None:
    registry = registry_of(GraphSlot("flat", lambda _bs, n: (n,), torch.int64, padding_policy=PaddingPolicy.ZERO))
    fill(registry, 4, 4, flat=torch.tensor([1, 2, 3, 4]))
    fill(registry, 2, 4, flat=None)
    assert registry.get_slot("flat").view(4).tolist() == [1, 2, 0, 0]


def test_misuse_is_refused() -> None:
    def shape(_bs: int, n: int) -> tuple[int, ...]:
        return (n,)

    registry = registry_of(GraphSlot("flat", shape, torch.int64))
    with pytest.raises(ValueError, match="registered already"):
        registry.register_slot(GraphSlot("flat", shape, torch.int64))
    with pytest.raises(ValueError, match="axis"):
        GraphSlot("flat", shape, torch.int64, axis="rows")
    for policy in (PaddingPolicy.FILL_SENTINEL, PaddingPolicy.FILL_ONCE):
        with pytest.raises(ValueError, match="pad_value"):
            GraphSlot("flat", shape, torch.int64, padding_policy=policy)
    with pytest.raises(ValueError, match="sizes"):
        fill(registry, 5, 4)
    with pytest.raises(ValueError, match="sizes"):
        fill(registry, 5, MAX + 1)
    with pytest.raises(RuntimeError, match="flat"):
        fill(registry, 3, 4, flat=torch.tensor([1]))
    with pytest.raises(RuntimeError, match="not allocated"):
        GraphSlot("other", shape, torch.int64).view(1)


@pytest.mark.parametrize("cache_loc_dtype", [torch.int64, torch.int32])
def test_the_decode_registry_has_the_slots_of_the_report(cache_loc_dtype: Any) -> None:
    registry = forward.build_decode_registry(
        device=torch.device("cpu"), max_bs=4, max_num_token=16, seq_len_fill_value=5, cache_loc_dtype=cache_loc_dtype
    )
    policies = {name: registry.get_slot(name).padding_policy for name in registry.slot_names()}
    assert policies == {
        "input_ids": PaddingPolicy.FOREACH_COPY,
        "positions": PaddingPolicy.ZERO,
        "mrope_positions": PaddingPolicy.ZERO,
        "out_cache_loc": PaddingPolicy.ZERO,
        "req_pool_indices": PaddingPolicy.ZERO,
        "seq_lens": PaddingPolicy.FILL_SENTINEL,
        "seq_lens_cpu": PaddingPolicy.FILL_SENTINEL,
    }
    shapes = {name: tuple(registry.get_slot(name).buffer.shape) for name in registry.slot_names()}
    assert shapes == {
        "input_ids": (16,),
        "positions": (16,),
        "mrope_positions": (3, 16),
        "out_cache_loc": (16,),
        "req_pool_indices": (4,),
        "seq_lens": (4,),
        "seq_lens_cpu": (4,),
    }
    for name in registry.slot_names():
        wanted = cache_loc_dtype if name == "out_cache_loc" else torch.int64
        assert registry.get_slot(name).buffer.dtype is wanted, name
    assert registry.get_slot("seq_lens").buffer.tolist() == [5] * 4
    assert registry.get_slot("seq_lens_cpu").buffer.device.type == "cpu"


@pytest.mark.guards("24401/positions")
@given(lengths=st.lists(st.lists(st.integers(1, 2000), min_size=1, max_size=8), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None)
def test_any_sequence_of_replays_plans_and_computes_as_if_nothing_was_padded(lengths: list[list[int]]) -> None:
    decode = runner.DecodeCudaGraphRunner(device=torch.device("cpu"), capture_bs=(1, 2, 4, 8), is_multimodal=True)
    decode.capture()
    for seq_lens in lengths:
        batch = scenario.make_batch(tuple(seq_lens), "cpu")
        hidden = decode.replay(batch)
        alone = decode.embedding[batch.input_ids] + decode.rotary[batch.positions]
        assert torch.equal(hidden, alone + decode.rotary[batch.mrope_positions].sum(0))
        assert decode.last_plan is not None
        ends = [4 * (i + 1) for i in range(len(seq_lens))]
        padding = decode.padded_bs(len(seq_lens)) - len(seq_lens)
        assert decode.last_plan.qo_indptr.tolist() == [0, *ends, *[ends[-1]] * padding]
        assert decode.last_plan.qo_indptr.dtype is torch.int32
        assert decode.last_plan.last_loc.tolist()[: len(seq_lens)] == [1000 + end for end in ends]


def test_a_batch_runs_as_the_next_captured_size() -> None:
    decode = runner.DecodeCudaGraphRunner(device=torch.device("cpu"), capture_bs=(8, 2, 4))
    assert [decode.padded_bs(bs) for bs in range(1, 9)] == [2, 2, 4, 4, 8, 8, 8, 8]
    for bs in (0, 9):
        with pytest.raises(ValueError, match="fits no captured size"):
            decode.padded_bs(bs)
    with pytest.raises(RuntimeError, match="not captured"):
        decode.run_graph(2)
    with pytest.raises(ValueError, match="capture_bs"):
        runner.DecodeCudaGraphRunner(device=torch.device("cpu"), capture_bs=())


def test_a_text_model_ignores_mrope_positions() -> None:
    decode = runner.DecodeCudaGraphRunner(
        device=torch.device("cpu"), capture_bs=(2,), cache_loc_dtype=torch.int32, is_multimodal=False
    )
    decode.capture()
    batch = scenario.make_batch((7,), "cpu")
    text = forward.ForwardBatch(**{**vars(batch), "mrope_positions": None})
    assert torch.equal(decode.replay(text), decode.embedding[batch.input_ids] + decode.rotary[batch.positions])
    assert decode.load_batch(text).mrope_positions is None
    assert decode.last_plan is not None and decode.last_plan.last_loc.dtype is torch.int32


@pytest.mark.parametrize("state", each(STATES))
def test_each_state_shows_exactly_what_its_case_claims(state: str) -> None:
    seen = scenario.observe("cpu")
    assert [case.revert for case in scenario.CASES if case.holds(seen)] == [state], seen


def test_every_state_has_a_case() -> None:
    assert [case.revert for case in scenario.CASES] == list(STATES)


@pytest.mark.reverted("24401/positions")
def test_the_stale_plan_fails_loudly() -> None:
    seen = scenario.observe("cpu")
    assert seen["plan"].startswith("IndexError: ")
    assert max(seen["qo_indptr"]) > seen["table"]
