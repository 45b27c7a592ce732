"""What pictures show, before anything is drawn."""

from dataclasses import replace

import pytest

from unit.reporting.evaluations import CASE_STATES, EVALUATIONS, arm, evaluation, report
from upskill.domain import Interval, StudentReport
from upskill.reporting.estimate_path import PathPoint, StudentPath
from upskill.reporting.palette import DARK, LIGHT
from upskill.reporting.pictures import asked_pictures
from upskill.reporting.pictures.tokens import tokens_picture
from upskill.reporting.sufficient_students import cheapest_sufficient
from upskill.reporting.token_change import TokenRatio
from upskill.reporting.wording import short_names


def student(name: str, before: int, after: int, *, costs: tuple[float | None, float | None]) -> StudentReport:
    arms = (
        replace(arm("baseline", passed=before, trials=100), cost=costs[0]),
        replace(arm("with_skill", passed=after, trials=100), cost=costs[1]),
    )
    return report(name, arms=arms)


def test_the_cheapest_that_is_good_enough_is_found_with_the_skill_or_without() -> None:
    small, large = student("small", 10, 95, costs=(0.001, 0.002)), student("large", 97, 99, costs=(0.05, 0.06))
    best = cheapest_sufficient([large, small])
    assert best is not None
    assert (best.student, best.arm, best.use, best.surely) == ("small", "with_skill", 0.002, True)
    strict = cheapest_sufficient([large, small], enough=0.97)
    assert strict is not None
    assert (strict.student, strict.arm) == ("large", "baseline")
    assert cheapest_sufficient([small], enough=0.99) is None


def test_a_pass_rate_from_few_trials_is_not_called_sure() -> None:
    few = report("few", arms=(replace(arm("with_skill", passed=5, trials=6), cost=0.1),))
    best = cheapest_sufficient([few])
    assert best is not None
    assert not best.surely


def test_the_best_of_five_students_must_be_surer_than_one_alone() -> None:
    alone = student("alone", 10, 89, costs=(0.01, 0.01))
    others = [student(f"other-{n}", 10, 20, costs=(0.02, 0.02)) for n in range(4)]
    one, of_five = cheapest_sufficient([alone]), cheapest_sufficient([alone, *others])
    assert one is not None
    assert of_five is not None
    assert (one.surely, of_five.surely) == (True, False)


def test_an_unknown_price_is_not_free() -> None:
    unknown, known = student("unknown", 90, 95, costs=(None, None)), student("known", 90, 95, costs=(0.1, 0.1))
    best = cheapest_sufficient([unknown, known])
    assert best is not None
    assert best.student == "known"
    (picture,) = [one for one in asked_pictures(evaluation(unknown, known)) if one.name == "cost"]
    assert [mark["student"] for mark in picture.marks] == ["known"]


def test_where_nothing_has_a_price_tokens_stand_for_cost() -> None:
    free = student("free", 10, 90, costs=(0.0, 0.0))
    (picture,) = [one for one in asked_pictures(evaluation(free)) if one.name == "cost"]
    assert picture.facts["cost"] is False
    assert "tokens" in picture.title


def test_saved_tokens_are_green_only_where_that_is_sure() -> None:
    reports = [report("sure"), report("unsure"), report("more")]
    ratios = [
        TokenRatio(student="sure", typical=0.6, interval=Interval(low=0.5, high=0.7)),
        TokenRatio(student="unsure", typical=0.9, interval=Interval(low=0.7, high=1.2)),
        TokenRatio(student="more", typical=4.9, interval=Interval(low=4.8, high=5.1)),
    ]
    picture = tokens_picture(reports, ratios)
    assert picture is not None
    colours = {mark["student"]: mark["change_colour"] for mark in picture.marks}
    assert colours == {"sure": LIGHT["good"], "unsure": LIGHT["unsure"], "more": LIGHT["mark"]}
    said = {mark["student"]: mark["change"] for mark in picture.marks}
    assert said["sure"] == "40% fewer tokens (30% to 50% fewer)"
    assert said["unsure"] == "10% fewer tokens (30% fewer to 20% more)"
    assert said["more"] == "4.9× the tokens (4.8× to 5.1×)"


def test_an_undecided_lift_is_hollow() -> None:
    picture = asked_pictures(evaluation(report("a"), report("b", verdict="undecided")))[0]
    assert [mark["fill"] == LIGHT["paper"] for mark in picture.marks] == [False, True]


def test_nothing_compared_draws_no_lift() -> None:
    assert "lift" not in [picture.name for picture in asked_pictures(EVALUATIONS["no baseline"])]


def test_cases_are_counted_by_state_and_label() -> None:
    picture = asked_pictures(evaluation(case_states=CASE_STATES))[-1]
    assert {mark["name"]: mark["cases"] for mark in picture.marks} == {
        "unproven": 1,
        "rejected": 1,
        "recall": 1,
        "leaks": 1,
    }


def test_a_path_of_one_pair_is_no_path() -> None:
    point = PathPoint(pairs=1, mean=1.0, these_cases=Interval(low=0, high=1), cases_like_these=None)
    one = StudentPath(student="haiku", points=(point,), cap=60)
    assert "path" not in [picture.name for picture in asked_pictures(evaluation(), paths=[one])]
    two = replace(one, points=(point, replace(point, pairs=2)))
    assert "path" in [picture.name for picture in asked_pictures(evaluation(), paths=[two])]


def test_names_are_cut_in_the_middle_and_stay_apart() -> None:
    names = ["unsloth/GLM-4.7-Flash-GGUF:Q4_0", "short", "unsloth/GLM-4.7-Flash-GGUF:Q4_0"]
    short = short_names(names, 16)
    assert short[1] == "short"
    assert len(set(short)) == 3
    assert all(len(name) <= 18 for name in short)


def _contrast(one: str, other: str) -> float:
    def light(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_every_colour_that_writes_can_be_read(colours: dict[str, str]) -> None:
    for name, colour in colours.items():
        if name not in ("grid", "paper"):
            assert _contrast(colour, colours["paper"]) >= 4.5, name
    assert len(set(colours.values())) == len(colours), "one colour per meaning"


def test_the_cheapest_may_be_a_skill_that_was_given_and_has_a_point_of_its_own() -> None:
    pictures = asked_pictures(EVALUATIONS["with tools"])
    (cost,) = [picture for picture in pictures if picture.name == "cost"]
    assert cost.facts["aside"] is True
