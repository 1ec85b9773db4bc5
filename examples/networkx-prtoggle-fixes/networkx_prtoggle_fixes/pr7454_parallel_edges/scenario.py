"""The spanning trees of a triangle with one edge doubled: there are five."""

from __future__ import annotations

import networkx as nx

from prtoggle.scenario import Case


def observe(device: str) -> dict[str, object]:
    """How many trees come, and how many of them differ. (The device means nothing here.)"""
    triangle = nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("c", "a")])
    trees = [str(sorted(tree.edges(keys=True))) for tree in nx.SpanningTreeIterator(triangle)]
    return {"trees": len(trees), "different": len(set(trees))}


CASES = (
    Case("none", "five trees, all different", lambda seen: seen == {"trees": 5, "different": 5}),
    Case("7454", "one tree, several times", lambda seen: seen["different"] == 1 < seen["trees"]),
    Case("7454/clear", "five trees, all different", lambda seen: seen == {"trees": 5, "different": 5}),
)
