"""What a `generate` will take, before anything is bought: the teacher's share and the students' apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from upskill.core import statistics
from upskill.core.cases.split import CaseCounts
from upskill.core.models import Endpoint
from upskill.core.models.spending import MOST_OUTPUT_TOKENS
from upskill.core.models.teacher_answers import REPAIRS
from upskill.core.nouns import DEFAULT_HARNESS, Student, TrialPlan, estimate_tokens, harness_info
from upskill.core.settings import Settings
from upskill.core.trials.harness import load_harness
from upskill.core.trials.trial_run import TrialLimits
from upskill.evaluation.estimate import (
    EXPECTED_ANSWER_TOKENS,
    EXPECTED_SHARE,
    Estimate,
    seconds_per_call,
)
from upskill.generation.aptitude import most_rounds
from upskill.generation.drafting import SHORTENINGS
from upskill.generation.material import Material
from upskill.generation.revising import OTHERS
from upskill.generation.written_case import MOST_TURNS

PROMPT_TOKENS = 2_000
"""Instructions around the material."""
FACT_TOKENS = 80
"""One fact of the plan that cases are written from."""
CASE_TOKENS = 350
"""One case with its reference and wrong answers."""
DRAFT_TOKENS = 2_500
REVISION_TOKENS = 1_500
DESCRIPTION_TOKENS = 400
FAILURES_TOKENS = 4_000
"""What a teacher is shown of failures for one revision."""
TOKENS_PER_SECOND = 60
"""How fast a large model writes."""
STUDENT_PROMPT_TOKENS = 1_200
"""Frame, skill and task; the skill is not written yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingEstimate:
    """Both shares. Retries are not counted."""

    teacher: Estimate
    students: Estimate | None
    """`None` where nothing is measured."""
    cap: float | None
    """Dollars at which spending ends."""

    @property
    def price_at_most(self) -> float:
        """Dollars, as far as prices are known, and never more than the cap."""
        known = sum(share.price_at_most or 0.0 for share in (self.teacher, self.students) if share is not None)
        return known if self.cap is None else min(known, self.cap)

    @property
    def minutes_expected(self) -> float:
        """As far as it is known. At most it can be many times that, if every answer must be repaired."""
        return sum(share.minutes_expected or 0.0 for share in (self.teacher, self.students) if share is not None)


@dataclass(frozen=True, kw_only=True, slots=True)
class HandoffEstimate(Estimate):
    """The share of a teacher by hand-off: how long it takes, nobody knows."""

    @property
    def duration(self) -> str:
        return "as long as the answers take"


@dataclass(frozen=True, kw_only=True, slots=True)
class TeachingWorkload:
    """What the estimate of a `generate` is made from."""

    material: Material
    counts: CaseCounts
    """The cases that students get, whoever wrote them."""
    cases_to_write: int
    """How many of them a teacher writes."""
    drafts: bool
    """Whether a first draft is written; an existing skill may begin as it is."""
    lessons: int
    """Questions for lessons."""
    revisions: int
    proposals_per_revision: int = 1
    plan: int = 0
    """Questions for a plan of facts."""
    passages: bool = False
    """Whether cases name the passage that they rest on, so that the ceiling is measured."""
    presentations: int = 0
    """Other presentations of the draft that are expected to be measured, since the student is small."""
    evaluates: bool = True
    harness: str = DEFAULT_HARNESS


def estimate_teaching(
    teaching: TeachingWorkload, *, teacher: Endpoint, writer: Endpoint, students: Sequence[Student], settings: Settings
) -> TeachingEstimate:
    """Expected, and at most: every answer repaired as often as is allowed, every revision made, every trial run."""
    return TeachingEstimate(
        teacher=_teacher(teaching, teacher, writer),
        students=_students(teaching, students, settings) if teaching.evaluates else None,
        cap=settings.max_cost,
    )


