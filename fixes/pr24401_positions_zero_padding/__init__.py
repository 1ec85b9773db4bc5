"""Fix 24401: a decode CUDA graph's ``positions`` and ``mrope_positions`` are padded with zeros.

A captured graph serves every batch up to its own size; the rows that a smaller batch leaves over are padding. Each
buffer says what its padding holds before a replay. ``positions`` used to keep what the last replay had left there.

====================  ==========================================================  ====================================
part                  fixed                                                       reverted
====================  ==========================================================  ====================================
``positions``         ``PaddingPolicy.ZERO``: the tail of ``positions`` is zero   the tail holds the last replay's
                                                                                  values; the verify plan makes index
                                                                                  pointers of them that leave its table
``mrope-positions``   the same for ``mrope_positions``, shape ``[3, tokens]``     the tail holds the last replay's
                                                                                  values; nothing here indexes by them
====================  ==========================================================  ====================================

A bare ``24401`` takes out both parts.
"""
