"""Fix 25015: an EAGLE draft step's positions advance after its forward, not before.

A draft of ``speculative_num_steps`` tokens runs the draft model ``speculative_num_steps - 1`` times; step ``i`` feeds
the token that stands at position ``seq_len + i``. The positions used to be advanced before each forward, so every draft
token was rotated, and cached, as if it stood one place further.

============  =====================================================  ===============================================
part          fixed                                                  reverted
============  =====================================================  ===============================================
``advance``   step ``i`` runs at ``seq_len + i``                     step ``i`` runs at ``seq_len + i + 1``: the draft
                                                                     model proposes other tokens, fewer are accepted
``restore``   a captured draft takes its advances back at its end    after each run the positions buffer stands
                                                                     ``speculative_num_steps - 1`` too far, until the
                                                                     next batch is loaded
============  =====================================================  ===============================================

A bare ``25015`` takes out both parts.
"""
