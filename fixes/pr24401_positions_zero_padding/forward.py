"""CUDA graph input buffers with a padding policy each: the component that fix 24401 changes.

Purpose: what SGLang's ``model_executor.cuda_graph_buffer_registry`` does for a decode batch, small enough to read,
with its names, shapes and dtypes. Contract: :func:`build_decode_registry` gives ``positions`` and ``mrope_positions``
the policy ``ZERO``, so that what a replay reads in their padded tails never depends on an earlier replay.

Example::

    registry = build_decode_registry(
        device=torch.device("cpu"), max_bs=4, max_num_token=16, seq_len_fill_value=1, cache_loc_dtype=torch.int64
    )
    registry.fill_from(batch_of_3, raw_bs=3, padded_bs=4, raw_num_tokens=12, padded_num_tokens=16)
    registry.get_slot("positions").view(16)[12:]      # zeros
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum

import torch


class PaddingPolicy(Enum):
    """What a buffer's padded tail ``[raw:padded]`` holds before a replay. The head is always copied from the batch."""

    KEEP_PAD = "keep_pad"
    """Whatever stands there; for buffers whose tail is proven unread. Copied one at a time."""
    FILL_SENTINEL = "fill_sentinel"
    """``pad_value``, written before every replay (and at allocation)."""
    ZERO = "zero"
    """Zero, written before every replay."""
    FOREACH_COPY = "foreach_copy"
    """Whatever the last replay left; heads of one dtype and device are copied in one call. The default."""
    FILL_ONCE = "fill_once"
    """``pad_value``, written at allocation and never again; heads that grew and shrank since leave their values."""


@dataclass(frozen=True)
class ForwardBatch:
    """One decode batch on the runner's device. ``tokens`` is ``batch_size`` times the tokens per request.

    Attributes:
        batch_size: number of requests.
        input_ids: int64 ``[tokens]``, token numbers.
        positions: int64 ``[tokens]``, places in the sequence, from 0.
        out_cache_loc: int64 or int32 ``[tokens]``, KV cache slots that the tokens write.
        req_pool_indices: int64 ``[batch_size]``, rows of the request table.
        seq_lens: int64 ``[batch_size]``, tokens already in the cache.
        seq_lens_cpu: int64 ``[batch_size]`` on the CPU, the same.
        mrope_positions: int64 ``[3, tokens]`` (time, height, width), or None for a text model.
    """

    batch_size: int
    input_ids: torch.Tensor
    positions: torch.Tensor
    out_cache_loc: torch.Tensor
    req_pool_indices: torch.Tensor
    seq_lens: torch.Tensor
    seq_lens_cpu: torch.Tensor
    mrope_positions: torch.Tensor | None = None


