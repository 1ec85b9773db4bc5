"""Fix 27338: the CUDA graph ``kv_indices`` buffer of flashinfer's EAGLE draft has room for every branch (topk > 1).

Each draft step has a row of KV slots that its attention reads. A row lists, for every request and every one of its
``topk`` branches, the whole sequence and the branch's drafts. The eager path allocates that; the buffer that captured
graphs read was allocated without the factor ``topk``.

==========  ==========================================================  ==============================================
part        fixed                                                       reverted
==========  ==========================================================  ==============================================
``width``   a row is ``max_bs * topk * max_context_len`` wide           a row is ``max_bs * max_context_len`` wide;
                                                                        long sequences write into the next step's row
                                                                        and past the buffer
``assert``  a batch whose indices outgrow a row is refused before       nobody looks
            anything is written
==========  ==========================================================  ==============================================

A bare ``27338`` takes out ``width``, and the size check refuses; ``27338/all`` shows the silent corruption. Fix 27460
is the same for the MLA backend. The helpers that both call are in :mod:`.spec_utils`.
"""
