"""The section "new" of docs/benchmarks.md."""

from __future__ import annotations

from benchmarks.new_commits import section

__all__ = ["section"]
