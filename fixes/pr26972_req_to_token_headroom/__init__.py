"""Fix 26972: rows of ``req_to_token`` hold what EAGLE decode reserves (topk > 1, page_size > 1).

Before each step decode reserves KV slots for the drafts to come: whole pages for each branch of the draft tree, twice,
so that the next step can be prepared while this one runs. Their numbers go into the request's row of ``req_to_token``.

=============  =====================================================  =================================================
part           fixed                                                  reverted
=============  =====================================================  =================================================
``headroom``   a row has room for the reserve beyond the context      room for 4 + the number of draft tokens: near the
               length                                                 context limit the reserve outgrows the row
``assert``     a reserve that outgrows the row is refused before      the write goes on in the next request's row, and
               anything is allocated                                  slots beyond the row are never freed
``reserve``    topk branches of whole pages are reserved              NotImplementedError: topk > 1 with page_size > 1
                                                                      was not there
=============  =====================================================  =================================================

A bare ``26972`` takes out ``headroom``, and the size check refuses; ``26972/headroom+assert`` shows the silent damage.
"""
