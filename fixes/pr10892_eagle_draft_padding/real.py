"""The real graph runners of EAGLE's draft, of an SGLang release: what stands in the padded tail of positions?

From the release: ``execute`` (to 0.5.13.post1 ``replay``) of ``EAGLEDraftCudaGraphRunner`` and of
``EAGLEDraftExtendCudaGraphRunner``, which load a batch into the buffers. Stood in for: the replay of the graph, which
here looks at the positions buffer; the grouped copy, as plain copies; attention and communication. What differs from a
server: CPU tensors, and runners that are not initialised but given the attributes that the methods read. No graph runs,
so nothing here advances positions. From 0.5.22 on the release itself also says which variant of the graph a batch asks
for, and that there are no tracked indices to refresh.
"""

from __future__ import annotations

from contextlib import nullcontext
from enum import Enum
from types import MethodType, ModuleType, SimpleNamespace
from typing import Any

from prtoggle.scenario import CannotRun, Case
from prtoggle_fixes import standins

PACKAGE = "sglang"
NEEDS = ("torch",)
DRAFT = "sglang.srt.speculative.eagle_draft_cuda_graph_runner"
EXTEND = "sglang.srt.speculative.eagle_draft_extend_cuda_graph_runner"
REAL = (DRAFT, EXTEND, "sglang.srt.speculative.draft_checkpoint")  # the last from 0.5.22 on
ABSENT = ("triton", "sgl_kernel")

CAPTURED_BS, STEPS, HIDDEN, VOCAB = 4, 3, 2, 16
FULL, PADDED = (900, 700, 500, 300), (901, 702, 503)
"""Sequence lengths of the first batch and of the second, which has one request less."""


def nothing(*_: Any, **__: Any) -> None:
    """Takes the place of checks, hooks and communication."""


standins.provide("sglang.srt.environ", redirect_third_party_caches=nothing)  # SGLang's root calls it, from 0.5.21 on


class ReadEnds(Enum):
    """Where attention is done with what it shares with the scheduler; ``UNKNOWN`` is a draft-extend's default."""

    PRE_REPLAY = 1
    IN_REPLAY = 2
    POST_REPLAY = 3
    UNKNOWN = 4


def give(module: ModuleType, **names: Any) -> None:
    """Set those names that the release's module uses."""
    for name, value in names.items():
        if name in vars(module):
            setattr(module, name, value)


def copies(targets: Any, sources: Any) -> None:
    """The grouped copy, one by one."""
    for target, source in zip(targets, sources, strict=True):
        target.copy_(source)


def make_runner(width: int, slots: int, seen: list[list[int]]) -> Any:
    """What the methods read of either runner. ``width``: a request's tokens; a replay appends to ``seen``."""
    import torch

    tokens = CAPTURED_BS * width
    none = ("rids_int", "bootstrap_room_ids_int", "draft_probs", "dsa_seed_topk", "mamba_track_indices")
    by_request = (
        "req_pool_indices",
        "seq_lens",
        "seq_lens_cpu",
        "extend_seq_lens",
        "num_correct_drafts",
        "num_accept_tokens",
        "select_index",
    )
    buffers = SimpleNamespace(
        **dict.fromkeys(none),
        **{name: torch.ones(CAPTURED_BS, dtype=torch.int64) for name in by_request},
        input_ids=torch.zeros(tokens, dtype=torch.int64),
        positions=torch.zeros(tokens, dtype=torch.int64),
        mrope_positions=torch.zeros(3, tokens, dtype=torch.int64),
        out_cache_loc=torch.zeros(tokens * slots, dtype=torch.int64),
        hidden_states=torch.zeros(tokens, HIDDEN),
        topk_p=torch.zeros(CAPTURED_BS, 1),
        topk_index=torch.zeros(CAPTURED_BS, 1, dtype=torch.int64),
    )
    out = SimpleNamespace(next_token_logits=torch.zeros(tokens, VOCAB), hidden_states=torch.zeros(tokens, HIDDEN))

    def replay_graph(*_: Any) -> Any:
        seen.append(buffers.positions.tolist())
        return out

    return SimpleNamespace(
        buffers=buffers,
        capture_bs=[CAPTURED_BS],
        num_tokens_per_bs=width,
        captured_req_width=width,
        speculative_num_steps=STEPS,
        seq_len_fill_value=1,
        extend_seq_lens_cpu=[width] * CAPTURED_BS,
        forward_mode=None,
        require_mlp_tp_gather=False,
        require_gathered_buffer=False,
        deepep_adapter=SimpleNamespace(replay=nothing),
        draft_attn_backend=SimpleNamespace(init_forward_metadata_out_graph=nothing),
        draft_extend_attn_backend=SimpleNamespace(
            init_forward_metadata_out_graph=nothing,
            shared_read_ends=lambda _: ReadEnds.UNKNOWN,
        ),
        device_module=SimpleNamespace(Event=lambda: SimpleNamespace(record=nothing)),
        model_runner=SimpleNamespace(
            model_config=SimpleNamespace(vocab_size=VOCAB, model_is_mrope=False),
            server_args=SimpleNamespace(speculative_use_rejection_sampling=False),
            device_timer=None,
        ),
        output_buffers={CAPTURED_BS: out},
        _pad_to_bucket=lambda *_: CAPTURED_BS,
        _make_graph_key=lambda size, variant_label=None: size,
        _replay=replay_graph,
        _replay_graph=replay_graph,
        _postprocess_output_to_raw_bs=lambda out, _: out,
    )


