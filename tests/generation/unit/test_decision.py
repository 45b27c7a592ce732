"""The decision of a `generate` in one sentence, whatever came of it."""

from dataclasses import replace
from typing import Any

import pytest

from report.unit.evaluations import evaluation, lift, report
from upskill.core.nouns import Interval, Purchase, Skill
from upskill.generation.generated import GenerateResult, StudentClaim
from upskill.generation.words import decision, generated_json

NOTHING = Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0)
UNSURE = lift(mean=0.03, interval=Interval(low=-0.2, high=0.26), cases=8, units=8)
SURE = lift(mean=0.4, interval=Interval(low=0.1, high=0.7), cases=8, units=8)


def generated(**changes: Any) -> GenerateResult:
    made = GenerateResult(
        skill=Skill(name="gauge", description="", body="", digest=""),
        saved="./skills/gauge",
        kept=None,
        revision=False,
        status="helps",
        sentence="",
        reason="",
        claims=(),
        proven=True,
        evaluation=None,
        attempts=(),
        refined=None,
        teacher="",
        students=(),
        cases=(4, 8, 0),
        by_teacher=NOTHING,
        by_students=NOTHING,
        run="",
    )
    return replace(made, **changes)


def measured(verdict: str, found: Any) -> Any:
    return evaluation(report(verdict=verdict, lifts=(found,)), cases=8)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"evaluation": measured("helps", SURE)},
            "The skill was saved: it helps on 8 held-out cases (+40 points, 95% CI +10 to +70).",
        ),
        (
            {"evaluation": measured("helps", SURE), "about": "the same habit in later sessions"},
            "The skill was saved: it helps on 8 held-out cases (+40 points, 95% CI +10 to +70), "
            "the same habit in later sessions.",
        ),
        (
            {"evaluation": measured("undecided", UNSURE), "proven": False},
            "The skill was saved, but it was not shown to help on 8 held-out cases (+3 points, 95% CI −20 to +26).",
        ),
        (
            {"evaluation": measured("helps", SURE), "revision": True},
            "The new version was saved: it is better on 8 held-out cases (+40 points, 95% CI +10 to +70).",
        ),
        (
            {"evaluation": measured("undecided", UNSURE), "revision": True, "saved": None, "proven": False},
            "The old version stays: the revision was not shown to be better on 8 held-out cases "
            "(+3 points, 95% CI −20 to +26).",
        ),
        (
            {"evaluation": measured("hurts", UNSURE), "revision": True, "saved": None, "proven": False},
            "The old version stays: the revision is worse on 8 held-out cases (+3 points, 95% CI −20 to +26).",
        ),
        (
            {
                "evaluation": measured("helps", SURE),
                "revision": True,
                "saved": None,
                "proven": False,
                "reason": "the new version is better: +40 points; but it breaks 1 case: port",
            },
            "The old version stays: the new version is better: +40 points; but it breaks 1 case: port.",
        ),
        (
            {
                "evaluation": measured("helps", SURE),
                "proven": False,
                "reason": "helps: +40 points; but it breaks 1 case: port",
            },
            "The skill was saved, but is not proven: it helps: +40 points; but it breaks 1 case: port.",
        ),
        (
            {
                "evaluation": measured("helps", replace(SURE, about="these cases")),
                "proven": False,
                "reason": "helps on these 4 held-out cases: +40 points; too few to conclude about new cases",
            },
            "The skill was saved, but is not proven: it helps on these 4 held-out cases: +40 points; "
            "too few to conclude about new cases.",
        ),
        (
            {
                "evaluation": measured("helps", SURE),
                "revision": True,
                "proven": False,
                "reason": "the new version is better: +40 points; but it breaks 1 case: port",
            },
            "The new version was saved, but is not proven: the new version is better: +40 points; "
            "but it breaks 1 case: port.",
        ),
        (
            {"proven": False, "reason": "not measured: it was generated with --no-eval"},
            "The skill was saved, not measured: it was generated with --no-eval.",
        ),
        (
            {
                "proven": False,
                "revision": True,
                "saved": None,
                "reason": "not proven: stopped at the cap of 9 calls before the held-out cases",
            },
            "The old version stays: stopped at the cap of 9 calls before the held-out cases.",
        ),
        (
            {
                "proven": False,
                "revision": True,
                "saved": None,
                "evaluation": measured("invalid", UNSURE),
                "reason": "no verdict: 9 of 40 trials errored",
            },
            "The old version stays: no verdict: 9 of 40 trials errored.",
        ),
    ],
)
def test_one_sentence_says_what_was_decided_and_why(changes: dict[str, Any], said: str) -> None:
    assert decision(generated(**changes)) == said


def test_a_case_of_which_no_pair_was_scored_is_not_spoken_of() -> None:
    seven = measured("helps", replace(SURE, cases=7))
    assert "it helps on 7 held-out cases (" in decision(generated(evaluation=seven))


def test_of_several_models_it_says_how_many() -> None:
    claims = tuple(StudentClaim(student=name, status=name, sentence="") for name in ("helps", "hurts"))
    two = replace(measured("helps", SURE), students=(report(lifts=(SURE,)), report(lifts=(SURE,))))
    assert decision(generated(evaluation=two, claims=claims, proven=False)) == (
        "The skill was saved, but it helps 1 of 2 models and hurts 1 on 8 held-out cases."
    )


def test_the_record_of_a_run_has_the_same_sentence() -> None:
    made = generated(evaluation=measured("helps", SURE))
    assert generated_json(made)["decision"] == decision(made)