def _teacher(teaching: TeachingWorkload, teacher: Endpoint, writer: Endpoint) -> Estimate:
    seen = PROMPT_TOKENS + _material_tokens(teaching.material)
    cases = teaching.cases_to_write
    # One call for each ten cases, and for the held-out ones of each later session.
    later = min(len(teaching.material.later or ()), teaching.counts.held_out if cases else 0)
    writings = -(-(cases - (teaching.counts.held_out if later else 0)) // 10) + later
    revisions = teaching.revisions * teaching.proposals_per_revision if teaching.evaluates else 0
    asked_for_plan = max(1, teaching.plan)
    shown, most_shown = _presentations(teaching)
    # What is too long is asked for again without repairs, which the loop below counts.
    shortenings = -(-SHORTENINGS * (most_shown + revisions + teaching.drafts) // (1 + REPAIRS))
    asked: list[_Asked] = [
        (teacher, teaching.lessons, teaching.lessons, seen // max(1, teaching.lessons), 800),
        (writer, teaching.plan, teaching.plan, seen // asked_for_plan, FACT_TOKENS * cases // asked_for_plan),
        (writer, writings, 3 * writings, seen, CASE_TOKENS * -(-cases // max(1, writings))),
        (teacher, teaching.drafts, teaching.drafts, seen, DRAFT_TOKENS),
        (teacher, min(1, shown), min(1, most_shown), PROMPT_TOKENS + DRAFT_TOKENS, 2 * DRAFT_TOKENS),
        (teacher, 0, shortenings, PROMPT_TOKENS + DRAFT_TOKENS, DRAFT_TOKENS),
        (teacher, min(1, revisions), revisions, PROMPT_TOKENS + DRAFT_TOKENS + FAILURES_TOKENS, REVISION_TOKENS),
    ]
    return _questions(asked)


def estimate_descriptions(material: Material, *, revisions: int, teacher: Endpoint) -> Estimate:
    """The teacher's share where only a description is revised."""
    sent = PROMPT_TOKENS + _material_tokens(material) + FAILURES_TOKENS
    return _questions([(teacher, min(1, revisions), revisions, sent, DESCRIPTION_TOKENS)])


_Asked = tuple[Endpoint, int, int, int, int]
"""The model that is asked, how often it is expected and at most, tokens in, tokens out."""


def _questions(asked: Sequence[_Asked]) -> Estimate:
    expected: float | None = 0.0
    at_most: float | None = 0.0
    calls = most_calls = seconds = most_seconds = 0.0
    personal = False
    for who, usual, most, sent, received in asked:
        calls += usual
        most_calls += most * (1 + REPAIRS)
        seconds += usual * received / TOKENS_PER_SECOND
        most_seconds += most * (1 + REPAIRS) * received / TOKENS_PER_SECOND
        if not most:
            continue
        personal = personal or who.is_handoff
        if who.price is None or expected is None or at_most is None:
            expected = at_most = None
            continue
        expected += usual * who.price.of(input_tokens=sent, output_tokens=received)
        longest = MOST_OUTPUT_TOKENS
        mended = who.price.of(input_tokens=sent + longest, output_tokens=longest)
        at_most += most * (1 + REPAIRS) * mended
    scripted = all(who.is_scripted for who, *_ in asked)
    kind = HandoffEstimate if personal else Estimate
    return kind(
        calls_expected=int(calls),
        calls_at_most=int(most_calls),
        price_expected=expected,
        price_at_most=at_most,
        minutes_expected=None if personal else 0.0 if scripted else seconds / 60,
        minutes_at_most=None if personal else 0.0 if scripted else most_seconds / 60,
    )


def _students(teaching: TeachingWorkload, students: Sequence[Student], settings: Settings) -> Estimate:
    trials, most_trials = _trials_of_a_student(teaching)
    harness = load_harness(teaching.harness)
    trial_limits = TrialLimits(turns=settings.max_turns, tokens=settings.max_trial_tokens)
    # Cases may turn out to be conversations. What limits a trial with tools limits all its turns together.
    talks = any(one.has_dialogues for one in (teaching.material, *(teaching.material.later or {}).values()))
    spoken = MOST_TURNS if talks and not harness_info(teaching.harness).with_tools else 1
    calls = most_calls = 0.0
    expected: float | None = 0.0
    at_most: float | None = 0.0
    for student in students:
        longest = student.max_output_tokens or EXPECTED_ANSWER_TOKENS
        received = min(longest, EXPECTED_ANSWER_TOKENS)
        usual = harness.expected(
            1, prompt_tokens=STUDENT_PROMPT_TOKENS, answer_tokens=received, trial_limits=trial_limits
        )
        most = harness.at_most(
            spoken,
            prompt_tokens=2 * spoken * STUDENT_PROMPT_TOKENS + spoken * (spoken - 1) // 2 * longest,
            answer_tokens=longest,
            trial_limits=trial_limits,
        )
        calls += trials * usual.turns
        most_calls += most_trials * spoken * most.turns
        if student.price is None or expected is None or at_most is None:
            expected = at_most = None
            continue
        expected += trials * usual.turns * student.price.of(input_tokens=STUDENT_PROMPT_TOKENS, output_tokens=received)
        at_most += most_trials * most.cost(student.price)
    pace = _pace(students, settings)
    return Estimate(
        calls_expected=round(calls),
        calls_at_most=round(most_calls),
        price_expected=expected,
        price_at_most=at_most,
        minutes_expected=None if pace is None else calls * pace / 60,
        minutes_at_most=None if pace is None else most_calls * pace / 60,
    )


def _trials_of_a_student(teaching: TeachingWorkload) -> tuple[float, int]:
    """Expected, and at most: every revision made, no decision before the last round, every case suspected."""
    counts, old = teaching.counts, teaching.material.skill is not None
    # Besides the baseline, which is bought once for the learn cases.
    given = len(harness_info(teaching.harness).arms) - 1
    compared = 2 if old else 1 + given
    change = 1 if old and teaching.drafts else 0
    shown, most_shown = _presentations(teaching)
    learn = counts.learn * (1 + given * (1 + shown + max(change, min(1, teaching.revisions))))
    learn_most = counts.learn * (1 + given * (1 + most_shown + max(change, teaching.revisions)))
    learn += counts.learn * teaching.passages
    learn_most += _most_aptitude(teaching)
    if not counts.held_out:
        return learn, learn_most
    held_out_most = compared * statistics.most_repeats(counts.held_out) * counts.held_out
    # Two versions are compared in the rounds of a gate, which the guard finds again.
    held_out = compared * statistics.GATE_ROUNDS * counts.held_out if old else held_out_most * EXPECTED_SHARE
    guard = compared * statistics.GATE_ROUNDS * counts.negative
    guard_most = compared * statistics.GATE_REPEATS * (counts.negative + counts.held_out)
    return learn + held_out + guard, learn_most + held_out_most + guard_most


def _most_aptitude(teaching: TeachingWorkload) -> int:
    """Trials of a student before anything is drafted, besides the baseline that learn stages use again."""
    learn = teaching.counts.learn
    if not learn:
        return 0
    trials = learn * (2 * most_rounds(learn) - 1) if teaching.passages else 0
    # With tools that it turns out not to use, one round was for nothing.
    return trials + (learn * (1 + teaching.passages) if harness_info(teaching.harness).with_tools else 0)


def _presentations(teaching: TeachingWorkload) -> tuple[int, int]:
    """How many other presentations are measured: expected, and at most, if the first draft fails. A skill that is
    improved keeps its own."""
    possible = teaching.evaluates and teaching.material.skill is None and teaching.counts.learn > 0
    return (teaching.presentations, len(OTHERS)) if possible else (0, 0)


def _pace(students: Sequence[Student], settings: Settings) -> float | None:
    if all(student.model.startswith("scripted/") for student in students):
        return 0.01
    plan = TrialPlan(cases=(), students=tuple(students), arms=("baseline", "with_skill"), repeats=1)
    return seconds_per_call(plan.students, plan.harness, Path(settings.runs_dir))


def _material_tokens(material: Material) -> int:
    texts = [material.task, *material.examples, *(document.text for document in material.documents)]
    if material.digest is not None:
        texts.append(material.digest.text)
    if material.skill is not None:
        texts.append(material.skill.body)
    return sum(map(estimate_tokens, texts))
