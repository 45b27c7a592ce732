"""Which looks belong together, which answer again, and how strictly the next one is tested."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from upskill.core.nouns.look import Look, PooledCase, SeenCase, SeenPair
from upskill.core.statistics import NextLook, level_of_look, lineage, look_terms, recorded_look
from upskill.core.statistics.looks import ordinal, repeats_earlier
from upskill.core.statistics.pairs import Pair

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
COMING = NextLook(
    student="any",
    model="model",
    kind="kind",
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
        "model": "model",
        "kind": "kind",
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
        {"student": "other"},
        {"model": "other"},
        {"kind": "other"},
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
        "4th look at this skill with this model, after 3 on these cases; threshold 0.2% instead of 2.5%; 8 earlier"
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
    assert (
        terms.note
        == "4th look at this skill with this model, after 3 at another version; threshold 0.2% instead of 2.5%"
    )
    assert [one.relation for one in terms.earlier] == ["other version"] * 3
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
    looks = [look(1, cases=5, pairs=3, version="v0"), look(2, cases=5, version="v0"), look(3, cases=4)]
    terms = look_terms(looks, replace(COMING, rejected=frozenset({"k3"})))
    assert [(case.case_id, case.pairs) for case in terms.removed] == [("removed k4", 1)]
    terms = look_terms(looks, COMING)
    assert [case.case_id for case in terms.removed] == ["removed k4"], "k3 of this version counts anyway"
    assert terms.note is not None
    assert terms.note.endswith("; 1 case fewer than last time")


def test_a_case_whose_checks_changed_also_counts_as_it_was_however_often_it_was_seen_since() -> None:
    first, again = look(1, pairs=2, version="v0"), look(2, version="v0")
    loose = replace(again, cases=(replace(again.cases[0], checks="loose"), *again.cases[1:]))
    coming = replace(COMING, cases={**COMING.cases, "case-0": (COMING.cases["case-0"][0], "loose")})
    for looks in ([first], [first, loose]):
        terms = look_terms(looks, coming)
        assert [(case.case_id, case.pairs) for case in terms.removed] == [("removed k0", 2)]


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


def on_new_cases(first: int) -> NextLook:
    return replace(COMING, cases={f"case-{n}": (f"k{n}", f"checks {n}") for n in range(first, first + 3)})


def test_new_cases_of_the_same_text_count_together_and_may_spend_half_of_what_is_left() -> None:
    terms = look_terms([look(1, pairs=2)], on_new_cases(3))
    assert terms.level == pytest.approx(0.0125)
    assert [(case.case_id, case.pairs) for case in terms.prior] == [(f"earlier k{n}", 2) for n in range(3)]
    assert terms.removed == (), "what is counted anyway need not be shown again"
    assert terms.note == (
        "2nd look at this skill with this model, after 1 on other cases; threshold 1.2% instead of 2.5%; "
        "6 earlier pairs on 3 other cases count too"
    )
    levels = [0.025]
    for number in range(2, 11):
        earlier = [look(n, level=level) for n, level in enumerate(levels, 1)]
        levels.append(look_terms(earlier, on_new_cases(3)).level)
        assert levels[-1] == pytest.approx(0.05 / 2**number)
    assert sum(levels) <= 0.05


@pytest.mark.parametrize(
    ("changed", "relation"),
    [({"version": "v0"}, "other version"), ({"kind": "hot"}, "other settings"), ({"served": None}, "other settings")],
)
def test_other_texts_and_settings_spend_also_on_new_cases_and_are_never_pooled(
    changed: dict[str, Any], relation: str
) -> None:
    terms = look_terms([look(1, **changed)], on_new_cases(3))
    assert terms.level == pytest.approx(0.0025)
    assert not terms.prior
    assert [one.relation for one in terms.earlier] == [relation]


def test_a_case_in_other_words_is_no_new_case() -> None:
    words = tuple(f"w{n}" for n in range(10))
    seen = replace(look(1), cases=(SeenCase(key="old", checks="checks", words=words, pairs=look(1).cases[0].pairs),))

    def coming(words: tuple[str, ...], checks: str) -> NextLook:
        return replace(COMING, cases={"case": ("new", checks)}, words={"new": words})

    added = (*words, "and", "a", "sentence", "more")
    assert look_terms([seen], coming(added, "checks")).level == pytest.approx(0.0025), "a sentence was added"
    assert look_terms([seen], coming(words, "others")).level == pytest.approx(0.0025), "the same words, other checks"
    assert look_terms([seen], coming(added, "others")).level == pytest.approx(0.0125), "another question"
    assert look_terms([seen], coming((*words[:7], "x", "y", "z"), "checks")).level == pytest.approx(0.0125)


def test_repeats_are_compared_by_case_arm_and_repeat() -> None:
    earlier = (PooledCase(case_id="c", pairs=2, passed=2, passed_against=0, answers=((1, "a", "b"), (2, "c", "d"))),)

    def asked(*answers: tuple[str, str]) -> list[Pair]:
        return [
            Pair(case_id="c", repeat=repeat, passed=True, passed_against=False, answers=both)
            for repeat, both in enumerate(answers, 1)
        ]

    assert repeats_earlier(asked(("a", "b"), ("c", "d")), earlier), "the same seeds were asked again"
    assert not repeats_earlier(asked(("c", "d"), ("a", "b")), earlier)
    assert not repeats_earlier(asked(("", ""), ("", "")), earlier)


@pytest.mark.parametrize(
    ("number", "word"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (22, "22nd")]
)
def test_ordinals(number: int, word: str) -> None:
    assert ordinal(number) == word
