"""Which of two descriptions is better on the same prompts, and what can never pass for better."""

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerScore
from upskill.core.statistics import FIRST_LEVEL
from upskill.core.statistics.triggering import score_triggering
from upskill.generation.description import compare_descriptions
from upskill.generation.generated import DescriptionComparison


def score(should: Sequence[int | None], near: Sequence[int | None], *, repeats: int = 1) -> TriggerScore:
    """A score from how often each prompt loaded the skill; `None` for prompts whose answers all errored."""
    tallies = []
    for kind, name, loads in ((True, "s", should), (False, "n", near)):
        for number, one in enumerate(loads):
            prompt = TriggerPrompt(id=f"{name}{number}", prompt=f"{name} {number}", should_load=kind, use="held-out")
            answers = 0 if one is None else repeats
            tallies.append(
                PromptTally(prompt=prompt, answers=answers, loads=one or 0, errored=repeats if one is None else 0)
            )
    return score_triggering(tallies, student="m", harness="agent")


def compare(before: TriggerScore, after: TriggerScore, level: float = FIRST_LEVEL) -> DescriptionComparison:
    return compare_descriptions(before, after, level=level)


GOOD = score([1] * 12, [0] * 12)
VAGUE = score([1] * 3 + [0] * 9, [0] * 12)
NEVER = score([0] * 12, [0] * 12)
ALWAYS = score([1] * 12, [1] * 12)


def test_a_good_description_is_better_than_a_vague_one_and_never_the_other_way_round() -> None:
    found, back = compare(VAGUE, GOOD), compare(GOOD, VAGUE)
    assert found.better
    assert found.verdict == "helps"
    assert found.gain == pytest.approx(0.75)
    assert found.lift is not None
    assert back.lift is not None
    assert found.lift.mean == pytest.approx(-back.lift.mean) == pytest.approx(9 / 24)
    assert not back.better
    assert back.worse == ("recall",)


def test_the_same_description_is_not_better_than_itself() -> None:
    for one in (GOOD, VAGUE, NEVER, ALWAYS):
        assert not compare(one, one).better


@pytest.mark.parametrize("near", [12, 6, 4, 2], ids=lambda number: f"{number} near misses")
@pytest.mark.parametrize("before", ["never", "vague", "good"])
def test_a_catch_all_is_never_better_however_few_near_misses_there_are(before: str, near: int) -> None:
    recall = {"never": 0, "vague": 3, "good": 12}[before]
    old = score([1] * recall + [0] * (12 - recall), [0] * near)
    found = compare(old, score([1] * 12, [1] * near))
    assert not found.better
    assert found.gain is not None
    assert found.gain <= 0
    if near > 2:
        assert "near misses" in found.worse


def test_what_loads_less_is_not_better_because_near_misses_load_less() -> None:
    old = score([1] * 12, [1] * 24)
    found = compare(old, score([0] * 12, [0] * 24))
    assert found.lift is not None
    assert found.lift.mean > 0
    assert found.worse == ("recall",)
    assert not found.better


def test_a_later_look_needs_more() -> None:
    small = score([1] * 9 + [0] * 3, [0] * 12)
    assert compare(score([1] * 2 + [0] * 10, [0] * 12), small).better
    assert not compare(score([1] * 2 + [0] * 10, [0] * 12), small, level=0.0005).better


def test_errored_answers_count_for_nobody_and_too_many_allow_no_verdict() -> None:
    few = compare(score([0] * 12, [0] * 12), score([1] * 11 + [None], [0] * 12))
    assert few.lift is not None
    assert (few.lift.pairs, few.lift.dropped) == (23, 1)
    many = compare(score([0] * 12, [0] * 12), score([1] * 6 + [None] * 6, [0] * 12))
    assert many.verdict == "invalid"
    assert not many.better
    nothing = compare(NEVER, score([None] * 12, [None] * 12))
    assert (nothing.lift, nothing.verdict, nothing.gain) == (None, "invalid", None)


def test_where_errors_left_fewer_repeats_the_doubt_goes_against_the_new_description() -> None:
    prompt = [TriggerPrompt(id=f"s{n}", prompt=str(n), should_load=True) for n in range(8)]
    near = [TriggerPrompt(id=f"n{n}", prompt=str(n), should_load=False) for n in range(8)]

    def scored(should: PromptTally, quiet: PromptTally) -> TriggerScore:
        tallies = [replace(should, prompt=one) for one in prompt] + [replace(quiet, prompt=one) for one in near]
        return score_triggering(tallies, student="m", harness="agent")

    quiet = PromptTally(prompt=near[0], answers=2, loads=0)
    old = scored(PromptTally(prompt=prompt[0], answers=1, loads=0, errored=1), quiet)
    new = scored(PromptTally(prompt=prompt[0], answers=2, loads=1), quiet)
    found = compare(old, new)
    assert found.lift is not None
    assert found.lift.rate == found.lift.rate_against  # half of one answer is none


def test_a_description_that_changes_nothing_is_rarely_called_better() -> None:
    """At the level of a first look, at most 2.5% of the time; loads are drawn anew for both."""
    draw = random.Random(7)
    taken = 0
    for number in range(400):
        recall, near = ((0.5, 0.5), (0.9, 0.1), (0.2, 0.05), (0.7, 0.3))[number % 4]
        one, other = (
            score([int(draw.random() < recall) for _ in range(24)], [int(draw.random() < near) for _ in range(24)])
            for _ in range(2)
        )
        taken += compare(one, other).better
    assert taken <= 14, f"{taken} of 400"


def test_a_real_improvement_is_found() -> None:
    """From a recall of 30% to 95% with 24 prompts of each kind: nearly always."""
    draw = random.Random(11)
    found = 0
    for _ in range(100):
        old = score([int(draw.random() < 0.3) for _ in range(24)], [int(draw.random() < 0.05) for _ in range(24)])
        new = score([int(draw.random() < 0.95) for _ in range(24)], [int(draw.random() < 0.05) for _ in range(24)])
        found += compare(old, new).better
    assert found >= 95, f"{found} of 100"
