"""A rooted product whose root is not in the second graph."""

from __future__ import annotations

import networkx as nx

from prtoggle.scenario import Case


def observe(device: str) -> dict[str, object]:
    """What is raised."""
    try:
        nx.rooted_product(nx.path_graph(2), nx.path_graph(2), root="nowhere")
    except nx.NetworkXException as error:
        return {"raised": type(error).__name__}
    return {"raised": "nothing"}


CASES = (
    Case("none", "NodeNotFound is raised", lambda seen: seen["raised"] == "NodeNotFound"),
    Case("7635", "NetworkXError is raised", lambda seen: seen["raised"] == "NetworkXError"),
)
