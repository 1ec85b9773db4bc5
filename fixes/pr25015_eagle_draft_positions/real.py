"""The real EAGLE draft of an SGLang release: at which positions does the draft model run?

From the release: ``EagleDraftWorker.draft_forward``, and ``EAGLEDraftCudaGraphRunner.capture_one_shape`` (to
0.5.13.post1 ``capture_one_batch_size``), which captures it. Stood in for: the draft model, which says at which
positions it was called; the selection of the best branches (this fix's own); the kernel that takes the maximum and
advances the positions, as plain torch; and what makes a graph, which here runs the captured function three times. What
differs from a server: CPU tensors, and a worker and a runner that are not initialised but given the attributes that the
methods read.
"""

from __future__ import annotations

from contextlib import nullcontext
from types import ModuleType, SimpleNamespace
from typing import Any

from prtoggle.scenario import CannotRun, Case
from prtoggle_fixes import standins

PACKAGE = "sglang"
NEEDS = ("torch",)
WORKER = "sglang.srt.speculative.eagle_worker_v2"
RUNNER = "sglang.srt.speculative.eagle_draft_cuda_graph_runner"
REAL = (WORKER, RUNNER)
ABSENT = ("triton", "sgl_kernel")

SEQ_LENS = (7, 20)
VOCAB, HIDDEN, STEPS = 16, 4, 4
RUNS = 3
"""Times that the captured function runs: twice to warm up, once for the graph."""


def nothing(*_: Any, **__: Any) -> None:
    """Takes the place of checks, hooks and communication."""


def context(_: Any, forward_batch: Any = None) -> Any:
    """What a forward runs in; from 0.5.23 on it is told of its batch."""
    return nullcontext()


standins.provide("sglang.srt.environ", redirect_third_party_caches=nothing)  # SGLang's root calls it, from 0.5.21 on


def give(module: ModuleType, **names: Any) -> None:
    """Set those names that the release's module uses."""
    for name, value in names.items():
        if name in vars(module):
            setattr(module, name, value)


class Draft:
    """A worker with the attributes that ``draft_forward`` reads, and the positions at which its model was called."""

    def __init__(self, module: ModuleType, topk: int, sampled: bool = False) -> None:
        import torch

        self.runs: list[list[list[int]]] = []
        self.topk = topk
        spec = SimpleNamespace(speculative_use_rejection_sampling=sampled)
        config = SimpleNamespace(hf_config=SimpleNamespace(architectures=["any"]), model_is_mrope=False)
        give(module, get_spec=lambda: spec)
        self.worker = SimpleNamespace(
            topk=topk,
            hot_token_id=None,
            speculative_num_steps=STEPS,
            speculative_num_draft_tokens=STEPS + 1,
            server_args=spec,
            index_share_for_mtp_iteration=False,
            seed_dsa_topk_from_draft_extend=False,
            draft_attn_backend=SimpleNamespace(attn_backends=[None] * STEPS),
            draft_runner=SimpleNamespace(forward=self.forward, canary_manager=None, model_config=config),
            _topk1_parents_prealloc=torch.zeros(len(SEQ_LENS), STEPS, dtype=torch.int64),
            _topk1_score_indices_prealloc=torch.zeros(len(SEQ_LENS), STEPS, dtype=torch.int64),
        )
        self.worker.draft_forward = self.draft_forward
        self.method = module.EagleDraftWorker.draft_forward

    def draft_forward(self, forward_batch: Any) -> Any:
        self.runs.append([])
        return self.method(self.worker, forward_batch)

    def forward(self, forward_batch: Any, **_: Any) -> Any:
        import torch

        self.runs[-1].append(forward_batch.positions.tolist())
        bs = forward_batch.positions.shape[0]
        output = SimpleNamespace(next_token_logits=torch.zeros(bs, VOCAB), hidden_states=torch.zeros(bs, HIDDEN))
        return SimpleNamespace(logits_output=output)

    def batch(self) -> Any:
        import torch

        bs, topk = len(SEQ_LENS), self.topk
        return SimpleNamespace(
            batch_size=bs,
            forward_mode=SimpleNamespace(is_idle=lambda: False),
            positions=torch.tensor(SEQ_LENS).repeat_interleave(topk),
            out_cache_loc=torch.arange(bs * topk * STEPS),
            sampling_info=SimpleNamespace(
                temperatures=torch.ones(bs), top_ks=None, sampling_seed=None, is_all_greedy=False
            ),
            spec_info=SimpleNamespace(
                topk_p=torch.full((bs, topk), 1 / topk),
                topk_index=torch.zeros(bs, topk, dtype=torch.int64),
                hidden_states=torch.zeros(bs, HIDDEN),
                draft_probs=torch.zeros(bs, VOCAB),
                dsa_topk_indices=None,
            ),
        )

    def positions(self) -> list[list[int]]:
        """Each step's positions in one draft."""
        self.draft_forward(self.batch())
        return self.runs[-1]


