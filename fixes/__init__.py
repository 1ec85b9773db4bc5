"""The fixes that come with prtoggle, one package each: ``forward.py``, ``revert.yaml``, ``scenario.py``.

========================================  =======================================================================
package                                   what goes wrong when it is reverted
========================================  =======================================================================
``pr10892_eagle_draft_padding``           the padded tail of ``positions`` moves on in EAGLE's draft graphs
``pr24401_positions_zero_padding``        the padded tail of ``positions`` keeps the last replay's values
``pr25015_eagle_draft_positions``         EAGLE draft steps run one position too far; fewer tokens are accepted
``pr26329_eagle_prefill_tail``            behind a chunk, EAGLE's draft is given a token that the prompt lacks
``pr26972_req_to_token_headroom``         what EAGLE's draft reserves outgrows its request's row of ``req_to_token``
``pr27114_dsa_topk_sharing``              DSA layers choose tokens with an indexer that the checkpoint lacks
``pr27338_eagle_draft_kv_indices``        EAGLE's draft writes KV slots past its rows of the CUDA graphs' buffer
``pr27360_fa3_draft_expand``              draft decode scatters more pages than a row of its page table holds
``pr27460_mla_draft_kv_indices``          the same for the MLA backend
========================================  =======================================================================

Installed as ``prtoggle_fixes``. The implementations need torch (2.4 or later), which prtoggle itself never imports or
installs.

Example::

    from prtoggle_fixes.pr24401_positions_zero_padding import forward
"""
