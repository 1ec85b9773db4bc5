"""Tab-separated lines whose first or last column is empty."""

from __future__ import annotations

import networkx as nx

from prtoggle.scenario import Case


def observe(device: str) -> dict[str, object]:
    """What is read of such lines."""
    noted = nx.parse_edgelist(["a\tb\t"], delimiter="\t", data=[("note", str)])
    unnamed = nx.parse_edgelist(["\tb"], delimiter="\t")
    return {"attributes": noted.edges["a", "b"], "edges_of_the_unnamed": sorted(unnamed.edges)}


CASES = (
    Case(
        "none",
        "both lines are read whole",
        lambda seen: seen == {"attributes": {"note": ""}, "edges_of_the_unnamed": [["", "b"]]},
    ),
    Case(
        "7465",
        "the empty note and the edge of the unnamed node are lost",
        lambda seen: seen == {"attributes": {}, "edges_of_the_unnamed": []},
    ),
)
