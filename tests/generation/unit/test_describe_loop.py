"""A description is revised on practice prompts and tested on held-out ones, with models that decide by a rule."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest

from generation.unit.teaching.scripted_teacher import Teacher
from upskill.core.models import Question
from upskill.core.nouns.look import case_key
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt, TriggerScore
from upskill.core.statistics.triggering import score_triggering
from upskill.generation.description import TriggerMeasurement, all_together, prove_description, refine_description
from upskill.generation.draft import Draft

VAGUE, GOOD, ALL = "Helps with water.", "Calibrates tide gauges.", "Use for everything."
NARROW = "Calibrates tide gauges in winter."
SKILL = Draft(name="gauge-care", description=VAGUE, body="Turn the brass screw.\n")
Rule = Callable[[str, TriggerPrompt], bool]


def prompts(use: str, each: int = 10) -> tuple[TriggerPrompt, ...]:
    return tuple(
        TriggerPrompt(
            id=f"{use}-{kind}-{n}",
            prompt=f"{use} {kind} {n}",
            should_load=kind,
            use="learn" if use == "p" else "held-out",
        )
        for n in range(each)
        for kind in (True, False)
    )


PRACTICE, HELD_OUT = prompts("p"), prompts("h")


def decides(description: str, prompt: TriggerPrompt) -> bool:
    """The models' rule: a good description is right, a vague one loads one in ten, a narrow one half."""
    number = int(prompt.id.rpartition("-")[2])
    return {
        GOOD: prompt.should_load,
        ALL: True,
        NARROW: prompt.should_load and number < 5,
        VAGUE: prompt.should_load and number < 1,
    }.get(description, False)