def stand_in_for_kernels(module: ModuleType) -> None:
    """What ``draft_forward`` calls beside the model."""
    import torch

    from prtoggle_fixes.pr25015_eagle_draft_positions import forward

    def best(probs: Any, topk: int, dim: int = -1) -> Any:
        return torch.topk(probs, topk, dim=dim)

    def sample(probs: Any, num_samples: int = 1) -> Any:
        return best(probs, num_samples)

    def renorm(logits: Any, *_: Any) -> Any:
        return logits.softmax(-1)

    def propose(logits: Any, *_: Any, sampling_seed: Any = None, positions: Any = None, draft_step: int = 0) -> Any:
        probs = logits.softmax(-1)
        return (probs, *best(probs, 1))

    def maximum_and_advance(logits: Any, positions: Any, draft_tokens: Any = None, column: int = 0) -> Any:
        index = logits.argmax(-1, keepdim=True)
        if draft_tokens is not None:
            draft_tokens[:, column : column + 1].copy_(index)
        positions.add_(1)
        return torch.ones(index.shape), index

    give(
        module,
        select_top_k_tokens=forward.select_top_k_tokens,
        organize_draft_results=forward.organize_draft_results,
        per_step_draft_out_cache_loc=forward.per_step_draft_out_cache_loc,
        fast_topk=best,
        fast_sample=sample,
        renorm_draft_probs=renorm,
        sample_draft_proposal=propose,
        draft_topk1_postprocess=maximum_and_advance,
        maybe_detect_nan=nothing,
        maybe_detect_inf=nothing,
        maybe_detect_oob=nothing,
        forward_context=context,
        ForwardContext=nothing,
        IndexTopKShareState=SimpleNamespace(mtp_iteration=lambda *_, **__: nullcontext()),
    )


def capture(module: ModuleType, draft: Draft) -> dict[str, Any]:
    """Capture one shape: each run's positions, and how far the runner's buffer stands from what it held."""
    import torch

    runner_class = module.EAGLEDraftCudaGraphRunner
    method = getattr(runner_class, "capture_one_shape", None) or getattr(runner_class, "capture_one_batch_size", None)
    if method is None:
        raise CannotRun("EAGLEDraftCudaGraphRunner has no method that captures one shape under a known name")

    class Batch(SimpleNamespace):
        def mark_forward_metadata_ready(self) -> None:
            pass

    give(
        module,
        ForwardBatch=Batch,
        EagleDraftInput=lambda **fields: SimpleNamespace(**{"dsa_topk_indices": None, **fields}),
        SamplingBatchInfo=SimpleNamespace,
        ForwardMode=SimpleNamespace(DECODE=SimpleNamespace(is_idle=lambda: False)),
        CaptureHiddenMode=SimpleNamespace(NULL=0, LAST=1),
        DpPaddingMode=SimpleNamespace(get_default_mode_in_cuda_graph=lambda: SimpleNamespace(is_max_len=lambda: False)),
        set_dp_buffer_len=nothing,
        set_is_extend_in_batch=nothing,
        forward_context=context,
        ForwardContext=nothing,
        get_spec=lambda: SimpleNamespace(speculative_use_rejection_sampling=False),
        get_global_graph_memory_pool=nothing,
        set_global_graph_memory_pool=nothing,
        maybe_flashinfer_autotune_speculative_draft=nothing,
    )

    def run(times: int, run_once: Any) -> Any:
        return [run_once() for _ in range(times)]

    bs = len(SEQ_LENS)
    positions = torch.tensor(SEQ_LENS)
    none = ("rids_int", "bootstrap_room_ids_int", "draft_probs", "dsa_seed_topk", "sampling_seed")
    buffers = SimpleNamespace(
        **dict.fromkeys(none),
        **{name: torch.ones(bs, dtype=torch.int64) for name in ("req_pool_indices", "seq_lens", "seq_lens_cpu")},
        input_ids=torch.zeros(bs, dtype=torch.int64),
        extend_seq_lens=torch.ones(bs, dtype=torch.int64),
        out_cache_loc=torch.arange(bs * STEPS),
        positions=positions,
        mrope_positions=torch.zeros(3, bs, dtype=torch.int64),
        hidden_states=torch.zeros(bs, HIDDEN),
        topk_p=torch.ones(bs, 1),
        topk_index=torch.zeros(bs, 1, dtype=torch.int64),
    )
    runner = SimpleNamespace(
        buffers=buffers,
        num_tokens_per_bs=1,
        captured_req_width=1,
        speculative_num_steps=STEPS,
        extend_seq_lens_cpu=[1] * bs,
        require_mlp_tp_gather=False,
        require_attn_tp_gather=False,
        temperatures=torch.ones(bs),
        top_ks=torch.ones(bs),
        stream=None,
        eagle_worker=draft.worker,
        deepep_adapter=SimpleNamespace(capture=nothing),
        draft_attn_backend=SimpleNamespace(
            init_forward_metadata_in_graph=nothing,
            init_forward_metadata_out_graph=nothing,
            init_forward_metadata_capture_cuda_graph=nothing,  # before 0.5.13
        ),
        model_runner=SimpleNamespace(
            spec_algorithm=SimpleNamespace(is_standalone=lambda: False),
            model_config=SimpleNamespace(vocab_size=VOCAB),
            req_to_token_pool=None,
            token_to_kv_pool=None,
            kv_index_translator=SimpleNamespace(bind_runner_slots=nothing),  # from 0.5.22 on: the cache's slots
        ),
        _create_graph=lambda: SimpleNamespace(pool=nothing),
        _capture_init=lambda run_once: run(RUNS - 1, run_once),
        _capture_graph=lambda graph, pool, stream, run_once: run(1, run_once),
        _make_graph_key=lambda size, variant_label=None: size,
        backend=SimpleNamespace(capture_one=lambda key, run_once, **_: run(RUNS, run_once)),
    )
    method(runner, bs, nothing)
    return {"runs": draft.runs, "left": (positions - torch.tensor(SEQ_LENS)).tolist()}


