"""Fix 26329: at the end of a chunk that is not a prompt's last, EAGLE's draft is given the prompt's next token.

The draft model reads, beside the hidden state of token ``n``, token ``n + 1``, so a prefill's tokens are moved by one
and each request's last place is filled. For a whole prompt that is the token that the target model sampled. For a chunk
in the middle of a prompt the target's sample is thrown away, and the prompt itself goes on: its next token belongs
there.

=====================================================  ===================================================
fixed                                                  reverted
=====================================================  ===================================================
a chunk ends with the prompt's next token; chunked     a chunk ends with the token that the target sampled
and whole prefill give the draft the same tokens       and threw away; the draft's KV cache is wrong there
=====================================================  ===================================================

One part. Merged as change 26800; SGLang's own toggle and comments call it 26329, the change that it moved on from.
"""