def make_batch(seq_lens: tuple[int, ...], width: int, slots: int) -> Any:
    """A batch of ``width`` tokens a request, behind its sequence."""
    import torch

    bs, tokens = len(seq_lens), len(seq_lens) * width
    lengths = torch.tensor(seq_lens)
    return SimpleNamespace(
        batch_size=bs,
        input_ids=torch.ones(tokens, dtype=torch.int64),
        positions=(lengths[:, None] + torch.arange(width)).flatten(),
        out_cache_loc=torch.ones(tokens * slots, dtype=torch.int64),
        req_pool_indices=torch.ones(bs, dtype=torch.int64),
        seq_lens=lengths,
        seq_lens_sum=sum(seq_lens),
        seq_lens_cpu=lengths,
        extend_seq_lens=None,
        extend_seq_lens_cpu=None,
        rids_int=None,
        bootstrap_room_ids_int=None,
        sampling_info=None,
        mrope_positions=None,
        mamba_track_indices=None,
        out_cache_loc_virtual=None,
        kv_loc_plan=None,
        kv_loc_cols=None,
        spec_info=SimpleNamespace(
            topk_p=torch.ones(bs, 1),
            topk_index=torch.ones(bs, 1, dtype=torch.int64),
            hidden_states=torch.ones(bs if slots > 1 else tokens, HIDDEN),
            draft_probs=None,
            dsa_topk_indices=None,
            num_correct_drafts=None,
        ),
    )


def two_replays(module: ModuleType, runner_class: Any, width: int, slots: int) -> dict[str, Any]:
    """A full batch, then a padded one: the padded tail of positions in each replay, and whether the heads are right."""
    import torch

    method = getattr(runner_class, "execute", None) or getattr(runner_class, "replay", None)
    if method is None:
        raise CannotRun(f"{runner_class.__name__} has no method that loads a batch under a known name")
    give(
        module,
        maybe_detect_nan=nothing,
        maybe_detect_oob=nothing,
        _grouped_foreach_copy_=copies,
        device_timer_ctx=lambda *_: nullcontext(),
        get_spec=lambda: SimpleNamespace(speculative_use_rejection_sampling=False),
        LogitsProcessorOutput=SimpleNamespace,
        ForwardMode=SimpleNamespace(DRAFT_EXTEND_V2=None),
        SharedReadEnds=ReadEnds,
    )
    seen: list[list[int]] = []
    runner = make_runner(width, slots, seen)
    if hasattr(runner_class, "_sampling_variant"):  # from 0.5.22 on: the variant of the graph that a batch asks for
        runner._sampling_variant = MethodType(runner_class._sampling_variant, runner)
    heads = []
    for seq_lens in (FULL, PADDED):
        batch = make_batch(seq_lens, width, slots)
        heads.append(batch.positions.tolist())
        # From 0.5.20 on a draft-extend is also told which row of each request to look at.
        more = method.__code__.co_varnames[2 : method.__code__.co_argcount]
        method(runner, batch, **{name: torch.zeros(len(seq_lens), dtype=torch.int64) for name in more})
    live = len(PADDED) * width
    return {
        "full_tail": seen[0][live:],
        "padded_tail": seen[1][live:],
        "heads_right": seen[0] == heads[0] and seen[1][:live] == heads[1],
        "replays": len(seen),
    }


def observe() -> dict[str, Any]:
    """Both runners."""
    from sglang.srt.speculative import eagle_draft_cuda_graph_runner as draft
    from sglang.srt.speculative import eagle_draft_extend_cuda_graph_runner as extend

    return {
        "draft": two_replays(draft, draft.EAGLEDraftCudaGraphRunner, 1, STEPS),
        "draft_extend": two_replays(extend, extend.EAGLEDraftExtendCudaGraphRunner, STEPS + 1, 1),
    }


def _case(seen: dict[str, Any], draft_stale: bool, extend_stale: bool) -> bool:
    for part, width, stale in (("draft", 1, draft_stale), ("draft_extend", STEPS + 1, extend_stale)):
        last = [FULL[-1] + i for i in range(width)]
        wanted = {
            "full_tail": last,
            "padded_tail": last if stale else [0] * width,
            "heads_right": True,
            "replays": 2,
        }
        if seen[part] != wanted:
            return False
    return True


CASES = (
    Case("none", "the padded tail of positions is zero in both graphs", lambda seen: _case(seen, False, False)),
    Case(
        "10892",
        "the padded tail of positions holds the last replay's values in both graphs",
        lambda seen: _case(seen, True, True),
    ),
    Case(
        "10892/draft",
        "the padded tail of positions holds the last replay's values in the draft graph alone",
        lambda seen: _case(seen, True, False),
    ),
    Case(
        "10892/draft-extend",
        "the padded tail of positions holds the last replay's values in the draft-extend graph alone",
        lambda seen: _case(seen, False, True),
    ),
)
