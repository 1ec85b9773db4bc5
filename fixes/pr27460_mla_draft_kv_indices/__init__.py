"""Fix 27460: the CUDA graph ``kv_indices`` buffer of flashinfer's MLA EAGLE draft has room for every branch (topk > 1).

What fix 27338 is for the ordinary flashinfer backend, for the MLA one; the buffers are apart, and so are the fixes.

==========  ==========================================================  ==============================================
part        fixed                                                       reverted
==========  ==========================================================  ==============================================
``width``   a row is ``max_bs * topk * max_context_len`` wide           a row is ``max_bs * max_context_len`` wide;
                                                                        long sequences write into the next step's row
                                                                        and past the buffer
``assert``  a batch whose indices outgrow a row is refused before       nobody looks
            anything is written
==========  ==========================================================  ==============================================

A bare ``27460`` takes out ``width``. In the releases looked at, the real backend's constructor refuses topk > 1, so
there the fix guards what cannot be started yet; the implementation here takes any topk.
"""
