"""From the trials to the next ones and the answer: every kind of trial, both directions, parts, what is set aside."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prtoggle.bisect.values import Direction
from prtoggle.bisection import steps
from prtoggle.bisection.values import Candidate, Settings, TrialRecord, Wanted
from tests.bisection.play import Rule, candidates, culprits, fails, minimal_sets, parts_of, play

# What is found


def test_one_fix_is_found_in_few_trials_and_tried_alone_and_without() -> None:
    end = play("f27", 64)
    assert culprits(end) == {("27",)}
    assert end.answer and end.answer.complete and end.answer.exit_code == 0
    assert len(end.records) <= 2 + 6 + 2
    tried = {record.reverted: record.kind for record in end.records}
    assert tried[("27",)] == "bad"
    assert tried[tuple(sorted(str(n) for n in range(1, 65) if n != 27))] == "good"


def test_the_two_selections_show_bad_and_good() -> None:
    (blamed,) = play("f2 and f3").answer.culprits  # type: ignore[union-attr]
    assert (blamed.bad, blamed.good) == ("2,3", "none")
    (blamed,) = play("not f2").answer.culprits  # type: ignore[union-attr]
    assert (blamed.bad, blamed.good) == ("none", "2")


def test_a_fix_that_breaks_by_being_in_is_found_by_reverting() -> None:
    end = play("not (f3 or f4)", 6)
    assert end.answer and end.answer.direction is Direction.FIXED
    assert culprits(end) == {("3", "4")}


def test_without_any_culprit_there_is_none_and_the_exit_code_says_so() -> None:
    for rule in ("False", "True"):
        end = play(rule)
        assert end.answer and (end.answer.verdict, end.answer.exit_code) == ("none", 1)
        assert ("--flaky" in end.answer.reason) is (rule == "False")


def test_parts_are_searched_after_fixes_also_where_several_are_needed_or_enough() -> None:
    those = candidates(4, parts=3)
    assert parts_of(play("f2b", those)) == {("2/b",)}
    assert parts_of(play("f2a and f3c", those)) == {("2/a", "3/c")}
    assert parts_of(play("f2a or f2c", those)) == {("2/a",), ("2/c",)}
    assert culprits(play("f2a or f2c", those)) == {("2",)}
    assert parts_of(play("f2a and f2b and f2c", those)) == {("2/a", "2/b", "2/c")}


def test_parts_of_a_fix_that_breaks_by_being_in_are_reverted_one_by_one() -> None:
    end = play("not f2b", candidates(4, parts=3))
    assert parts_of(end) == {("2/b",)}
    tried = [record.reverted for record in end.records if record.phase == "parts"]
    assert tried and all({"1", "3", "4"} <= set(each) for each in tried), "all else stays reverted meanwhile"


@st.composite
def monotone(draw: st.DrawFn) -> tuple[list[frozenset[str]], int]:
    count = draw(st.integers(1, 7))
    names = [str(n) for n in range(1, count + 1)]
    sets = draw(st.lists(st.frozensets(st.sampled_from(names), min_size=1, max_size=3), min_size=0, max_size=3))
    return sets, count


@settings(max_examples=300, deadline=None)
@given(monotone(), st.booleans(), st.integers(1, 4), st.randoms(use_true_random=False))
def test_every_minimal_set_is_found_whichever_way_and_however_many_at_a_time(
    made: tuple[list[frozenset[str]], int], flipped: bool, width: int, draw: random.Random
) -> None:
    sets, count = made
    names = frozenset(str(n) for n in range(1, count + 1))

    def bad(parts: frozenset[str]) -> bool:
        return any(each <= parts for each in sets)

    def rule(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        if draw.random() < 0.15:  # never thrice in a row for one subset is not promised: then it is a skip
            return draw.choice(("void", "timeout", "infrastructure", "interrupted"))
        return "bad" if bad(names - parts if flipped else parts) else "good"

    end = play(rule, count, width=width)
    assert end.answer is not None
    if end.answer.complete and not end.notes:
        assert culprits(end) == minimal_sets(bad, names)
        assert end.answer.verdict == ("found" if sets else "none")
    for culprit in end.answer.culprits:
        if not culprit.unsure:
            assert culprit.fixes in minimal_sets(bad, names)


# What is no verdict


def without_verdicts(kind: str, times: int, subset: tuple[str, ...], otherwise: str) -> Rule:
    seen: list[int] = []

    def rule(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        if wanted.reverted == subset and len(seen) < times:
            seen.append(number)
            return kind
        return fails(otherwise)(parts, wanted, number)  # type: ignore[return-value]

    return rule


@pytest.mark.parametrize("kind", ["void", "timeout", "infrastructure"])
def test_what_is_no_verdict_is_tried_again_twice(kind: str) -> None:
    end = play(without_verdicts(kind, 2, ("1", "2"), "f2"))
    assert culprits(end) == {("2",)} and not end.notes
    assert [record.kind for record in end.records if record.reverted == ("1", "2")] == [kind, kind, "bad"]
    assert sum(record.kind == kind for record in end.records) == 2


@pytest.mark.parametrize("kind", ["void", "timeout", "infrastructure"])
def test_after_that_it_counts_as_skipped_and_is_said(kind: str) -> None:
    end = play(without_verdicts(kind, 99, ("1", "2"), "f2"))
    assert culprits(end) == {("2",)}
    assert sum(record.kind == kind for record in end.records) == 3
    (note,) = end.notes
    assert "given up after 3 trials" in note and kind in note and "1,2" in note


def test_an_interrupted_trial_is_tried_again_as_often_as_it_takes() -> None:
    end = play(without_verdicts("interrupted", 9, ("1", "2"), "f2"))
    assert culprits(end) == {("2",)} and not end.notes


def test_an_end_that_cannot_be_tried_is_inconclusive_and_says_why() -> None:
    end = play(without_verdicts("void", 99, ("1", "2", "3", "4"), "f2"))
    assert end.answer and (end.answer.verdict, end.answer.exit_code) == ("inconclusive", 4)
    assert "it was void" in end.answer.reason
    assert end.answer.left == ("1", "2", "3", "4")


def test_where_skips_hide_which_it_is_those_left_are_listed() -> None:
    def rule(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        if ("2" in parts) != ("3" in parts):
            return "skip"
        return "bad" if "2" in parts else "good"

    end = play(rule, 6)
    assert end.answer and end.answer.exit_code == 4
    assert {name for each in end.answer.culprits for group in each.unsure for name in group} == {"2", "3"}


def test_trials_that_never_say_anything_come_to_an_end() -> None:
    def rule(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        return "timeout" if len(parts) not in (0, 8) else "bad" if parts else "good"

    end = play(rule, 8, flaky=True)
    assert end.answer and end.answer.exit_code == 4


# Runs and sets


def test_the_number_of_runs_is_kept_and_what_is_left_is_listed() -> None:
    end = play("f5", 16, max_runs=4)
    assert len(end.records) == 4
    assert end.answer and end.answer.exit_code == 4
    assert "5" in end.answer.left and len(end.answer.left) < 16
    assert culprits(play("f5", 16, records=end.records)) == {("5",)}


def test_the_number_of_sets_is_kept() -> None:
    end = play("f1 or f2 or f3", 6, max_sets=1)
    assert len(culprits(end)) == 1
    assert end.answer and not end.answer.complete and end.answer.exit_code == 0


# The traced run


def traced(rule: str, idle: tuple[str, ...]) -> Rule:
    """In the traced run ``idle`` is not executed."""

    def run(parts: frozenset[str], wanted: Wanted, number: int) -> TrialRecord:
        kind = str(fails(rule)(parts, wanted, number))
        reasons = tuple((part, "its code was not executed") for part in idle) if wanted.phase == "trace" else ()
        return TrialRecord(0, "", (), "", kind, idle=reasons)

    return run


def test_what_is_never_executed_is_set_aside_with_its_name() -> None:
    end = play(traced("not f3", ("1", "2", "5", "6")), 6, trace=True)
    assert culprits(end) == {("3",)}
    assert dict(end.aside) == dict.fromkeys(("1", "2", "5", "6"), "its code was not executed")
    assert all(record.phase == "trace" or not {"1", "2", "5", "6"} & set(record.reverted) for record in end.records)


def test_a_fix_of_which_some_part_is_executed_stays() -> None:
    end = play(traced("f1b", ("1/a", "2/a", "2/b")), candidates(2, parts=2), trace=True)
    assert parts_of(end) == {("1/b",)}


def test_where_nothing_is_executed_it_is_none_of_them() -> None:
    end = play(traced("False", ("1", "2")), 2, trace=True)
    assert end.answer and end.answer.exit_code == 1
    assert len(end.records) == 1


def test_a_traced_run_that_fails_before_it_comes_to_any_of_their_code_clears_none() -> None:
    end = play(traced("f2", ("1", "2", "3")), 3, trace=True)
    assert culprits(end) == {("2",)} and not end.aside
    assert any("came to no candidate's code" in note for note in end.notes)
    always = play(traced("True", ("1", "2", "3")), 3, trace=True)
    assert always.answer and always.answer.exit_code == 1 and "with everything reverted" in always.answer.reason


def test_what_is_in_force_in_no_traced_run_is_not_tried_thrice_again() -> None:
    def run(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        return "void" if parts else "good"

    end = play(run, 3, trace=True)
    assert end.answer and end.answer.exit_code == 4 and "everything reverted was skipped" in end.answer.reason
    assert [record.phase for record in end.records if record.kind == "void"] == ["trace"] * 3


def test_what_a_failing_traced_run_did_not_reach_is_not_forgotten() -> None:
    # It fails at 2 before the code of 4 is reached.
    end = play(traced("f2 or f4", ("1", "3", "4")), 6, trace=True)
    assert culprits(end) == {("2",), ("4",)}


def test_what_was_set_aside_comes_back_where_nothing_else_explains_the_failure() -> None:
    end = play(traced("f4", ("4",)), 6, trace=True)
    assert culprits(end) == {("4",)}
    assert any("taken back in" in note for note in end.notes)


def test_a_traced_run_that_was_skipped_sets_nothing_aside() -> None:
    def run(parts: frozenset[str], wanted: Wanted, number: int) -> str | TrialRecord:
        if wanted.phase == "trace":
            return TrialRecord(0, "", (), "", "skip", idle=(("2", "its code was not executed"),), why="exit code 125")
        return fails("f2")(parts, wanted, number)  # type: ignore[return-value]

    end = play(run, trace=True)
    assert culprits(end) == {("2",)} and not end.aside
    assert "the traced run was skipped (exit code 125), so nothing is set aside" in end.notes


def test_a_traced_run_that_is_no_verdict_sets_nothing_aside() -> None:
    end = play(without_verdicts("timeout", 3, ("1", "2", "3", "4"), "f2"), trace=True)
    assert "the traced run was no verdict (it was timeout), so nothing is set aside" in end.notes
    assert culprits(end) == {("2",)} and not end.aside


# A failure that comes and goes


def by_chance(rule: str, rate: float, seed: int) -> Rule:
    draw = random.Random(seed)

    def run(parts: frozenset[str], wanted: Wanted, number: int) -> str:
        return "bad" if fails(rule)(parts, wanted, number) == "bad" and draw.random() < rate else "good"

    return run


@pytest.mark.parametrize("seed", range(5))
def test_a_failure_one_time_in_two_is_found_and_confirmed(seed: int) -> None:
    end = play(by_chance("f5", 0.5, seed), 8, flaky=True)
    assert culprits(end) == {("5",)}
    assert end.answer and end.answer.confidence >= 0.99
    confirming = [record for record in end.records if record.phase == "confirm"]
    assert any(record.kind == "bad" and record.reverted == ("5",) for record in confirming)
    assert any(record.kind == "good" and "5" not in record.reverted for record in confirming)


@pytest.mark.parametrize("rule", ["f3 or f6", "not f3 or not f6"])
def test_two_that_each_break_it_now_and_then_are_both_found_and_confirmed(rule: str) -> None:
    end = play(by_chance(rule, 0.5, 3), 8, flaky=True)
    assert culprits(end) == {("3",), ("6",)}
    assert end.answer and not end.answer.complete and "trials without them" in end.answer.reason
    confirming = [record for record in end.records if record.phase == "confirm"]
    fixed = end.answer.direction is Direction.FIXED
    for name in ("3", "6"):
        alone = tuple(n for n in map(str, range(1, 9)) if n != name) if fixed else (name,)
        assert any(record.kind == "bad" and record.reverted == alone for record in confirming)


def test_one_that_needs_another_is_not_named_beside_one_that_does_not() -> None:
    for seed in range(2):
        end = play(by_chance("f3 or (f6 and f7)", 0.5, seed), 8, flaky=True)
        assert culprits(end) <= {("3",), ("6", "7")}


def test_a_failure_that_no_few_of_them_explain_ends_the_search_and_more_runs_go_on_with_it() -> None:
    rule = by_chance(" or ".join(f"f{n}" for n in range(1, 8)), 0.5, 1)
    end = play(rule, 7, flaky=True)
    assert end.answer and (end.answer.verdict, end.answer.exit_code) == ("inconclusive", 4)
    assert "times what it should take" in end.answer.reason
    assert f"--max-runs {end.answer.max_runs} goes on" in end.answer.reason
    assert end.answer.left and end.answer.max_runs == 2 * len(end.records)
    asked = Settings(("command",), trace=False, flaky=True, max_runs=end.answer.max_runs)
    assert steps.state(asked, candidates(7), end.records).wanted


def test_that_it_never_fails_without_the_culprit_saves_runs() -> None:
    ends = [
        [play(by_chance("f5", 0.5, seed), 8, flaky=True, never_otherwise=told) for seed in range(8)]
        for told in (False, True)
    ]
    assert all(culprits(end) == {("5",)} for each in ends for end in each)
    usual, less = (sum(len(end.records) for end in each) for each in ends)
    assert less < 0.8 * usual


def test_where_that_is_not_so_it_is_none_of_them() -> None:
    for seed in range(4):
        end = play(by_chance("True", 0.5, seed), 8, flaky=True, never_otherwise=True)
        assert end.answer and end.answer.verdict == "none"


def test_the_part_of_a_fix_that_breaks_it_now_and_then_is_found() -> None:
    end = play(by_chance("f2b", 0.6, 4), candidates(4, parts=3), flaky=True)
    assert parts_of(end) == {("2/b",)}
    end = play(by_chance("not f2b", 0.6, 5), candidates(4, parts=3), flaky=True)
    assert parts_of(end) == {("2/b",)} and end.answer and end.answer.direction is Direction.FIXED


def test_trials_that_disagree_make_it_a_search_by_chances_with_all_of_them() -> None:
    ends = [play(by_chance("f5", 0.9, seed), 8) for seed in range(20)]
    assert all(culprits(end) == {("5",)} for end in ends)
    turned = [end for end in ends if end.mode == "flaky"]
    assert turned, "none of these failed to fail when it should have"
    assert all(any("comes and goes" in note for note in end.notes) for end in turned)


def test_ends_that_say_the_same_are_tried_thrice_before_it_is_none_of_them() -> None:
    end = play("False", 4)
    assert sorted(record.reverted for record in end.records) == [()] * 3 + [("1", "2", "3", "4")] * 3
    assert end.answer and "--flaky" in end.answer.reason


def test_that_no_member_of_a_set_can_be_left_out_is_tried_thrice() -> None:
    end = play("f2 and f3", 8)
    tried = [record.reverted for record in end.records]
    assert tried.count(("2",)) == 3 and tried.count(("3",)) == 3 and tried.count(("2", "3")) == 3


def test_what_two_sets_share_is_tried_more_often_since_it_may_be_all_that_matters() -> None:
    end = play("f5 and (f1 or f3)", 8)
    assert culprits(end) == {("1", "5"), ("3", "5")}
    assert [record.reverted for record in end.records].count(("5",)) == 6


# Numbers


def numbers(rule: str, seed: int, worse_by: float = 3.0) -> Rule:
    draw = random.Random(seed)

    def run(parts: frozenset[str], wanted: Wanted, number: int) -> float | str:
        if wanted.phase == "trace":
            return "good"
        return 100 + (worse_by if fails(rule)(parts, wanted, number) == "bad" else 0.0) + draw.gauss(0, 1)

    return run


@pytest.mark.parametrize(("rule", "expected"), [("f3", {("3",)}), ("not f3", {("3",)}), ("f2 and f4", {("2", "4")})])
def test_a_number_that_is_worse_is_traced_to_its_fix(rule: str, expected: set[tuple[str, ...]]) -> None:
    end = play(numbers(rule, 1), 6, metric="x", worse="higher", width=3)
    assert culprits(end) == expected
    assert end.answer and end.answer.confidence == 0.99


def test_lower_is_worse_where_it_is_said_so() -> None:
    end = play(numbers("f3", 2, worse_by=-3.0), 6, metric="x", worse="lower")
    assert culprits(end) == {("3",)}
    assert end.answer and end.answer.direction is Direction.REVERTED


def test_a_number_that_is_the_same_everywhere_is_none_of_them() -> None:
    end = play(numbers("False", 3), 4, metric="x", worse="higher")
    assert end.answer and end.answer.exit_code == 1
    # That nothing was seen is no measure of how probable it is that there is nothing.
    assert end.answer.confidence == 0.0 and "show no difference" in end.answer.reason


def test_a_number_that_never_changes_at_all_is_soon_none_of_them() -> None:
    end = play(lambda parts, wanted, number: 5.0, 64, metric="x", worse="higher")
    assert end.answer and end.answer.exit_code == 1 and end.answer.confidence == 0.0
    assert len([record for record in end.records if record.phase != "trace"]) == 24


def test_a_command_that_shows_no_number_is_inconclusive() -> None:
    end = play(lambda parts, wanted, number: "skip", 4, metric="x", worse="higher")
    assert end.answer and end.answer.exit_code == 4
    assert "no number" in end.answer.reason
    assert end.answer.left == ("1", "2", "3", "4")

    def silent(parts: frozenset[str], wanted: Wanted, number: int) -> TrialRecord:
        return TrialRecord(0, "", (), "", "skip", why="nothing in its output")

    shown = play(silent, 4, metric="x", worse="higher").answer
    assert shown and shown.reason.count("nothing in its output") == 1


# State is what was tried


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(["f2", "f1 and f3", "not f4", "f1b or f2a"]))
def test_the_same_trials_give_the_same_next_ones(seed: int, rule: str) -> None:
    those: tuple[Candidate, ...] = candidates(4, parts=2) if "b" in rule else candidates(4)
    end = play(rule, those)
    cut = random.Random(seed).randrange(len(end.records))
    asked = Settings(("command",), trace=False)
    once = steps.state(asked, those, end.records[:cut])
    assert once == steps.state(asked, those, end.records[:cut])
    assert play(rule, those, records=end.records[:cut]).answer == end.answer


def test_also_of_a_failure_that_comes_and_goes() -> None:
    asked = Settings(("command",), trace=False, flaky=True)
    end = play(by_chance("f5", 0.5, 1), 8, flaky=True)
    for cut in range(0, len(end.records), 5):
        assert steps.state(asked, candidates(8), end.records[:cut]).wanted
