"""Takes a merged fix back out of an installed Python package, at run time, in every process, with no file changed.

This module is imported inside the target's processes: it imports nothing.
"""

__version__ = "0.1.0"
