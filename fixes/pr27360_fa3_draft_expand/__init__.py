"""Fix 27360: draft decode with topk > 1 and page_size > 1 fills its expand page table from the live columns only.

Draft decode with several branches a request (``topk`` > 1) describes the draft tokens' cache in a table of pages, one
row a branch: at step ``i`` a row has ``i + 2`` columns. The slots arrive as wide as there are steps, live or not yet.

===================  ===========================================  =================================================
part                 fixed                                        reverted
===================  ===========================================  =================================================
``slice``            slots are cut to the ``i + 1`` live columns  they arrive too wide: the size check fires
``assert``           slots wider than the table are refused       nothing checks (alone: no difference to be seen)
``slice`` with       both of the above                            more pages than columns are scattered: an index
``assert``                                                        error where the scatter checks, other memory
                                                                  changed where it does not
``empty-batch-pad``  an empty batch has 0 pages a row             an empty batch raises: a maximum over nothing
===================  ===========================================  =================================================

A bare ``27360`` takes out ``slice``, as SGLang's own toggle does.
"""
