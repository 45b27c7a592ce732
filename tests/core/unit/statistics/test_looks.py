"""Which looks belong together, which answer again, and how strictly the next one is tested."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from upskill.core.nouns.look import Look, SeenCase, SeenPair
from upskill.core.statistics import NextLook, level_of_look, lineage, look_terms, recorded_look
from upskill.core.statistics.looks import ordinal

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
COMING = NextLook(
    student_key="student",
    served="served",
    skill="thing",
    version="v1",
    sketch=("a", "b"),
    against="baseline",
    design="sequential",
    repeats=5,
    min_lift=None,
    cases={f"case-{n}": (f"k{n}", "checks") for n in range(3)},
)


def look(day: int = 1, *, pairs: int = 1, cases: int = 3, **fields: Any) -> Look:
    seen = tuple(
        SeenCase(
            key=f"k{n}",
            checks="checks",
            pairs=tuple(SeenPair(f"w{day}-{n}-{p}", f"b{day}-{n}-{p}", True, p % 2 == 1) for p in range(pairs)),
        )
        for n in range(cases)
    )
    given: dict[str, Any] = {
        "at": f"2026-01-{day:02d}T00:00:00+00:00",
        "run": f"runs/{day}",
        "student": "any",
        "student_key": "student",
        "served": "served",
        "skill": "thing",
        "version": "v1",
        "sketch": ("a", "b"),
        "against": "baseline",
        "design": "sequential",
        "repeats": 5,
        "cases": seen,
        "level": 0.025,
        "verdict": "undecided",
        "sentence": "",
        **fields,
    }
    return Look(**given)


def recorded(*looks: Look, coming: NextLook = COMING) -> Look | None:
    return recorded_look(looks, coming, unknown_after=LONG_AGO)


def test_levels_never_add_up_to_more_than_one_in_twenty_while_nothing_helps() -> None:
    levels: list[float] = []
    for _ in range(1000):
        levels.append(level_of_look(levels, helped=0))
    assert levels[:3] == pytest.approx([0.025, 0.0025, 0.00225])
    assert levels[9] == pytest.approx(0.0011, abs=0.0001)
    assert sum(levels[:70]) <= 0.05
    assert sum(levels) <= 0.051
    assert level_of_look([0.025] * 4, helped=0) > 0
    assert level_of_look([0.025, 0.0025], helped=2) > level_of_look([0.025, 0.0025], helped=1)


def test_what_has_not_changed_is_answered_by_the_last_look() -> None:
    assert recorded(look(2), look(1)) == look(2)


@pytest.mark.parametrize(
    "changed",
    [
        {"version": "v2"},
        {"student_key": "other"},
        {"served": "other"},
        {"served": None},
        {"against": "v0"},
        {"design": "fixed"},
        {"repeats": 6},
        {"min_lift": 0.1},
        {"cases": {**COMING.cases, "case-4": ("k4", "checks")}},
        {"cases": {"case-0": ("k0", "checks"), "case-1": ("k1", "checks")}},
        {"cases": {**COMING.cases, "case-0": ("k0", "other")}},
    ],
)
def test_whatever_changes_is_asked(changed: dict[str, Any]) -> None:
    assert recorded(look(), coming=replace(COMING, **changed)) is None


@pytest.mark.parametrize("end", ["interrupted", "endpoint down", "cap reached"])
def test_what_did_not_come_to_its_end_is_asked_again_and_is_no_second_look(end: Any) -> None:
    cut = look(2, end=end)
    assert recorded(look(1), cut) is None
    present = {instance for case in cut.cases for pair in case.pairs for instance in pair[:2]}
    assert look_terms([cut], COMING, present=present).level == 0.025
    spent = look_terms([cut], replace(COMING, version="v2")).level
    assert spent == pytest.approx(0.0025 if end == "cap reached" else 0.025), "at a cap something could be claimed"


def test_a_look_without_a_verdict_is_not_pooled_and_is_free_unless_answers_were_lost() -> None:
    refused = look(verdict="invalid")
    assert recorded(refused) is None
    assert (look_terms([refused], COMING).level, look_terms([refused], COMING).prior) == (0.025, ())
    lost = replace(refused, lost=3)
    assert recorded(lost) is None
    assert look_terms([lost], COMING).level == pytest.approx(0.0025)
    assert look_terms([lost], COMING).prior == ()


def test_a_look_that_was_interrupted_after_it_said_helps_is_paid_for() -> None:
    said = look(end="interrupted", verdict="helps", claim="cases like these", min_lift=0.9)
    assert look_terms([said], COMING).level == pytest.approx(0.0025)


def test_fewer_repeats_and_other_ids_are_answered() -> None:
    coming = replace(COMING, repeats=2, cases={f"new-{n}": (f"k{n}", "checks") for n in range(3)})
    assert recorded(look(), coming=coming) is not None


def test_where_nobody_knows_what_was_served_an_old_look_does_not_answer() -> None:
    unknown = look(served=None)
    coming = replace(COMING, served=None)
    day = datetime.fromisoformat(unknown.at)
    assert recorded_look([unknown], coming, unknown_after=day - timedelta(days=1)) is not None
    assert recorded_look([unknown], coming, unknown_after=day + timedelta(days=1)) is None


def test_a_first_look_is_not_spoken_of() -> None:
    terms = look_terms([], COMING)
    assert (terms.level, terms.prior, terms.removed, terms.note) == (0.025, (), (), None)


def test_the_same_version_is_pooled_each_answer_once() -> None:
    again = replace(look(1, pairs=2), at="2026-01-03T00:00:00+00:00", run="runs/again", level=0.00225)
    terms = look_terms([look(1, pairs=2), look(2, level=0.0025), again], COMING, present={"w2-0-0"})
    assert [(case.case_id, case.pairs, case.passed, case.passed_against) for case in terms.prior] == [
        ("case-0", 2, 2, 1),
        ("case-1", 3, 3, 1),
        ("case-2", 3, 3, 1),
    ]
    assert terms.note is not None
    assert terms.note.startswith(
        "4th look at this version on these cases; stricter threshold, 0.2% instead of 2.5%; 8 earlier"
    )


def test_an_earlier_pair_that_lost_an_answer_counts_against_the_skill() -> None:
    pairs = (
        SeenPair("w1", "b1", True, False, lost=(True, False)),
        SeenPair("w2", "b2", True, False, lost=(False, True)),
    )
    lost = replace(look(), cases=(SeenCase(key="k0", checks="checks", pairs=pairs),))
    (case,) = look_terms([lost], COMING).prior
    assert (case.pairs, case.passed, case.passed_against) == (2, 1, 1)


def test_other_versions_checks_and_served_models_are_not_pooled() -> None:
    others = [look(1, version="v0"), look(2, served="other"), look(3, against="v0")]
    assert look_terms(others, COMING).prior == ()
    rechecked = replace(COMING, cases={case_id: (key, "new") for case_id, (key, _) in COMING.cases.items()})
    assert look_terms([look()], rechecked).prior == ()


def test_edits_spend_and_versions_that_help_pay() -> None:
    edits = [look(n, version=f"v-{n}", level=0.025 if n == 1 else 0.0025) for n in range(1, 4)]
    terms = look_terms(edits, COMING)
    assert terms.level == pytest.approx(0.1 * (0.05 - 0.03))
    assert terms.note == "4th version on these cases; stricter threshold, 0.2% instead of 2.5%"
    helped = [replace(one, verdict="helps", claim="cases like these") for one in edits]
    assert look_terms(helped, COMING).level == pytest.approx(0.1 * (0.15 - 0.03))
    narrow = [replace(one, verdict="helps", claim="these cases") for one in edits]
    assert look_terms(narrow, COMING).level == terms.level


def test_versions_that_help_by_less_than_is_asked_for_do_not_pay() -> None:
    helped = [
        look(n, version=f"v-{n}", min_lift=0.2, verdict="helps", claim="cases like these", report={"clears": None})
        for n in range(1, 4)
    ]
    coming = replace(COMING, min_lift=0.2)
    assert look_terms(helped, coming).level == 1e-6
    assert look_terms(helped, COMING).level == pytest.approx(0.0075)
    shown = [replace(one, report={"clears": True}) for one in helped]
    assert look_terms(shown, coming).level == look_terms(helped, COMING).level
    assert look_terms(shown, replace(coming, min_lift=0.3)).level == 1e-6


def test_removed_cases_are_taken_from_the_last_look_that_had_them() -> None:
    looks = [look(1, cases=5, pairs=3), look(2, cases=5, version="v0"), look(3, cases=4)]
    terms = look_terms(looks, replace(COMING, rejected=frozenset({"k3"})))
    assert [(case.case_id, case.pairs) for case in terms.removed] == [("removed k4", 1)]
    terms = look_terms(looks, COMING)
    assert len(terms.removed) == 2
    assert terms.note is not None
    assert terms.note.endswith("; 1 case fewer than last time")


def test_a_lineage_goes_by_name_or_by_lines_and_needs_a_case_in_common() -> None:
    renamed = look(1, skill="renamed", sketch=("a", "x"))
    grown = look(2, skill="grown", sketch=("x", "y"))
    stranger = look(3, skill="stranger", sketch=("p", "q"))
    elsewhere = look(4, cases=0)
    other = look(5, student_key="other")
    assert lineage([grown, stranger, elsewhere, other, renamed], COMING) == (renamed, grown)
    assert lineage([look(1, sketch=("p", "q"))], COMING) != (), "by name"


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_ordinals(number: int, word: str) -> None:
    assert ordinal(number) == word
