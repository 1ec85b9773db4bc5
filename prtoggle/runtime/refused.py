"""The error that a target's process sees when a selected revert is not in force.

It is a RuntimeError and not an ImportError, since ``except ImportError`` around an import swallows too much (rule 1).
"""


class RevertRefusedError(RuntimeError):
    """A target package may not be imported in this process, because what was selected is not in force in it."""
