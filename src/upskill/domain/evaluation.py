"""The result of an evaluation, ready to be reported in any format, and the summary of an earlier run."""

from dataclasses import dataclass
from typing import Literal

from upskill.domain.case import Qualification
from upskill.domain.judge_error import JudgeError
from upskill.domain.lift import Interval, LabelLift, Lift, Verdict
from upskill.domain.plan import Design
from upskill.domain.run_end import RunEnd, StudentEnd
from upskill.domain.skill import Skill
from upskill.domain.student import Student
from upskill.domain.trial import Arm
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN

Required = Literal["helps", "helps-here"]
"""What can be required of every student: that it is helped on new cases of this kind, or at least on these cases."""


def meets(required: Required, *, verdict: str | None, claim: str | None) -> bool:
    """Whether a verdict, with how far it reaches, is what was required."""
    return verdict == "helps" and (required == "helps-here" or claim == "cases like these")


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSummary:
    """What one student did in one arm. Rates are `None` where nothing was scored."""

    arm: Arm
    trials: int
    """Scored trials."""
    passed: int
    errored: int
    faults: tuple[tuple[str, int], ...]
    """The faults behind the errored trials, most frequent first."""
    checks_passed: float | None
    """Mean number of checks passed per scored trial."""
    checks: float | None
    """Mean number of checks per scored trial."""
    tokens: float | None
    """Mean tokens per scored trial."""
    cost: float | None
    """Mean cost per scored trial, in dollars."""
    spent: float | None
    """Dollars for everything bought in this arm; trials from the store cost nothing."""
    runs: int
    """Repeats in which every case was scored."""
    runs_all_passed: int
    """Repeats in which every case passed."""
    turns: float | None = None
    """Mean answers of the model per scored trial; `None` where the harness does not count them."""
    loaded: int | None = None
    """Scored trials in which the skill reached the student, given or read; `None` where there was none to load."""
    skill_files: tuple[tuple[str, int], ...] = ()
    """Which files of the skill were read or run, and in how many scored trials, most frequent first."""
    lost: int = 0
    """Answers that were lost on the way, retries and earlier tries included."""
    refused: int = 0
    """Requests that were turned away before an answer began."""
    asked_cases: int | None = None
    """How many cases are put in this arm: those without a passage have no ceiling. `None` in results of earlier
    versions."""

    @property
    def pass_rate(self) -> float | None:
        """The share of scored trials that passed."""
        return self.passed / self.trials if self.trials else None

    @property
    def load_rate(self) -> float | None:
        """The share of scored trials in which the skill reached the student."""
        return self.loaded / self.trials if self.trials and self.loaded is not None else None


