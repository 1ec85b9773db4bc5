"""Ways from a to b that take no ferry."""

from __future__ import annotations

from typing import Any

import networkx as nx

from prtoggle.scenario import Case


def on_land(start: str, end: str, edge: dict[str, Any]) -> int | None:
    """One for a road; ferries are hidden."""
    return None if edge.get("ferry") else 1


def observe(device: str) -> dict[str, object]:
    """The ways, or what went wrong."""
    roads = nx.Graph([("a", "c"), ("c", "b")])
    roads.add_edge("a", "b", ferry=True)
    try:
        return {"ways": list(nx.shortest_simple_paths(roads, "a", "b", weight=on_land))}
    except TypeError as error:
        return {"ways": str(error)}


CASES = (
    Case("none", "there is one, through c", lambda seen: seen["ways"] == [["a", "c", "b"]]),
    Case("7583", "a weight of None is added up", lambda seen: "NoneType" in seen["ways"]),
)
