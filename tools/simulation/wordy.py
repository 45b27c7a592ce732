"""Loops with a teacher that writes far too much, and students with small windows: whether a draft is always left.

The code of the product drafts, shortens, cuts, presents and revises; only the teacher and the student are made up.
"""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tools.simulation.student import SimulatedMeasure, make_cases
from upskill.core.cases.skill_meta import Aptitude
from upskill.core.models import Question, Reply
from upskill.core.nouns import Case, estimate_tokens
from upskill.errors import WindowExceeded
from upskill.generation.draft import Draft
from upskill.generation.drafting import draft_skill
from upskill.generation.material import Assignment, Material
from upskill.generation.measure import Measurement
from upskill.generation.refine import RefineResult, refine
from upskill.generation.student import StudentProfile

LEARN = make_cases(6, "learn")
_WINDOWS = (512, 1_024, 2_048, 8_192)


class WordyTeacher:
    """Writes many times what it may, shortens badly or not at all, and sometimes answers with prose."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self.questions: list[Question] = []

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]:
        """One answer per question."""
        self.questions += questions
        return tuple(Reply(text=self._answer(question)) for question in questions)

    def _answer(self, question: Question) -> str:
        if question.purpose != "draft" and self._rng.random() < 0.2:
            return "I would rather not shorten anything."
        said: dict[str, object] = {"sections": self._sections(), "drop_first": ["Part 3", "Part 9", "Part 1"]}
        if question.purpose == "draft":
            said |= {"name": "wordy", "description": "Knows everything. Use when anything is asked.", "references": []}
        elif question.purpose == "presentation":
            forms = self._rng.sample(("examples", "questions", "table"), self._rng.randint(1, 3))
            said = {"presentations": [{"form": form, "sections": self._sections()} for form in forms]}
        elif question.purpose == "revision":
            edit = {"file": "SKILL.md", "action": "insert", "text": self._text(), "why": "more is better"}
            said = {"cause": "too little was said", "edits": [edit]}
            if "sections" in str(question.schema) and self._rng.random() < 0.5:
                said = {"cause": "too little was said", "edits": [], "sections": self._sections()}
        return json.dumps(said)

    def _sections(self) -> list[dict[str, object]]:
        number = self._rng.randint(1, 5)
        return [{"heading": f"Part {part}", "text": self._text(), "sources": []} for part in range(1, number + 1)]

    def _text(self) -> str:
        """Items, one endless line, or a code block, of up to some thousand tokens."""
        words = self._rng.choice((10, 40, 160, 640))
        form = self._rng.choice(("- rule {} holds here\n", "word{} ", "```\nkey_{} = 1\n```\n\n", "Fact {}.\n\n"))
        return "".join(form.format(number) for number in range(words))


@dataclass(frozen=True, kw_only=True, slots=True)
class WordyLoop:
    """One loop: the best draft that was left, and what it took."""

    refined: RefineResult
    budget: int
    window: int
    questions: tuple[Question, ...]


def wordy_loop(rng: random.Random) -> WordyLoop:
    """Draft, present and revise for a student with a small window. Raises where nothing would be saved.

    In half of the loops tokens are estimated too low, so that drafts within the budget do not fit the window.
    """
    window, teacher = rng.choice(_WINDOWS), WordyTeacher(rng)
    true_tokens = rng.choice((1.0, 1.4))
    budget = max(32, min(1_200, window - 3 * (window // 5) - 100))
    aptitude = Aptitude(
        student="student",
        harness="chat",
        baseline=0.0,
        ceiling=0.5,
        lift=None,
        reachable=tuple(case.id for case in LEARN[: rng.randint(0, len(LEARN))]),
        trials=12,
    )
    profile = StudentProfile(
        names=("student",),
        window=window,
        output_tokens=window // 8,
        harness="chat",
        case_tokens=window // 5,
        skill_tokens=budget,
        aptitudes=(aptitude,),
    )
    simulated = SimulatedMeasure(lambda _, draft, case: 0.0 if draft is None else rng.random(), rng)

    def measure(stage: str, draft: Draft, cases: Sequence[Case], **options: object) -> Measurement:
        if estimate_tokens(draft.body) * true_tokens > budget:
            raise WindowExceeded("the skill does not fit")
        return simulated(stage, draft, cases, **options)  # type: ignore[arg-type]

    material = Material(task="know everything")
    ask_window = rng.choice((None, 8_192))
    assignment = Assignment(ask=teacher, material=material, profile=profile, window=ask_window, clean=str)
    draft = draft_skill(assignment)
    refined = refine(
        draft,
        cases=LEARN,
        measure=measure,
        assignment=replace(assignment, material=replace(material, examples=("x",))),
        effort=rng.choice(("low", "high")),
    )
    return WordyLoop(refined=refined, budget=budget, window=window, questions=tuple(teacher.questions))
