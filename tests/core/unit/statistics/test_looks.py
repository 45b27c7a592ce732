"""Which looks belong together, which is gone on with, and how strictly the next one is tested."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from upskill.core.nouns.look import NOTHING, Look, LookTerms, SeenCase, SeenPair
from upskill.core.statistics import FIRST_LEVEL, Level, NextLook, level_of_look, lineage, look_terms
from upskill.core.statistics.intervals import error_of
from upskill.core.statistics.looks import ordinal, removed_pairs, same_look

COMING = NextLook(
    student="any",
    model="model",
    kind="kind",
    served="served",
    skill="thing",
    version="v1",
    sketch=("a", "b"),
    against="baseline",
    design="two looks",
    repeats=3,
    cases={f"case-{n}": (f"k{n}", "checks") for n in range(3)},
)


def seen_cases(day: int, cases: int, pairs: int) -> tuple[SeenCase, ...]:
    return tuple(
        SeenCase(
            key=f"k{n}",
            checks="checks",
            pairs=tuple(SeenPair(f"w{day}-{n}-{p}", f"b{day}-{n}-{p}", True, p % 2 == 1) for p in range(pairs)),
        )
        for n in range(cases)
    )


def look(day: int = 1, *, pairs: int = 1, cases: int = 3, **fields: Any) -> Look:
    """A look that came to its end, unless `ended_at` is `None`."""
    given: dict[str, Any] = {
        "id": f"run-{day}",
        "at": f"2026-01-{day:02d}T00:00:00+00:00",
        "ended_at": f"2026-01-{day:02d}T01:00:00+00:00",
        "run": f"runs/{day}",
        "student": "any",
        "model": "model",
        "kind": "kind",
        "served": "served",
        "skill": "thing",
        "version": "v1",
        "sketch": ("a", "b"),
        "against": "baseline",
        "design": "two looks",
        "repeats": 3,
        "cases": seen_cases(day, cases, pairs),
        "level": 0.025,
        "verdict": "undecided",
        "end": "plan finished",
        **fields,
    }
    return Look(**given)


def opened(day: int = 1, **fields: Any) -> Look:
    """A look whose process was killed."""
    return look(day, **{"pairs": 0, "ended_at": None, "verdict": None, "end": "interrupted", **fields})


def terms_of(looks: Sequence[Look], coming: NextLook = COMING) -> LookTerms:
    """The terms where every answer of every look is remembered."""
    return look_terms(looks, coming, present=frozenset().union(*(one.answers for one in looks)))


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


def test_a_first_look_is_not_spoken_of() -> None:
    assert look_terms([], COMING) == LookTerms(level=0.025)


# The same look again


def test_what_has_not_changed_is_the_same_look_where_its_answers_are_remembered() -> None:
    found = terms_of([look(1), look(2, version="v0")])
    assert (found.id, found.at, found.level, found.answered) == ("run-1", look(1).at, 0.025, True)
    assert found.note == "unchanged since 2026-01-01, so no model is asked (--fresh asks again)"
    assert found.earlier == (), "what was looked at since is no reason to be stricter"


def test_a_verdict_whose_answers_are_not_here_is_bought_again_and_was_a_look() -> None:
    found = look_terms([look(1)], COMING, present={"w1-0-0"})
    assert (found.id, found.answered) == (None, False)
    assert found.level == pytest.approx(0.0025)


@pytest.mark.parametrize(
    "changed",
    [
        {"version": "v2"},
        {"kind": "other"},
        {"served": "other"},
        {"served": None},
        {"against": "v0"},
        {"design": "fixed"},
        {"repeats": 6},
        {"cases": {**COMING.cases, "case-4": ("k4", "checks")}},
        {"cases": {"case-0": ("k0", "checks"), "case-1": ("k1", "checks")}},
        {"cases": {**COMING.cases, "case-0": ("k0", "other")}},
        {"families": {"k0": "f", "k1": "f"}},
    ],
)
def test_whatever_changes_is_another_look(changed: dict[str, Any]) -> None:
    coming = replace(COMING, **changed)
    assert terms_of([look()], coming).id is None
    assert same_look([look()], coming) is None
    assert same_look([look()], COMING) == look()


@pytest.mark.parametrize("end", ["interrupted", "endpoint down", "cap reached"])
def test_what_did_not_come_to_its_end_is_gone_on_with(end: Any) -> None:
    cut = look(2, end=end)
    found = terms_of([cut])
    assert (found.id, found.level, found.answered) == ("run-2", 0.025, False)
    assert terms_of([cut], replace(COMING, version="v2")).level == pytest.approx(0.0025), "but it was a look"


def test_a_look_that_was_killed_is_gone_on_with_or_counts() -> None:
    assert terms_of([opened()]).id == "run-1"
    for other in (
        terms_of([opened()], replace(COMING, version="v2")),
        terms_of([opened()], replace(COMING, remembered=False)),
        terms_of([opened(remembered=False)]),
        terms_of([opened(cases=4)]),
    ):
        assert other.id is None
        assert other.level == pytest.approx(0.0025)


def test_a_look_that_was_closed_without_an_answer_is_free() -> None:
    nothing = look(1, pairs=0, end="endpoint down", verdict="invalid")
    assert terms_of([nothing]).level == 0.025
    lost = replace(nothing, lost=3)
    assert terms_of([lost], replace(COMING, version="v2")).level == pytest.approx(0.0025), "where answers were lost"


def test_answers_with_the_skill_alone_are_a_look_that_the_comparison_goes_on_with() -> None:
    alone = look(1, against=NOTHING, design="fixed", repeats=1, verdict=None)
    assert terms_of([alone]).id == "run-1"
    fewer = replace(COMING, cases=dict(list(COMING.cases.items())[:2]))
    assert terms_of([alone], fewer).level == pytest.approx(0.0025)


# Levels


def test_edits_spend_and_versions_that_help_pay() -> None:
    edits = [look(n, version=f"v-{n}", level=0.025 if n == 1 else 0.0025) for n in range(1, 4)]
    found = terms_of(edits)
    assert found.level == pytest.approx(0.1 * (0.05 - 0.03))
    assert found.note == (
        "4th look at this skill with this model: a claim that it helps needs stronger evidence than in the first"
    )
    assert [one.run for one in found.earlier] == ["runs/1", "runs/2", "runs/3"]
    helped = [replace(one, verdict="helps", claim="new cases") for one in edits]
    assert terms_of(helped).level == pytest.approx(0.1 * (0.15 - 0.03))
    narrow = [replace(one, verdict="helps", claim="these cases") for one in edits]
    assert terms_of(narrow).level == found.level


def test_a_version_pays_only_where_its_answers_are_known_here() -> None:
    """A line of a ledger spends level whoever wrote it, and gives nothing back without its answers."""
    helped = [look(n, version=f"v-{n}", verdict="helps", claim="new cases") for n in (1, 2)]
    assert look_terms(helped, COMING, known={"run-1", "run-2"}).level == pytest.approx(0.1 * (0.10 - 0.05))
    assert look_terms(helped, COMING, known={"run-1"}).level == 1e-6


def test_versions_that_help_by_less_than_is_asked_for_do_not_pay() -> None:
    helped = [look(n, version=f"v-{n}", verdict="helps", claim="new cases") for n in range(1, 4)]
    coming = replace(COMING, min_lift=0.2)
    assert terms_of(helped, coming).level == 1e-6
    assert terms_of(helped).level == pytest.approx(0.0075)
    shown = [replace(one, shown_lift=0.2) for one in helped]
    assert terms_of(shown, coming).level == terms_of(helped).level
    assert terms_of(shown, replace(coming, min_lift=0.3)).level == 1e-6


def test_more_cases_of_the_same_text_may_spend_half_of_what_is_left() -> None:
    more = replace(COMING, cases={f"case-{n}": (f"k{n}", "checks") for n in range(6)})
    assert terms_of([look(1)], more).level == pytest.approx(0.0125)
    assert terms_of([look(1, version="v0")], more).level == pytest.approx(0.0025), "another text may not"
    assert look_terms([look(1)], COMING).level == pytest.approx(0.0025), "nor may the same cases again"
    levels = [0.025]
    for number in range(2, 11):
        earlier = [look(n, level=level, cases=n) for n, level in enumerate(levels, 1)]
        next_ = replace(COMING, cases={f"case-{n}": (f"k{n}", "checks") for n in range(20)})
        levels.append(terms_of(earlier, next_).level)
        assert levels[-1] == pytest.approx(0.05 / 2**number)
    assert sum(levels) <= 0.05


# Cases that were removed


def test_removed_cases_are_taken_from_the_last_look_that_had_them() -> None:
    looks = [look(1, cases=5, pairs=3, version="v0"), look(2, cases=5, version="v0"), look(3, cases=4, version="v0")]
    found = terms_of(looks, replace(COMING, rejected=frozenset({("k3", "checks")})))
    assert [(case.key, case.pairs, case.passed, case.passed_against) for case in found.removed] == [("k4", 1, 1, 0)]
    loosened = terms_of(looks, replace(COMING, rejected=frozenset({("k3", "loose checks")})))
    assert [case.key for case in loosened.removed] == ["k3", "k4"], "a case that was rejected for a check of today"
    assert [case.key for case in terms_of(looks).removed] == ["k3", "k4"]
    assert (terms_of(looks).note or "").endswith("; 1 case fewer than last time")


def test_practice_counts_where_a_practised_case_is_to_prove_something() -> None:
    practised = [look(1, cases=5, version="v1", against="nothing", practice=True, verdict=None, claim=None)]
    shares = terms_of(practised)
    assert shares.level == pytest.approx(0.0025)
    assert [case.key for case in shares.removed] == ["k3", "k4"]
    others = replace(COMING, cases={f"new-{n}": (f"n{n}", "checks") for n in range(6)})
    assert (terms_of(practised, others).level, terms_of(practised, others).earlier) == (0.025, ())
    again = terms_of([look(2)], replace(others, practice=True))
    assert again.level == 0.025, "practice on other cases is no later look"


def test_a_case_that_vanished_after_a_kill_counts_as_lost() -> None:
    (gone,) = terms_of([opened(cases=4)]).removed
    assert (gone.key, gone.pairs, gone.passed, gone.passed_against) == ("k3", 1, 0, 1)


def test_a_case_that_was_asked_with_the_skill_alone_counts_as_if_it_had_passed_without() -> None:
    pairs = (SeenPair("w1", "", False, True), SeenPair("w2", "", True, True))
    alone = replace(
        look(1, cases=4, against=NOTHING), cases=(*look(1).cases, SeenCase(key="k3", checks="c", pairs=pairs))
    )
    (gone,) = terms_of([alone]).removed
    assert (gone.pairs, gone.passed, gone.passed_against) == (2, 1, 2)


def test_an_answer_that_was_lost_counts_against_the_skill() -> None:
    pairs = (
        SeenPair("w1", "b1", True, False, lost=(True, False)),
        SeenPair("w2", "b2", True, False, lost=(False, True)),
    )
    lost = replace(look(), cases=(*look().cases, SeenCase(key="k9", checks="checks", pairs=pairs)))
    (gone,) = terms_of([lost]).removed
    assert (gone.pairs, gone.passed, gone.passed_against) == (2, 1, 1)


def test_a_case_whose_checks_changed_also_counts_as_it_was_however_often_it_was_seen_since() -> None:
    first, again = look(1, pairs=2, version="v0"), look(2, version="v0")
    loose = replace(again, cases=(replace(again.cases[0], checks="loose"), *again.cases[1:]))
    coming = replace(COMING, cases={**COMING.cases, "case-0": (COMING.cases["case-0"][0], "loose")})
    for looks in ([first], [first, loose]):
        assert [(case.key, case.pairs) for case in terms_of(looks, coming).removed] == [("k0", 2)]


def test_answers_that_were_seen_under_other_checks_are_counted_as_regraded() -> None:
    coming = replace(COMING, cases={**COMING.cases, "case-0": ("k0", "loose")})
    assert terms_of([look()], coming).regraded == 1
    assert look_terms([look()], coming).regraded == 0, "new answers are graded once"


def test_removed_cases_become_pairs() -> None:
    (gone,) = terms_of([look(1, cases=4, pairs=3, version="v0")]).removed
    pairs = removed_pairs([gone])
    assert {pair.case_id for pair in pairs} == {"removed k3"}
    assert (sum(pair.passed for pair in pairs), sum(pair.passed_against for pair in pairs), len(pairs)) == (3, 1, 3)


# What belongs together


def test_a_lineage_goes_by_name_in_its_place_or_by_lines_whatever_the_cases_and_settings() -> None:
    renamed = look(1, skill="renamed", place="away", sketch=("a", "x"), kind="other")
    grown = look(2, skill="grown", place="away", sketch=("x", "y"))
    stranger = look(3, skill="stranger", sketch=("p", "q"))
    elsewhere = look(4, cases=0, sketch=("r", "s"))
    other = look(5, model="other")
    loads = look(6, asked="loads")
    assert lineage([grown, stranger, elsewhere, other, renamed, loads], COMING) == (renamed, grown, elsewhere)
    assert lineage([look(1, sketch=("p", "q"), place="away")], COMING) != (), "by name, on a case in common"
    assert lineage([look(1, sketch=("p", "q"), place="away", cases=0)], COMING) == (), "a namesake"


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_ordinals(number: int, word: str) -> None:
    assert ordinal(number) == word


@pytest.mark.parametrize("looks", [1, 2])
@pytest.mark.parametrize("error", [FIRST_LEVEL, FIRST_LEVEL / 2, FIRST_LEVEL / 40])
def test_the_error_of_a_design_is_read_from_its_confidence(looks: int, error: float) -> None:
    confidence = Level(error=error, looks=looks).confidence_of_lift
    assert error_of(round(confidence, 6)) == pytest.approx(error, abs=1e-5)