@dataclass
class GraphSlot:
    """One buffer that mirrors the field ``name`` of a :class:`ForwardBatch`.

    Attributes:
        shape_fn: ``(max_bs, max_num_tokens) -> shape`` of the whole buffer.
        axis: ``"tokens"`` or ``"bs"``, what the sliced axis counts.
        device: where the buffer lives; None is the registry's device.
        padding_policy: see :class:`PaddingPolicy`.
        pad_value: for FILL_SENTINEL and FILL_ONCE.
        slice_fn: ``(buffer, n) -> view of the first n``; None slices the first axis. The sliced axis must be the last
            of the view.

    Raises:
        ValueError: an unknown axis, or a filling policy without ``pad_value``.
    """

    name: str
    shape_fn: Callable[[int, int], tuple[int, ...]]
    dtype: torch.dtype
    axis: str = "tokens"
    device: torch.device | None = None
    padding_policy: PaddingPolicy = PaddingPolicy.FOREACH_COPY
    pad_value: int | None = None
    slice_fn: Callable[[torch.Tensor, int], torch.Tensor] | None = None
    buffer: torch.Tensor | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.axis not in ("tokens", "bs"):
            raise ValueError(f"slot {self.name!r}: axis is {self.axis!r}, expected 'tokens' or 'bs'")
        if self.fills and self.pad_value is None:
            raise ValueError(f"slot {self.name!r}: {self.padding_policy.name} needs a pad_value")

    @property
    def fills(self) -> bool:
        """Whether the buffer starts as ``pad_value`` and not as zero."""
        return self.padding_policy in (PaddingPolicy.FILL_SENTINEL, PaddingPolicy.FILL_ONCE)

    def allocate(self, max_bs: int, max_num_tokens: int, device: torch.device) -> None:
        """Make the buffer: ``pad_value`` where the policy fills, else zeros."""
        start = self.pad_value if self.fills and self.pad_value is not None else 0
        shape = self.shape_fn(max_bs, max_num_tokens)
        self.buffer = torch.full(shape, start, dtype=self.dtype, device=self.device or device)

    def view(self, n: int) -> torch.Tensor:
        """The first ``n`` entries along the sliced axis: a view at an address that never changes.

        Raises:
            RuntimeError: the slot is not allocated.
        """
        if self.buffer is None:
            raise RuntimeError(f"slot {self.name!r} is not allocated: register it first")
        return self.slice_fn(self.buffer, n) if self.slice_fn else self.buffer[:n]

    def reset_padding(self, raw_n: int, padded_n: int) -> None:
        """Bring the tail ``[raw_n:padded_n]`` to what the policy promises."""
        tail = self.view(padded_n)[..., raw_n:]
        if self.padding_policy is PaddingPolicy.ZERO:
            tail.zero_()
        elif self.padding_policy is PaddingPolicy.FILL_SENTINEL and self.pad_value is not None:
            tail.fill_(self.pad_value)


class CudaGraphBufferRegistry:
    """The buffers that captured graphs read, filled from a batch before each replay."""

    def __init__(self, *, device: torch.device, max_bs: int, max_num_tokens: int) -> None:
        self.device = device
        self.max_bs = max_bs
        self.max_num_tokens = max_num_tokens
        self._slots: dict[str, GraphSlot] = {}

    def register_slot(self, slot: GraphSlot) -> GraphSlot:
        """Allocate ``slot``'s buffer and keep it.

        Raises:
            ValueError: a slot of this name is registered already.
        """
        if slot.name in self._slots:
            raise ValueError(f"slot {slot.name!r} is registered already")
        slot.allocate(self.max_bs, self.max_num_tokens, self.device)
        self._slots[slot.name] = slot
        return slot

    def get_slot(self, name: str) -> GraphSlot:
        """The slot of this name. Raises KeyError where there is none."""
        return self._slots[name]

    def slot_names(self) -> tuple[str, ...]:
        """The slots' names in the order of registration."""
        return tuple(self._slots)

    def fill_from(
        self, forward_batch: ForwardBatch, *, raw_bs: int, padded_bs: int, raw_num_tokens: int, padded_num_tokens: int
    ) -> None:
        """Reset every padded tail, then copy the batch into the heads. Fields that are None are not copied.

        Raises:
            ValueError: the sizes are not ``0 <= raw <= padded <= allocated``.
            RuntimeError: a field has another shape than its head.
        """
        for raw, padded, most in (
            (raw_bs, padded_bs, self.max_bs),
            (raw_num_tokens, padded_num_tokens, self.max_num_tokens),
        ):
            if not 0 <= raw <= padded <= most:
                raise ValueError(f"sizes must be 0 <= raw <= padded <= allocated, got {raw}, {padded}, {most}")
        together: dict[tuple[torch.dtype, torch.dtype, torch.device], list[tuple[torch.Tensor, torch.Tensor]]] = {}
        for slot in self._slots.values():
            raw_n = raw_num_tokens if slot.axis == "tokens" else raw_bs
            slot.reset_padding(raw_n, padded_num_tokens if slot.axis == "tokens" else padded_bs)
            source: torch.Tensor | None = getattr(forward_batch, slot.name, None)
            if source is None:
                continue
            head = slot.view(raw_n)
            if head.shape != source.shape:
                raise RuntimeError(f"slot {slot.name!r} takes {tuple(head.shape)}, the batch has {tuple(source.shape)}")
            if slot.padding_policy is PaddingPolicy.FOREACH_COPY:
                together.setdefault((head.dtype, source.dtype, head.device), []).append((head, source))
            else:
                head.copy_(source)
        for pairs in together.values():
            torch._foreach_copy_([head for head, _ in pairs], [source for _, source in pairs])

    def extract_buffer(
        self, *, padded_bs: int, padded_num_tokens: int, forward_batch_template: ForwardBatch
    ) -> ForwardBatch:
        """The padded batch as a replay sees it: ``forward_batch_template`` with views of the buffers for fields."""
        views = {
            name: slot.view(padded_num_tokens if slot.axis == "tokens" else padded_bs)
            for name, slot in self._slots.items()
            if getattr(forward_batch_template, name, None) is not None
        }
        return replace(forward_batch_template, batch_size=padded_bs, **views)


