"""A revert over a row of releases: step by step and in one leap, and refused where the two answers differ.

Example::

    port(revert, [tree_of_1_0, tree_of_1_1, tree_of_1_2])       # Carried(Revert("pkg 1.2", ...), steps of both steps)
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from prtoggle.port.equal import alike_texts
from prtoggle.port.step import carried
from prtoggle.port.values import CannotTell, Carried, Revert, Tree
from prtoggle.port.whereabouts import Release, forget_most, release_of


def port(revert: Revert, trees: Sequence[Tree]) -> Carried | CannotTell:
    """``revert``, which stands in ``trees[0]``, in ``trees[-1]``."""
    forget_most()
    releases = [release_of(tree) for tree in trees]
    if len(releases) < 2:
        return Carried(revert, ())
    stepped = _stepped(revert, releases)
    # What a small step cannot tell, a leap over it cannot either, whatever it finds at its end.
    if len(releases) == 2 or isinstance(stepped, CannotTell):
        return stepped
    leapt = carried(revert, releases[0], releases[-1])
    if isinstance(leapt, CannotTell):
        return stepped
    if not alike_texts(stepped.revert.modules, leapt.revert.modules):
        reason = "step by step it comes out otherwise than in one leap"
        place = stepped.steps[0]
        return CannotTell(reason, place.before, stepped.steps[-1].after, releases[-1].label, stepped.steps)
    return stepped


def _stepped(revert: Revert, releases: Sequence[Release]) -> Carried | CannotTell:
    answer = Carried(revert, ())
    for before, after in itertools.pairwise(releases):
        forget_most()
        following = carried(answer.revert, before, after)
        if isinstance(following, CannotTell):
            return replace(following, steps=(*answer.steps, *following.steps))
        answer = Carried(following.revert, (*answer.steps, *following.steps))
    return answer
