"""What a journal says of each part of one process: at import, live, put back, executed."""

from __future__ import annotations

from typing import Any

from prtoggle.journals import Entry
from prtoggle.partstates import PartState, inherited, modules_reverted, states


def imported(at: float, module: str = "app.core", *parts: str) -> dict[str, Any]:
    return {"event": "reverted", "time": at, "module": module, "parts": parts or ("7",), "edits": ()}


def toggled(
    at: float, out: tuple[str, ...] = (), back: tuple[str, ...] = (), now: tuple[str, ...] = (), loaded: bool = True
) -> dict[str, Any]:
    module = {"module": "app.core", "parts": now, "loaded": loaded, "edits": ()}
    return {"event": "toggled", "time": at, "reverted": out, "restored": back, "packages": (), "modules": [module]}


def of(*events: dict[str, Any], traced: bool = False, more: tuple[dict[str, Any], ...] = ()) -> tuple[PartState, ...]:
    entry = Entry(1, 1, (*events, *more))
    return states(inherited(entry, (entry,)), entry, traced=traced)


def test_a_part_that_came_out_at_import() -> None:
    assert of(imported(5.0)) == (PartState("7", "app", ("app.core",), "import", 5.0),)


def test_a_part_of_two_modules_is_one_since_the_first() -> None:
    assert of(imported(5.0), imported(6.0, "app.more")) == (
        PartState("7", "app", ("app.core", "app.more"), "import", 5.0),
    )


def test_a_part_put_back_live_and_taken_out_again_is_two() -> None:
    found = of(imported(5.0), toggled(6.0, back=("7",)), toggled(8.0, out=("7",), now=("7",)))
    assert found == (
        PartState("7", "app", ("app.core",), "import", 5.0, 6.0),
        PartState("7", "app", ("app.core",), "live", 8.0),
    )


def test_a_toggle_of_one_part_leaves_another_as_it_is() -> None:
    found = of(imported(5.0), toggled(6.0, out=("8",), now=("7", "8")), toggled(7.0, back=("8",), now=("7",)))
    assert [(state.part, state.how, state.since, state.until) for state in found] == [
        ("7", "import", 5.0, 0.0),
        ("8", "live", 6.0, 7.0),
    ]


def test_what_was_taken_out_live_before_it_was_imported_came_out_live() -> None:
    found = of(toggled(6.0, out=("7",), now=("7",), loaded=False), imported(9.0))
    assert found == (PartState("7", "app", ("app.core",), "live", 6.0),)
    assert of(toggled(6.0, out=("7",), now=("7",), loaded=False))[0].modules == ()


def test_what_the_variable_took_out_and_nothing_imported_is_not_out_by_a_toggle_of_another() -> None:
    found = of(toggled(6.0, out=("8",), now=("7", "8"), loaded=False))
    assert [state.part for state in found] == ["8"]


def test_a_forked_child_has_what_its_parent_had_when_it_was_born_and_no_more() -> None:
    parent = Entry(10, 1, ({"event": "booted", "time": 1.0}, imported(2.0), toggled(9.0, back=("7",))))
    child = Entry(11, 2, ({"event": "forked", "time": 5.0, "ppid": 10}, toggled(7.0, out=("8",), now=("7", "8"))))
    found = states(inherited(child, (parent, child)), child, traced=False)
    assert [(state.part, state.how, state.until) for state in found] == [("7", "import", 0.0), ("8", "live", 0.0)]


def test_a_module_is_reverted_by_a_toggle_where_it_is_loaded_and_a_part_is_out() -> None:
    events = [toggled(1.0, out=("7",), now=("7",)), toggled(2.0, back=("7",)), toggled(3.0, now=("7",), loaded=False)]
    assert [event["parts"] for event in modules_reverted(events)] == [("7",)]


def test_a_traced_part_is_executed_not_executed_or_unknown() -> None:
    edit = {"parts": ["7"], "place": "p", "line": 1, "target": "t"}
    hit = {"event": "executed", "module": "app.core", "edit": edit}

    def ended(unknown: bool) -> dict[str, Any]:
        return {"event": "traced", "unhit": [{"module": "app.core", "edit": edit, "unknown": unknown}]}

    def trace(*more: dict[str, Any]) -> str:
        return of(imported(5.0), traced=True, more=more)[0].trace

    assert [trace(hit), trace(ended(False)), trace(ended(True)), trace()] == [
        "executed",
        "not executed",
        "unknown",
        "unknown",
    ]
    live = of(toggled(6.0, out=("7",), now=("7",)), traced=True, more=(ended(False),))
    assert live[0].trace == "unknown"