def observe() -> dict[str, Any]:
    """Each way to choose the next token that the release has, and a captured draft."""
    from sglang.srt.speculative import eagle_draft_cuda_graph_runner, eagle_worker_v2

    stand_in_for_kernels(eagle_worker_v2)
    ways = {
        "one branch": Draft(eagle_worker_v2, 1).positions(),
        "two branches": [step[::2] for step in Draft(eagle_worker_v2, 2).positions()],
    }
    if "renorm_draft_probs" in vars(eagle_worker_v2):
        ways["sampled"] = Draft(eagle_worker_v2, 1, sampled=True).positions()
    if "draft_topk1_postprocess" in vars(eagle_worker_v2):
        eagle_worker_v2._is_cuda = True
        ways["one branch, fused kernel"] = Draft(eagle_worker_v2, 1).positions()
    return {"ways": ways, "captured": capture(eagle_draft_cuda_graph_runner, Draft(eagle_worker_v2, 1))}


def _steps(further: int) -> list[list[int]]:
    return [[seq_len + further + step for seq_len in SEQ_LENS] for step in range(STEPS - 1)]


def _as(seen: dict[str, Any], late: int, drift: int) -> bool:
    """Whether every draft runs ``late`` places too far, and each run of a captured one leaves ``drift``."""
    runs = [_steps(late + run * drift) for run in range(RUNS)]
    return (
        all(steps == _steps(late) for steps in seen["ways"].values())
        and seen["captured"]["runs"] == runs
        and seen["captured"]["left"] == [RUNS * drift] * len(SEQ_LENS)
    )


CASES = (
    Case(
        "none",
        "each draft step runs at seq_len + step, and a captured draft leaves positions as they were",
        lambda seen: _as(seen, 0, 0),
    ),
    Case(
        "25015",
        "each draft step runs at seq_len + step + 1, and each run of a captured draft leaves positions three further",
        lambda seen: _as(seen, 1, STEPS - 1),
    ),
    Case(
        "25015/advance",
        "each draft step runs at seq_len + step + 1; a captured draft leaves positions as they were",
        lambda seen: _as(seen, 1, 0),
    ),
    Case(
        "25015/restore",
        "each run of a captured draft leaves positions three further; a draft's own steps are right",
        lambda seen: _as(seen, 0, STEPS - 1),
    ),
)
