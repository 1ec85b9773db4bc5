"""A revert that is known in one release, carried to another: text to text, a three-way merge as syntax.

Contract: :func:`carry` for one step, :func:`port` for a row of releases; values in :mod:`prtoggle.port.values`.
Standard library and :mod:`prtoggle.edits` only; nothing here knows what a fix or a package's file is. What cannot be
told is refused, never guessed.

Example::

    answer = port(revert, [tree_of_1_0, tree_of_1_1, tree_of_1_2])
"""

from prtoggle.port.chain import port
from prtoggle.port.step import carry
from prtoggle.port.values import CannotTell, Carried, Revert, Step, Texts, Tree

__all__ = ["CannotTell", "Carried", "Revert", "Step", "Texts", "Tree", "carry", "port"]
