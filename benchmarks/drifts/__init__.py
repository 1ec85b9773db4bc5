"""Mechanical drifts with exactly known answers: the same change made to the fixed and to the reverted text of a module.

A drift is applied to both texts, so that what a port must give is known without asking anybody: the drifted reverted
text. Those that touch a place do so in text that both share, or do the same thing to either, whatever it says.

Example::

    after = DRIFTS["function renamed"](State({"pkg.a": ("def f(): ...", "def f(): ...")}, "pkg.a", "f"), random.Random(0))
"""

from __future__ import annotations

import random
import tokenize

from benchmarks.drifts.decoys import (
    decoy_added,
    decoy_added_above,
    fix_rewritten,
    fix_taken_out,
    gone_function,
    gone_function_near_copy,
    renamed_beside_decoy,
    shared_helper,
)
from benchmarks.drifts.extraction import (
    body_moved_to_helper,
    expression_extracted,
    other_expression_extracted,
    run_moved_to_helper,
)
from benchmarks.drifts.layout import (
    annotation_added,
    body_enclosed,
    comments_dropped,
    decorator_added,
    docstring_changed,
    parameter_added,
    reformatted,
    run_enclosed,
    wrapped_over_lines,
)
from benchmarks.drifts.moves import (
    function_renamed,
    local_renamed,
    module_renamed,
    moved_to_base_class,
    moved_to_class_below,
    moved_to_new_module,
    moved_to_other_module,
    name_renamed_everywhere,
)
from benchmarks.drifts.state import Drift, State
from benchmarks.drifts.surroundings import (
    argument_added,
    arguments_added_around,
    neighbour_changed,
    statement_after,
    statement_before,
    surroundings_changed,
    swapped_with_next,
)
from benchmarks.port_trees import definitions, parsed, same

DRIFTS: dict[str, Drift] = {
    "function renamed": function_renamed,
    "local renamed": local_renamed,
    "moved to a base class": moved_to_base_class,
    "moved to a subclass": moved_to_class_below,
    "moved to a new module": moved_to_new_module,
    "moved to another module": moved_to_other_module,
    "module renamed": module_renamed,
    "reformatted": reformatted,
    "wrapped over lines": wrapped_over_lines,
    "comments dropped": comments_dropped,
    "body enclosed": body_enclosed,
    "run enclosed": run_enclosed,
    "decorator added": decorator_added,
    "parameter added": parameter_added,
    "docstring changed": docstring_changed,
    "statement before": statement_before,
    "statement after": statement_after,
    "surroundings changed": surroundings_changed,
    "neighbours changed": neighbour_changed,
    "argument added": argument_added,
    "arguments added around": arguments_added_around,
    "expression extracted": expression_extracted,
    "other expression extracted": other_expression_extracted,
    "body moved into a helper": body_moved_to_helper,
    "swapped with the next": swapped_with_next,
    "run moved into a helper": run_moved_to_helper,
    "name renamed everywhere": name_renamed_everywhere,
    "annotation added": annotation_added,
    "decoy added": decoy_added,
    "decoy added above": decoy_added_above,
    "renamed beside a decoy": renamed_beside_decoy,
}
"""Drifts after which the revert can be told."""


GONE: dict[str, Drift] = {
    "expression in a shared helper": shared_helper,
    "function gone": gone_function,
    "function gone, a relative stays": gone_function_near_copy,
    "fix taken out": fix_taken_out,
    "fix rewritten": fix_rewritten,
}
"""Drifts after which there is nothing to take out: every proposal is wrong."""


def drifted(state: State, how: str, chance: random.Random) -> State | None:
    """The state after the drift called ``how``; None where it has no place, or where the result does not parse."""
    try:
        after = {**DRIFTS, **GONE}[how](state, chance)
        if after is None or after.modules == state.modules:
            return None
        for name, texts in after.modules.items():
            for text in {*texts} if texts != state.modules.get(name) else ():
                compile(text, "<drifted>", "exec", dont_inherit=True)
        if how in DRIFTS:
            fixed, other = parsed(after.fixed), parsed(after.reverted)
            known = definitions(fixed)
            if same(fixed, other) or after.qualname not in known or after.qualname not in definitions(other):
                return None
    except (SyntaxError, ValueError, KeyError, tokenize.TokenError):
        return None
    return after
