"""Fix 10892: EAGLE's draft graphs start a padded batch with the positions of its padding at zero.

A captured draft serves every batch up to its own size. Where a batch is smaller, the runner resets what the padded rows
hold; it used to leave their positions as they were.

================  ====================================================  ================================================
part              fixed                                                 reverted
================  ====================================================  ================================================
``draft``         the padded tail of the draft's ``positions`` is zero  it holds what the last replay left; where the
                                                                        graph itself advances positions, every padded
                                                                        replay adds to it, until it leaves the table of
                                                                        rotary embeddings
``draft-extend``  the same for the draft-extend graph                   it holds the last replay's values; nothing adds
                                                                        to them
================  ====================================================  ================================================

A bare ``10892`` takes out both parts. In SGLang from 0.5.12 on a draft takes its advances back (fix 25015), so there
the tail stays where the last replay left it.
"""
