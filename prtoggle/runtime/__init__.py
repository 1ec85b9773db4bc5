"""What lives inside the target's processes.

Standard library only, and of that only what is cheap to import (no dataclasses, typing, re or json before a target is
imported): everything that needs more runs in :mod:`prtoggle.runtime.resolver`, in a process of its own.
"""