def build_decode_registry(
    *,
    device: torch.device,
    max_bs: int,
    max_num_token: int,
    seq_len_fill_value: int,
    cache_loc_dtype: torch.dtype,
) -> CudaGraphBufferRegistry:
    """The registry of a decode runner.

    Args:
        device: of all buffers but ``seq_lens_cpu``.
        max_bs: requests in the largest captured batch.
        max_num_token: tokens in it.
        seq_len_fill_value: sequence length that padded requests claim.
        cache_loc_dtype: int64 or int32.

    Returns:
        ``input_ids``, ``positions`` (int64), ``out_cache_loc`` (``cache_loc_dtype``), all ``[max_num_token]``;
        ``req_pool_indices``, ``seq_lens``, ``seq_lens_cpu`` (int64 ``[max_bs]``); ``mrope_positions`` (int64 ``[3,
        max_num_token]``).
    """
    registry = CudaGraphBufferRegistry(device=device, max_bs=max_bs, max_num_tokens=max_num_token)

    def tokens(_max_bs: int, max_tokens: int) -> tuple[int, ...]:
        return (max_tokens,)

    def requests(max_requests: int, _max_tokens: int) -> tuple[int, ...]:
        return (max_requests,)

    def sentinel(name: str, where: torch.device | None) -> GraphSlot:
        policy = PaddingPolicy.FILL_SENTINEL
        return GraphSlot(name, requests, torch.int64, "bs", where, padding_policy=policy, pad_value=seq_len_fill_value)

    for slot in (
        # The head is overwritten by every fill and nothing reads the tail.
        GraphSlot("input_ids", tokens, torch.int64, axis="tokens"),
        # The tails of these two are read: by the verify plan, and by the model through its rotary table.
        GraphSlot("positions", tokens, torch.int64, axis="tokens", padding_policy=PaddingPolicy.ZERO),
        GraphSlot(
            "mrope_positions",
            lambda _max_bs, max_tokens: (3, max_tokens),
            torch.int64,
            axis="tokens",
            slice_fn=lambda buffer, n: buffer[:, :n],
            padding_policy=PaddingPolicy.ZERO,
        ),
        # Padded tokens write to slot 0, padded requests read row 0; both are reserved for that.
        GraphSlot("out_cache_loc", tokens, cache_loc_dtype, axis="tokens", padding_policy=PaddingPolicy.ZERO),
        GraphSlot("req_pool_indices", requests, torch.int64, axis="bs", padding_policy=PaddingPolicy.ZERO),
        sentinel("seq_lens", None),
        sentinel("seq_lens_cpu", torch.device("cpu")),
    ):
        registry.register_slot(slot)
    return registry
