"""Fix 27114: which layers of a DSA model share the top-k tokens of the layer before is read from its own config.

A layer of sparse attention (DSA) attends to the tokens that its indexer chooses. Some layers have no indexer of their
own in the checkpoint, and reuse what the layer before has chosen. Which ones follows from ``index_topk_freq`` and
``index_skip_topk_offset``.

=================  ====================================================  ===============================================
part               fixed                                                 reverted
=================  ====================================================  ===============================================
``topk-offset``    sharing starts at ``index_skip_topk_offset``          sharing starts at layer 1: layers compute with
                                                                         an indexer that the checkpoint does not have,
                                                                         others ignore the one that it has
``config-fields``  ``qk_rope_head_dim`` and ``index_topk_freq`` are      what transformers made of them: the weights do
                   those of ``config.json``                              not fit, or no layer shares
=================  ====================================================  ===============================================

A bare ``27114`` takes out ``topk-offset``, which every release since has; ``config-fields`` was for transformers below
5.10, and is gone again in 0.5.15. A third piece of the change, sharing between the steps of an EAGLE draft, is no part:
``docs/fixes.md`` says why.
"""