def shown_interval(*, claim: str | None, these_cases: Interval, cases_like_these: Interval | None) -> Interval:
    """The one interval that stands beside a lift wherever a single one is shown: the one that the verdict rests on.

    That is the one for cases like these, unless there is none or the verdict speaks of these cases only.
    """
    return these_cases if claim == "these cases" or cases_like_these is None else cases_like_these


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentReport:
    """Everything said about one student."""

    student: Student
    harness: str
    verdict: Verdict | None
    """`None` where nothing was compared: a run without a baseline."""
    sentence: str
    arms: tuple[ArmSummary, ...]
    lifts: tuple[Lift, ...]
    """First the one that the verdict is about; then, for students with tools, what the skill does once it is given; and
    the ceiling, where it was run beside them."""
    spent: float | None
    """Dollars for all calls of this student, errored ones included; `None` if the price is unknown."""
    claim: str | None = None
    """How far the verdict reaches: to cases like these, or to these cases; `None` where nothing is claimed."""
    stopped: str | None = None
    """Why a sequential design stopped; `None` for a fixed one."""
    end: StudentEnd = "plan finished"
    """Why no more of its trials were run, whatever the design."""
    clears: bool | None = None
    """Whether the lift that was asked for is shown, or excluded (`False`); `None` if neither."""
    label_lifts: tuple[LabelLift, ...] = ()
    """The lift over the cases of each label, where something was compared."""
    holds_among: bool | None = None
    """Whether `helps` is also shown with the level divided by the number of models; `None` where it is not claimed, or
    for one model."""
    late: int = 0
    """Trials that were in flight when the decision fell: paid and kept, and not counted."""
    judge_error: JudgeError | None = None
    """How often the judge errs, and the lift corrected for that; `None` where nothing was judged or compared."""
    earlier_pairs: int = 0
    """Pairs of earlier looks at the same skill that the lift counts too."""
    answered_by: tuple[str, ...] = ()
    """What a server called the model that answered, where that is not the name it was asked by."""

    @property
    def compared(self) -> tuple[Arm, Arm]:
        """The arm that the verdict is about, and the arm it is measured against, whether or not that was run."""
        if len(self.arms) > 1:
            return self.arms[1].arm, self.arms[0].arm
        return (self.arms[0].arm if self.arms else "with_skill"), "baseline"

    def rate(self, name: Arm) -> float | None:
        """The pass rate of an arm as it stands beside a lift: over the very pairs that the lift is made of.

        Of arms without a lift, and in results of earlier versions, it is the rate over all scored trials.
        """
        for lift in self.lifts:
            if name in (lift.arm, lift.against) and lift.rate is not None:
                return lift.rate if name == lift.arm else lift.rate_against
        arm = self.arm(name)
        return None if arm is None else arm.pass_rate

    @property
    def ceiling(self) -> Lift | None:
        """What the passage itself does in the prompt, measured beside a skill; `None` where that was not measured."""
        return next((lift for lift in self.lifts[1:] if lift.arm == "ceiling"), None)

    @property
    def interval(self) -> Interval | None:
        """The interval that the verdict rests on; `None` where nothing was compared."""
        if not self.lifts:
            return None
        lift = self.lifts[0]
        return shown_interval(claim=self.claim, these_cases=lift.these_cases, cases_like_these=lift.cases_like_these)

    def arm(self, name: Arm) -> ArmSummary | None:
        """What the student did in one arm; `None` where that arm was not run."""
        return next((summary for summary in self.arms if summary.arm == name), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Purchase:
    """What a whole evaluation took from the person who pays."""

    calls: int
    """Requests sent, retries included."""
    failed_calls: int
    """Requests that brought no answer."""
    tokens: int
    """In and out together, estimated where a provider did not say."""
    cost: float | None
    """Dollars; `None` where a price is unknown."""
    lost: float = 0.0
    """Dollars, estimated, for requests that brought no answer."""
    reused: int = 0
    """Trials taken from the trial store instead of being bought."""
    oldest_reused_days: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReport:
    """The model that judged, and how far it agrees with the checks that need no judge."""

    model: str
    judged: int
    """Scored trials that it judged."""
    compared: int
    """Those of them that other checks looked at too."""
    agreed: int
    """Those where the judge and the other checks came to the same result."""
    calls: int
    """Requests sent to it, retries included."""
    cost: float | None
    """Dollars; `None` where a price is unknown."""

    @property
    def agreement(self) -> float | None:
        """The share of trials where both came to the same result; `None` where there was nothing to compare."""
        return self.agreed / self.compared if self.compared else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """A finished, or interrupted, evaluation of one skill."""

    skill: Skill
    run: str
    """The run folder, relative to where the command was typed."""
    run_is_here: bool = True
    """False where the verdict was taken from a ledger and the run folder is gone."""
    cases: int
    repeats: int
    planned: int
    """Trials of the whole plan; a sequential design may need fewer."""
    design: Design
    min_lift: float | None = None
    """The lift that was asked for, if any."""
    required: Required | None = None
    """What was required of the verdicts, if anything. Changes the exit code and what is said of it, nothing else."""
    students: tuple[StudentReport, ...]
    case_states: tuple[Qualification, ...] = ()
    """What is known of every case of the file; the rejected ones were not run."""
    bought: Purchase
    notes: tuple[str, ...] = ()
    """For people. No decision reads them."""
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    """What ended it before every student was done, if anything did."""
    sandbox: str | None = None
    """What confined the students' tools and the checks that run; `none` where a person asked for nothing, and `None`
    where nothing was executed."""
    judge: JudgeReport | None = None
    """`None` where no judge was named."""

    @property
    def interrupted(self) -> bool:
        """Whether a person stopped it."""
        return self.end.interrupted

    def exit_code(self) -> int:
        """What the command ends with. The tool's own trouble goes before what was required and is not shown."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        if any(report.verdict == "invalid" for report in self.students):
            return EXIT_FAILED
        required = self.required
        shown = required is None or all(
            meets(required, verdict=report.verdict, claim=report.claim) for report in self.students
        )
        clears = self.min_lift is None or all(report.clears for report in self.students)
        return EXIT_DONE if shown and clears else EXIT_NOT_SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class PastResult:
    """What a run found for one student. Figures are `None` where nothing was measured or compared."""

    model: str
    harness: str
    verdict: str | None
    sentence: str
    against: str | None
    """What the skill was measured against: `baseline`, or `previous`."""
    before: float | None
    """The pass rate there."""
    arm: str | None
    after: float | None
    """The pass rate with the skill."""
    lift: float | None
    interval: Interval | None
    """The one that the verdict rests on: for cases like these, or for these very cases where `narrow`."""
    narrow: bool
    pairs: int | None
    spent: float | None
    confidence: float = 0.95
    """What the interval promises to cover."""
    answered_by: tuple[str, ...] = ()
    """What a server called the model that answered, where that is not the name it was asked by."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PastRun:
    """One run folder; `problem` says why it cannot be read, and then the rest is unknown."""

    folder: str
    """Where it is, with forward slashes."""
    status: str
    skill: str | None = None
    digest: str | None = None
    started_at: str | None = None
    finished_at: str | None = None
    results: tuple[PastResult, ...] = ()
    cost: float | None = None
    sentence: str | None = None
    """Of a `generate`: what came of it, or how far it got; `None` for an evaluation, whose results speak."""
    problem: str | None = None

    @property
    def day(self) -> str:
        """The day it began, as a label."""
        return (self.started_at or "")[:10]
