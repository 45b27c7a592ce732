"""Lift, interval, verdict, levels of looks and what a design asks for, on pairs that are always the same."""

import random
from itertools import product
from typing import Any

import pytest

from golden import inside
from golden.held import hold
from upskill.core.nouns.plan import Design

SETS = 200
TRUTHS = ((0.8, -0.8), (0.6, -0.4), (0.9, 0.0), (1.2, 0.0), (1.2, 0.0), (0.1, 0.3), (0.2, 0.6), (0.1, 0.9), (0.0, 1.0))
"""Pass rates without the skill, about which cases differ, and what the skill adds in most cases."""


def pairs_of(number: int) -> dict[str, Any]:
    """A set of pairs with what is asked of it: few or many cases, families, errors, lost answers, copies, tokens."""
    draw = random.Random(number)
    cases = (1, 2, 3, 5, 6, 7, 8, 10, 12, 16, 20, 24, 30, 40)[number % 14]
    rounds = (5, 1, 4, 2, 3)[number % 5]
    base, gain = draw.choice(TRUTHS)
    in_families, copied = number % 7 == 3, number % 11 == 5
    dropping, losing = (0.08 * (number % 6 == 1), 0.05 * (number % 8 == 2))
    frugal = 0.5 + draw.random() if number % 3 == 0 else None
    rates = [(min(1.0, max(0.0, base + 0.3 * (draw.random() - 0.5))), draw.random() < 0.8) for _ in range(cases)]
    rows: list[dict[str, Any]] = []
    for repeat in range(rounds):
        for case, (rate, responds) in enumerate(rates):
            if copied and repeat:
                rows.append({**rows[case], "repeat": repeat})
                continue
            against = draw.random() < rate
            passed = draw.random() < rate + (gain if responds else 0.0)
            row: dict[str, Any] = {"case": f"case{case:02}", "repeat": repeat, "passed": passed, "against": against}
            if in_families and case % 2:
                row["family"] = f"family{case // 4}"
            if copied:
                row["answers"] = [f"a{case}{passed}", f"b{case}{against}"]
            else:
                row["answers"] = [f"a{case}-{repeat}", f"b{case}-{repeat}"]
            if frugal is not None:
                row["tokens"] = [round(1000 * frugal * (0.8 + 0.4 * draw.random())), 800 + draw.randrange(400)]
            if draw.random() < dropping:
                row["passed" if draw.random() < 0.5 else "against"] = None
            row["lost"] = [draw.random() < losing, draw.random() < losing]
            rows.append(row)
    return {
        "rows": rows,
        "min_lift": 0.1 * draw.randrange(1, 4) if number % 4 == 1 else None,
        "helped": [draw.random() < 0.4 for _ in range(number % 9)] if number % 5 == 2 else [],
        "removed": [
            {"case": f"gone{case:02}", "pairs": 2, "passed": draw.randrange(3), "against": draw.randrange(3)}
            for case in range(1 + cases // 4)
        ]
        if number % 10 == 7
        else [],
    }


DESIGNS: tuple[Design, ...] = ("fixed", "two looks", "gate")


def test_two_hundred_sets_of_pairs_give_the_figures_and_verdicts_that_they_gave() -> None:
    seen: dict[str, dict[str, Any]] = {}
    for number in range(SETS):
        given = pairs_of(number)
        seen[str(number)] = {design: inside.evaluated(design=design, **given) for design in DESIGNS}
    hold("values/statistics", seen)
    verdicts = {found["fixed"]["verdict"] for found in seen.values()}
    assert verdicts >= {"helps", "hurts", "cheaper", "no difference", "undecided", "invalid"}
    assert {found["two looks"]["end"] for found in seen.values()} >= {"decided", "futile", "copies", "plan finished"}
    assert any(found["gate"]["broken, suspected, unguarded"][0] for found in seen.values())


def test_levels_of_looks_and_detectable_lifts_are_those_they_were() -> None:
    seen: dict[str, Any] = {
        "level after " + ("".join("+" if one else "-" for one in helped) or "none"): inside.levels(helped)
        for looks in range(7)
        for helped in product((False, True), repeat=looks)
    }
    hold("values/looks", seen | {f"{cases} cases": inside.detectable(cases) for cases in (3, 6, 9, 12, 20, 40, 1000)})


def test_scores_of_triggering_are_those_they_were() -> None:
    seen = {}
    for number in range(60):
        draw = random.Random(number)
        right, wrong = draw.random(), 0.6 * draw.random()
        rows = []
        for prompt in range(2 * (1 + number % 20)):
            answers = 1 + number % 3
            loads = sum(draw.random() < (right if prompt % 2 else wrong) for _ in range(answers))
            errored = int(number % 6 == 4 and draw.random() < 0.2)
            family = f"f{prompt // 4}" if number % 5 == 3 else None
            rows.append(
                {"should": bool(prompt % 2), "answers": answers, "loads": loads, "errored": errored, "family": family}
            )
        seen[str(number)] = inside.triggering(rows)
    hold("values/triggering", seen)


@pytest.mark.parametrize("number", [0, 57])
def test_a_set_of_pairs_is_the_same_each_time(number: int) -> None:
    assert pairs_of(number) == pairs_of(number)