class Models:
    """Measures by a rule, and keeps what it was asked for."""

    def __init__(self, *names: str, rules: Mapping[str, Rule] | None = None, cut_at: str | None = None) -> None:
        self._rules = {name: (rules or {}).get(name, decides) for name in names or ("m",)}
        self._cut_at = cut_at
        self.stages: list[tuple[str, str]] = []

    def __call__(self, stage: str, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerMeasurement:
        self.stages.append((stage, description))
        scores = tuple(self._score(name, rule, description, prompts) for name, rule in self._rules.items())
        cut = "stopped at the cap of $1.00" if stage == self._cut_at else None
        return TriggerMeasurement(scores=scores, draft=f"drafts/{stage}", cut_short=cut)

    @staticmethod
    def _score(name: str, rule: Rule, description: str, prompts: Sequence[TriggerPrompt]) -> TriggerScore:
        tallies = [PromptTally(prompt=one, answers=1, loads=int(rule(description, one))) for one in prompts]
        return score_triggering(tallies, student=name, harness="agent")


def said(*descriptions: str) -> Teacher:
    return Teacher(*(json.dumps({"cause": "x", "description": one}) for one in descriptions))


def test_a_vague_description_becomes_a_good_one_and_the_catch_all_in_between_is_not_chosen() -> None:
    models, teacher = Models(), said(ALL, GOOD)
    refined = refine_description(SKILL, prompts=PRACTICE, measure=models, ask=teacher, revisions=5)
    assert refined.best.description == GOOD
    assert [(one.description, one.chosen, one.right) for one in refined.attempts] == [
        (VAGUE, False, 11),
        (ALL, False, 10),
        (GOOD, True, 20),
    ]
    assert refined.attempts[1].j == 0
    assert refined.stopped == "every practice prompt was decided rightly"
    assert models.stages == [("learn-1", VAGUE), ("learn-2", ALL), ("learn-3", GOOD)]
    # The second question is about the best so far, and names what was tried.
    second = teacher.asked[1].messages[0].text
    assert second.index(VAGUE) < second.index("What was tried") < second.index(ALL)
    assert "m: recall 100%, loaded on near misses 100%" in second


def test_nothing_is_asked_of_a_teacher_where_nothing_is_wrong() -> None:
    teacher = said(ALL)
    refined = refine_description(
        replace(SKILL, description=GOOD), prompts=PRACTICE, measure=Models(), ask=teacher, revisions=3
    )
    assert (refined.best.number, len(refined.attempts), teacher.asked) == (1, 1, [])


def test_revising_ends_with_its_number_with_an_unusable_teacher_and_with_a_cap() -> None:
    often = refine_description(
        SKILL, prompts=PRACTICE, measure=Models(), ask=said(NARROW, "A.", "B.", "C."), revisions=3
    )
    assert (often.best.description, often.stopped, often.cut_short) == (NARROW, "3 revisions measured", False)
    useless = refine_description(SKILL, prompts=PRACTICE, measure=Models(), ask=Teacher("no"), revisions=3)
    assert useless.best.number == 1
    assert "no usable answer" in useless.stopped
    cut = refine_description(
        SKILL, prompts=PRACTICE, measure=Models(cut_at="learn-2"), ask=said(GOOD, ALL), revisions=3
    )
    assert (cut.best.number, cut.stopped, cut.cut_short) == (1, "stopped at the cap of $1.00", True)


def test_the_teacher_sees_all_models_together_and_no_held_out_prompt() -> None:
    teacher = said(GOOD)
    models = Models("a", "b", rules={"b": lambda _, prompt: not prompt.should_load})
    refine_description(SKILL, prompts=PRACTICE, measure=models, ask=teacher, revisions=1)
    message = teacher.asked[0].messages[0].text
    assert "- a: recall 10%" in message
    assert "- b: recall 0%, loaded on near misses 100%" in message
    assert "Loaded in 1 of 2 answers" in message
    assert not any(prompt.prompt in message for prompt in HELD_OUT)
    together = all_together(models("x", VAGUE, PRACTICE).scores)
    assert len(together) == len(PRACTICE)
    assert all(one.answers == 2 for one in together)


def test_a_better_description_is_proven_and_each_model_has_its_claim() -> None:
    models = Models()
    proof = prove_description(VAGUE, GOOD, held_out=HELD_OUT, measure=models)
    assert proof.proven
    assert models.stages == [("held-out-old", VAGUE), ("held-out-new", GOOD)]
    assert proof.reason.startswith("the new one is better: +45 points of right decisions (95% CI +")
    assert proof.reason.endswith("on 20 held-out prompts; recall 10% → 100%, loaded on near misses 0% → 0%")
    (claim,) = proof.claims
    assert (claim.status, claim.claim) == ("helps", "new cases")
    assert proof.held_out == tuple(sorted(case_key(one.as_case) for one in HELD_OUT))


@pytest.mark.parametrize(
    ("new", "words"),
    [(ALL, "loads the skill on more near misses"), ("Nothing.", "was not shown to be better"), (VAGUE, "not shown")],
    ids=["catch-all", "never", "the same"],
)
def test_what_is_not_better_is_not_accepted(new: str, words: str) -> None:
    proof = prove_description(VAGUE, new, held_out=HELD_OUT, measure=Models())
    assert not proof.proven
    assert words in proof.reason
    assert proof.claims[0].status in ("hurts", "undecided", "no difference")


def test_one_model_that_gets_worse_keeps_the_old_description() -> None:
    worse: Rule = lambda description, prompt: prompt.should_load is (description == VAGUE)  # noqa: E731
    proof = prove_description(VAGUE, GOOD, held_out=HELD_OUT, measure=Models("a", "b", rules={"b": worse}))
    assert not proof.proven
    assert proof.reason == "the new one is better in 1 of 2 comparisons and worse in 1 (2 models, 20 held-out prompts)"
    assert [claim.status for claim in proof.claims] == ["helps", "hurts"]


def test_a_cap_during_the_test_proves_nothing() -> None:
    proof = prove_description(VAGUE, GOOD, held_out=HELD_OUT, measure=Models(cut_at="held-out-new"))
    assert not proof.proven
    assert proof.reason.startswith(
        "stopped at the cap of $1.00 before all held-out prompts were asked; so far, the new"
    )


def test_a_second_look_is_stricter() -> None:
    first = prove_description(VAGUE, NARROW, held_out=prompts("h", 12), measure=Models())
    later = prove_description(VAGUE, NARROW, held_out=prompts("h", 12), measure=Models(), earlier=(False, False, False))
    assert "(stricter threshold: 4th look at these prompts)" in later.reason
    for one, other in zip(first.comparisons, later.comparisons, strict=True):
        assert one.lift is not None
        assert other.lift is not None
        assert one.lift.confidence < other.lift.confidence


def test_a_question_is_of_its_own_kind() -> None:
    asked: list[Question] = []

    def ask(question: Question) -> str:
        asked.append(question)
        return json.dumps({"cause": "x", "description": GOOD})

    refine_description(SKILL, prompts=PRACTICE, measure=Models(), ask=Teacher(ask), revisions=1)
    assert [one.purpose for one in asked] == ["description"]
