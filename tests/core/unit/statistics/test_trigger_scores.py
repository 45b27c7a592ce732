"""Recall, load rate on near misses, precision and J: what they are, what their intervals cover, and the verdict."""

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.nouns import Errored, Grade, Scored, SkillUse, Trial
from upskill.core.nouns.trial import Outcome
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerScore
from upskill.core.statistics.triggering import score_triggering, share_interval, tally_prompts

DONE = Scored(end="stopped", grade=Grade(results=()))


def prompt(name: str, *, should: bool, family: str | None = None) -> TriggerPrompt:
    return TriggerPrompt(id=name, prompt=name, should_load=should, family=family)


def tallies(should: Sequence[int], near: Sequence[int], *, answers: int = 1) -> list[PromptTally]:
    return [
        PromptTally(prompt=prompt(f"{kind}{n}", should=kind), answers=answers, loads=loads)
        for kind, counts in ((True, should), (False, near))
        for n, loads in enumerate(counts)
    ]


def scored(should: Sequence[int], near: Sequence[int], *, answers: int = 1) -> TriggerScore:
    return score_triggering(tallies(should, near, answers=answers), student="m", harness="agent")


def trial(case: str, *, repeat: int = 1, outcome: Outcome = DONE, use: SkillUse | None = None) -> Trial:
    return Trial(
        id=f"{case}-{repeat}", student="m", case_id=case, arm="offered", repeat=repeat, outcome=outcome, skill_use=use
    )


def test_prompts_that_were_never_asked_leave_no_verdict_like_those_that_errored() -> None:
    asked = tallies([1] * 12, [0] * 12)
    never = [PromptTally(prompt=prompt(f"never{n}", should=bool(n % 2)), answers=0, loads=0) for n in range(7)]
    assert score_triggering(asked, student="m", harness="agent").verdict == "triggers well"
    assert score_triggering([*asked, *never[:6]], student="m", harness="agent").verdict == "triggers well"
    assert score_triggering([*asked, *never], student="m", harness="agent").verdict == "invalid"
    assert score_triggering(never, student="m", harness="agent").verdict == "invalid"


def test_figures_are_those_of_the_loads() -> None:
    score = scored([1] * 18 + [0] * 2, [1] * 3 + [0] * 17)
    assert score.recall is not None
    assert score.near_miss is not None
    assert score.precision is not None
    assert (score.recall.rate, score.near_miss.rate) == (0.9, 0.15)
    assert score.precision.rate == pytest.approx(18 / 21)
    assert score.j == pytest.approx(0.75)
    assert [one.prompt.id for one in score.wrong] == ["True18", "True19", "False0", "False1", "False2"]


@pytest.mark.parametrize(
    ("should", "near", "verdict"),
    [
        ([1] * 24, [0] * 24, "triggers well"),
        ([1] * 22 + [0] * 2, [1] * 2 + [0] * 22, "triggers well"),
        ([1] * 21 + [0] * 3, [1] * 3 + [0] * 21, "undecided"),
        ([1] * 24, [1] * 24, "does not trigger well"),
        ([0] * 24, [0] * 24, "does not trigger well"),
        ([1] * 10, [0] * 10, "triggers well"),
        ([1] * 9, [0] * 9, "undecided"),
        ([1] * 5, [0] * 24, "invalid"),
        ([1] * 24, [], "invalid"),
    ],
)
def test_the_verdict_is_about_the_interval_of_j(should: list[int], near: list[int], verdict: str) -> None:
    assert scored(should, near).verdict == verdict


def test_a_skill_that_is_never_loaded_has_no_precision() -> None:
    score = scored([0] * 12, [0] * 12)
    assert score.precision is None
    assert score.j == 0


def test_errors_and_unlisted_skills_are_no_answers_and_too_many_leave_no_verdict() -> None:
    prompts = [prompt(f"p{n}", should=n % 2 == 0) for n in range(24)]
    trials = [trial(one.id, use=SkillUse(listed=True, loaded=one.should_load)) for one in prompts]
    score = score_triggering(tally_prompts(prompts, trials), student="m", harness="agent")
    assert (score.verdict, score.errored) == ("triggers well", 0)
    lost = Errored(fault="provider", message="down")
    trials[0] = trial("p0", outcome=lost)
    trials[1] = trial("p1", use=SkillUse(listed=False, loaded=False))
    score = score_triggering(tally_prompts(prompts, trials), student="m", harness="agent")
    assert score.errored == 2
    assert score.recall is not None
    assert (score.recall.rate, score.recall.prompts) == (1.0, 11)
    trials[2:6] = [trial(f"p{n}", outcome=lost) for n in range(2, 6)]
    score = score_triggering(tally_prompts(prompts, trials), student="m", harness="agent")
    assert score.verdict == "invalid"


def test_a_second_try_replaces_an_errored_one_and_repeats_are_averaged() -> None:
    one = prompt("p", should=True)
    loaded, not_loaded = SkillUse(listed=True, loaded=True), SkillUse(listed=True, loaded=False, others=("x", "y"))
    (tally,) = tally_prompts(
        [one],
        [
            trial("p", outcome=Errored(fault="timeout", message="late")),
            trial("p", use=loaded),
            trial("p", repeat=2, use=not_loaded),
        ],
    )
    assert (tally.answers, tally.loads, tally.errored, tally.rate, tally.others) == (2, 1, 0, 0.5, ("x", "y"))


def test_prompts_of_one_family_count_once_and_repeats_do_not_count_as_prompts() -> None:
    apart = scored([1] * 12 + [0] * 12, [0] * 24)
    repeated = scored([10] * 12 + [0] * 12, [0] * 24, answers=10)
    assert repeated.interval == apart.interval
    alike = [
        PromptTally(prompt=prompt(f"p{n}", should=True, family=f"f{n // 4}"), answers=1, loads=int(n < 12))
        for n in range(24)
    ]
    near = [one for one in apart.tallies if not one.prompt.should_load]
    together = score_triggering([*alike, *near], student="m", harness="agent")
    assert together.recall is not None
    assert together.recall.interval == share_interval(0.5, 6)


@given(st.integers(1, 200), st.floats(0, 1))
def test_an_interval_holds_its_share(size: int, rate: float) -> None:
    interval = share_interval(rate, size)
    assert 0 <= interval.low <= rate <= interval.high <= 1


@pytest.mark.parametrize(("recall", "near"), [(0.95, 0.05), (0.75, 0.25), (0.6, 0.1), (0.3, 0.05), (1.0, 1.0)])
def test_intervals_cover_the_truth(recall: float, near: float) -> None:
    """In at least 94 of 100 measurements with 24 prompts of each kind, for J and for both rates."""
    draw = random.Random(f"{recall}/{near}")
    rounds, covered, wrong = 400, [0, 0, 0], 0
    for _ in range(rounds):
        score = scored([draw.random() < recall for _ in range(24)], [draw.random() < near for _ in range(24)])
        assert score.interval is not None
        assert score.recall is not None
        assert score.near_miss is not None
        truths = (
            (recall - near, score.interval),
            (recall, score.recall.interval),
            (near, score.near_miss.interval),
        )
        for place, (truth, interval) in enumerate(truths):
            covered[place] += interval.low - 1e-9 <= truth <= interval.high + 1e-9
        wrong += score.verdict == ("triggers well" if recall - near <= 0.5 else "does not trigger well")
    assert min(covered) >= 0.94 * rounds, covered
    assert wrong <= 0.05 * rounds
