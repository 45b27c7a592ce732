"""One simulated evaluation: answers are drawn, and the product's own schedule and conclusion do the rest."""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from upskill.core.nouns import Arm, Case, CheckResult, Grade, Scored, Student, StudentReport, Trial, TrialPlan
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.plan import Design
from upskill.core.statistics import FIRST_LOOK, GATE_REPEATS, most_repeats
from upskill.core.trials.schedule import Schedule
from upskill.evaluation.conclude import conclude

_GRADES = {passed: Grade(results=(CheckResult(kind="contains", passed=passed, saw=""),)) for passed in (True, False)}
_SCORED = {passed: Scored(end="answered", grade=grade) for passed, grade in _GRADES.items()}
_STUDENT = Student(name="student", model="student")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a simulated student gives: whether it passes, its text, and how many answers were lost before it came."""

    passed: bool
    text: str = ""
    lost: int = 0


Answers = Callable[[int, Arm, int], Answer]
"""By case, arm and repeat; asked again it gives the same answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated:
    """What came of it."""

    report: StudentReport
    calls: int
    """Answers that were bought."""
    trials: tuple[Trial, ...] = field(repr=False)

    @property
    def helps(self) -> bool:
        """Whether new cases are said to be helped."""
        return (self.report.verdict, self.report.claim) == ("helps", "new cases")

    @property
    def hurts(self) -> bool:
        """Whether new cases are said to be hurt."""
        return (self.report.verdict, self.report.claim) == ("hurts", "new cases")


def evaluate(
    answers: Answers,
    *,
    cases: Sequence[int],
    families: Sequence[int | None] = (),
    design: Design = "two looks",
    repeats: int | None = None,
    deterministic: bool = False,
    terms: LookTerms = FIRST_LOOK,
) -> Simulated:
    """`upskill eval` on these cases, with the default design; `repeats` is that of `--runs N`.

    `families` names the family of each case, where it has one. `deterministic`: temperature 0 was typed.
    """
    plan = TrialPlan(
        cases=tuple(
            Case(id=f"case{number:04}", prompt="", checks=(), family=_family(families, place))
            for place, number in enumerate(cases)
        ),
        students=(replace(_STUDENT, temperature=0.0 if deterministic else None),),
        arms=("previous", "with_skill") if design == "gate" else ("baseline", "with_skill"),
        repeats=repeats or {"fixed": 1, "two looks": most_repeats(len(cases)), "gate": GATE_REPEATS}[design],
        design=design,
    )
    schedule = Schedule(plan, terms=terms)
    trials: list[Trial] = []
    while (turn := schedule.take()) is not None:
        pair = {arm: _trial(turn.case.id, arm, turn.repeat, answers) for arm in plan.arms}
        trials += pair.values()
        schedule.ended(turn, pair)
    report = conclude(plan.students[0], plan, schedule, trials, terms=terms)
    return Simulated(report=report, calls=len(trials), trials=tuple(trials))


def _family(families: Sequence[int | None], place: int) -> str | None:
    family = families[place] if families else None
    return None if family is None else f"family{family}"


def _trial(case_id: str, arm: Arm, repeat: int, answers: Answers) -> Trial:
    answer = answers(int(case_id[4:]), arm, repeat)
    return Trial(
        id=f"{case_id}/{arm}/{repeat}",
        student="student",
        case_id=case_id,
        arm=arm,
        repeat=repeat,
        outcome=_SCORED[answer.passed],
        kept_digest=answer.text,
        lost=answer.lost,
        calls=1,
    )


def remembered(draw: Callable[[int, Arm, int], Answer]) -> Answers:
    """Answers that are drawn once, and come again where they are asked for again."""
    known: dict[tuple[int, Arm, int], Answer] = {}

    def answer(case: int, arm: Arm, repeat: int) -> Answer:
        key = case, arm, repeat
        if key not in known:
            known[key] = draw(case, arm, repeat)
        return known[key]

    return answer


def by_rates(rng: random.Random, rates: Sequence[tuple[float, float]]) -> Answers:
    """A student that samples: each answer is drawn by the pass rates of its case, without the skill and with it."""

    def draw(case: int, arm: Arm, repeat: int) -> Answer:  # noqa: ARG001 - the signature of answers
        base, skilled = rates[case]
        passed = rng.random() < (skilled if arm == "with_skill" else base)
        return Answer(passed=passed, text=f"{rng.random()}")

    return remembered(draw)


def nearly_the_same(rng: random.Random, grades: Sequence[tuple[bool, bool]], *, flips: float) -> Answers:
    """A student that nearly repeats itself: of its grades so many flip, and the words differ where any may."""

    def draw(case: int, arm: Arm, repeat: int) -> Answer:  # noqa: ARG001 - the signature of answers
        without, skilled = grades[case]
        usual = skilled if arm == "with_skill" else without
        passed = usual ^ (rng.random() < flips)
        return Answer(passed=passed, text=f"{rng.random()}" if flips else f"{arm}{case}")

    return remembered(draw)
