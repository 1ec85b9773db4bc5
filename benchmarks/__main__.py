"""`python -m benchmarks [SECTION]...`: run the benchmarks and write their sections of docs/benchmarks.md."""

from __future__ import annotations

import importlib
import sys

from benchmarks import page


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in page.SECTIONS]
    if unknown:
        print(f"no section {unknown[0]}: {', '.join(page.SECTIONS)}", file=sys.stderr)
        return 2
    for name in names or page.SECTIONS:
        body = importlib.import_module(f"benchmarks.{name}").section()
        print(body)
        page.write(name, body)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
