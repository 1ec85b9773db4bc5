"""`python -m benchmarks`: run all benchmarks and write docs/benchmarks.md."""

import sys
from pathlib import Path

from benchmarks import startup

if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.argv += ["--write", str(Path(__file__).resolve().parent.parent / "docs" / "benchmarks.md")]
    startup.main()
