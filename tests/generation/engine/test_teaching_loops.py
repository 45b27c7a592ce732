"""Two hundred whole loops on a simulated student; the full tables are in benchmarks/."""

import random

import pytest
from tools.simulation.teaching import NULLS, at_most, gain, line_of_uses, new_skill_loop, revision_loop
from tools.simulation.wordy import wordy_loop

from upskill.core.nouns import estimate_tokens
from upskill.generation.refine import Effort


def test_teacher_whose_revisions_are_never_better_is_rarely_believed() -> None:
    claims = {}
    for name, draw in NULLS.items():
        rng = random.Random(name)
        claims[name] = sum(new_skill_loop(rng, draw).claims for _ in range(50))
    assert sum(claims.values()) <= 18, claims


def test_search_does_not_make_it_believed_more_often() -> None:
    rng = random.Random(0)
    loops = [new_skill_loop(rng, NULLS["half"], effort="high") for _ in range(20)]
    assert sum(loop.claims for loop in loops) <= at_most(20, 0.05)
    assert all(len(loop.questions) <= 12 for loop in loops)
    # As many trials on learn cases as three revisions take, the first draft and its baseline apart.
    assert all(sum(len(attempt.passed) for attempt in loop.refined.attempts) <= 40 for loop in loops)


def test_learning_the_learn_cases_by_heart_proves_nothing() -> None:
    rng = random.Random(1)
    loops = [new_skill_loop(rng, NULLS["half"], memorised=0.15) for _ in range(40)]
    gained = sum(loop.refined.best.passes - loop.refined.attempts[0].passes for loop in loops)
    assert gained / len(loops) > 1.5, "the revisions did look better where the teacher could see"
    assert sum(loop.claims for loop in loops) <= at_most(40, 0.05)


def test_five_revisions_that_are_no_better_on_the_same_held_out_cases_seldom_get_through() -> None:
    rng = random.Random(2)
    assert sum(line_of_uses(rng, NULLS["half"]) is not None for _ in range(20)) <= at_most(20, 0.05)


def test_revision_that_is_better_replaces_the_old_version() -> None:
    rng = random.Random(3)
    assert sum(revision_loop(rng, gain(0.35)).proof.proven for _ in range(40)) >= 35


def test_revision_that_breaks_a_case_does_not() -> None:
    rng = random.Random(4)
    loops = [revision_loop(rng, gain(0.45), broken=True) for _ in range(30)]
    better = [loop for loop in loops if loop.proof.students[0].is_shown]
    assert len(better) >= 15, "on the whole it is better, and the mean alone would let it through"
    assert sum(loop.proof.proven for loop in loops) <= 2
    assert sum("but it breaks 1 case: held-out-01" in loop.proof.sentence for loop in better) >= len(better) - 2


@pytest.mark.parametrize("effort", ["low", "high"])
def test_teacher_is_never_told_of_a_held_out_or_negative_case(effort: Effort) -> None:
    loop = new_skill_loop(random.Random(5), NULLS["half"], effort=effort)
    assert loop.questions
    told = "\n".join(
        f"{question.system}\n{message.text}" for question in loop.questions for message in question.messages
    )
    assert "learn task " in told
    assert "held-out" not in told
    assert "negative" not in told


def test_wordy_teacher_always_leaves_a_draft_that_fits() -> None:
    for number in range(12):
        loop = wordy_loop(random.Random(number))
        assert 0 < estimate_tokens(loop.refined.best.draft.body) <= loop.budget
