"""The result of an evaluation, ready to be reported in any format, the summary of an earlier run, and the skills of one
`upskill eval`: what was found for each, or why it was not measured.
"""

from dataclasses import dataclass, replace
from typing import Literal

from upskill.core.nouns.case import NO_CASE_CHANGES, CaseChanges, Qualification
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.lift import Claim, Interval, LabelLift, Lift, Loads, Verdict
from upskill.core.nouns.look import EarlierLook, RunEnd, StudentEnd
from upskill.core.nouns.plan import Design, Student
from upskill.core.nouns.skill import OtherSkills, Skill
from upskill.core.nouns.trial import Arm
from upskill.errors import EXIT_DONE, EXIT_FAILED, EXIT_INTERRUPTED, EXIT_NOT_SHOWN

Required = Literal["helps", "no-harm"]
"""What can be required for every model: the skill helps on new cases of this kind, or it is not shown to hurt, and
breaks no case. Between two versions, `no-harm` is that the new one is not shown to be worse, and breaks none."""
NO_HARM = ("helps", "cheaper", "no difference", "undecided")


def meets(required: Required, *, verdict: str | None, claim: str | None, broken: int = 0) -> bool:
    """Whether a verdict with what it is about meets the requirement. No verdict meets none."""
    if required == "no-harm":
        return verdict in NO_HARM and not broken
    return verdict == "helps" and claim == "new cases"


@dataclass(frozen=True, kw_only=True, slots=True)
class BrokenCase:
    """A case that passed before and fails now."""

    case_id: str
    answers: int
    """Scored answers in each version."""
    passed: int
    passed_before: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ArmSummary:
    """The answers of one model in one arm."""

    arm: Arm
    trials: int
    """Scored answers."""
    passed: int
    errored: int
    faults: tuple[tuple[str, int], ...]
    """Errored answers by fault, most frequent first."""
    checks_passed: float | None
    """Mean checks passed per scored answer."""
    checks: float | None
    """Mean checks per scored answer."""
    tokens: float | None
    """Mean tokens per scored answer."""
    cost: float | None
    """Mean dollars per scored answer."""
    spent: float | None
    """Dollars for all calls of this arm; cached answers cost nothing."""
    runs: int
    """Repeats in which every case was scored."""
    runs_all_passed: int
    """Repeats in which every case passed."""
    turns: float | None = None
    """Mean turns of the model per scored answer; `None` without tools."""
    loaded: int | None = None
    """Scored answers in which the model received or read the skill; `None` without tools or without a skill."""
    skill_files: tuple[tuple[str, int], ...] = ()
    """Files of the skill that were read or run, with the number of scored answers, most frequent first."""
    lost: int = 0
    """Requests whose answer was lost after it may have begun, retries included."""
    refused: int = 0
    """Requests refused before an answer began."""
    asked_cases: int | None = None
    """Cases asked in this arm; cases without a passage have no ceiling. `None` in results of earlier versions."""
    other_skills: tuple[tuple[str, int], ...] = ()
    """Other skills that were loaded, with the number of scored answers, most frequent first."""

    @property
    def failed(self) -> int:
        """Scored answers that did not pass."""
        return self.trials - self.passed

    @property
    def pass_rate(self) -> float | None:
        """Share of scored answers that passed."""
        return self.passed / self.trials if self.trials else None

    @property
    def load_rate(self) -> float | None:
        """Share of scored answers in which the model received or read the skill."""
        return self.loaded / self.trials if self.trials and self.loaded is not None else None


@dataclass(frozen=True, kw_only=True, slots=True)
class ControlFindings:
    """What the controls show of the skill and of its cases, for one model. No decision uses it."""

    over_placebo: Lift | None
    """The pass rate with the skill minus that with the placebo."""
    over_corrupted: Lift | None
    """The same for the corrupted skill; `None` where nothing could be exchanged."""
    passing: int
    """Cases that pass with the skill, of those asked with the corrupted one."""
    noticed: int
    """Those of them that fail with the corrupted skill."""
    tested: int
    """Cases asked with the corrupted skill whose check looks for a value that was exchanged."""
    untested: int
    """Other cases asked with it."""
    shows_nothing: tuple[str, ...]
    """The tested cases that pass with the corrupted skill."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentReport:
    """The result for one model."""

    student: Student
    harness: str
    verdict: Verdict | None
    """`None` without a baseline."""
    sentence: str
    arms: tuple[ArmSummary, ...]
    lifts: tuple[Lift, ...]
    """First the lift of the verdict; then, for a model with tools, `with_skill` against `baseline`; then the
    ceiling and the controls against `baseline`, if measured."""
    spent: float | None
    """Dollars for all calls of this model, errored ones included; `None` if the price is unknown."""
    end: StudentEnd = "plan finished"
    """Why no more answers were asked for."""
    broken: tuple[BrokenCase, ...] = ()
    """Cases that the new version breaks, where a gate asked for them."""
    suspected: tuple[str, ...] = ()
    """Cases that look broken, and whose further answers errored or were never bought."""
    unguarded: tuple[str, ...] = ()
    """Cases that passed only sometimes before: a gate often misses that they break."""
    clears: bool | None = None
    """Whether the lift of `--min-lift` is shown (`True`) or excluded (`False`)."""
    label_lifts: tuple[LabelLift, ...] = ()
    """The lift over the cases of each label; `labels` in JSON."""
    holds_among: bool | None = None
    """Whether `helps` also holds with the error level divided by the number of models; `None` for one model, or without
    `helps`."""
    looks: tuple[EarlierLook, ...] = ()
    """The looks at this skill with this model before this one."""
    answered_by: tuple[str, ...] = ()
    """What the server called the model, where that is another name."""
    unread_call: str | None = None
    """What the model wrote instead of tool calls, where none of it could be read: nothing was measured."""
    loads: Loads | None = None
    """How often the offered skill was loaded; `None` where none was offered, and in results of earlier versions."""
    controls: ControlFindings | None = None
    """`None` without `--controls`."""

    @property
    def compared(self) -> tuple[Arm, Arm]:
        """The arm of the verdict and the arm it is compared with, even if that was not run."""
        if len(self.arms) > 1:
            return self.arms[1].arm, self.arms[0].arm
        return (self.arms[0].arm if self.arms else "with_skill"), "baseline"

    def rate(self, name: Arm) -> float | None:
        """The pass rate of an arm over the pairs of its lift; without a lift, over all its scored answers."""
        for lift in self.lifts:
            if name in (lift.arm, lift.against) and lift.rate is not None:
                return lift.rate if name == lift.arm else lift.rate_against
        arm = self.arm(name)
        return None if arm is None else arm.pass_rate

    @property
    def forced(self) -> Lift | None:
        """The lift of the skill given or forced, where it was also offered; `None` where that was not measured."""
        return self.beside("with_skill")

    @property
    def ceiling(self) -> Lift | None:
        """The lift of the passage in the prompt, if it was measured beside a skill."""
        return self.beside("ceiling")

    def beside(self, name: Arm) -> Lift | None:
        """The lift of an arm that was run beside the compared ones; `None` where that was not measured."""
        return next((lift for lift in self.lifts[1:] if lift.arm == name), None)

    @property
    def claim(self) -> Claim | None:
        """How far the verdict reaches; `None` where nothing is claimed."""
        return self.lifts[0].about if self.lifts and self.verdict not in (None, "undecided", "invalid") else None

    def meets(self, required: Required) -> bool:
        """Whether the result meets the requirement."""
        return meets(required, verdict=self.verdict, claim=self.claim, broken=len(self.broken) + len(self.suspected))

    @property
    def interval(self) -> Interval | None:
        """The interval of the verdict; `None` where nothing was compared."""
        return self.lifts[0].interval if self.lifts else None

    def arm(self, name: Arm) -> ArmSummary | None:
        """The answers in one arm; `None` if it was not run."""
        return next((summary for summary in self.arms if summary.arm == name), None)


@dataclass(frozen=True, kw_only=True, slots=True)
class Purchase:
    """What a run sent and spent."""

    calls: int
    """Requests sent, retries included."""
    failed_calls: int
    """Requests without an answer."""
    tokens: int
    """Input and output tokens; estimated where the provider did not report them."""
    cost: float | None
    """Dollars; `None` if a price is unknown."""
    lost: float = 0.0
    """Estimated dollars for requests without an answer."""
    reused: int = 0
    """Answers taken from the cache."""
    oldest_reused_days: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgeReport:
    """The judge, and how often it agrees with the other checks."""

    model: str
    judged: int
    """Scored answers that it judged."""
    compared: int
    """The judged answers that other checks graded too."""
    agreed: int
    """The compared answers on which both agreed."""
    calls: int
    """Requests sent to it, retries included."""
    cost: float | None
    """Dollars; `None` if a price is unknown."""

    @property
    def agreement(self) -> float | None:
        """`agreed / compared`; `None` where nothing was compared."""
        return self.agreed / self.compared if self.compared else None


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """A finished or interrupted evaluation of one skill."""

    skill: Skill
    run: str
    """The run folder, relative to the working folder where it is below it."""
    cases: int
    repeats: int
    planned: int
    """Answers in the plan; a design that may stop needs fewer."""
    design: Design
    min_lift: float | None = None
    """The value of `--min-lift`."""
    required: Required | None = None
    """The value of `--require`. It only changes the exit code and the words about it."""
    students: tuple[StudentReport, ...]
    case_states: tuple[Qualification, ...] = ()
    """The state of every case in the file. Rejected cases were not run."""
    bought: Purchase
    notes: tuple[str, ...] = ()
    """Remarks for the reader. No decision uses them."""
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    """What ended the run before its plan was done."""
    sandbox: str | None = None
    """What confined the programs that were run: `bubblewrap`, or `none`; `None` if nothing was run."""
    judge: JudgeReport | None = None
    """`None` without a judge."""
    others: OtherSkills | None = None
    """The skills that lay beside the measured one; `None` where none was asked for."""
    case_changes: CaseChanges = NO_CASE_CHANGES
    """How its cases differ from those of the older version in git. Kept by no record."""

    @property
    def interrupted(self) -> bool:
        """Whether a person stopped it."""
        return self.end.interrupted

    def exit_code(self) -> int:
        """The exit code of the command. No verdict (3) takes precedence over a requirement that is not met (1)."""
        if self.interrupted:
            return EXIT_INTERRUPTED
        if any(report.verdict == "invalid" for report in self.students):
            return EXIT_FAILED
        required = self.required
        shown = required is None or all(report.meets(required) for report in self.students)
        clears = self.min_lift is None or all(report.clears for report in self.students)
        asked = required is not None or self.min_lift is not None
        return EXIT_DONE if shown and clears and not (asked and self.case_changes.refused) else EXIT_NOT_SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class PastResult:
    """The result of a run for one model. Figures are `None` where nothing was measured or compared."""

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
    about: str | None
    """What the interval is about: `new cases` or `these cases`."""
    pairs: int | None
    spent: float | None
    confidence: float = 0.95
    """The level of the interval."""
    answered_by: tuple[str, ...] = ()
    """What the server called the model, where that is another name."""


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
    """What came of a `generate`, or how far it got; `None` for an evaluation, whose results speak."""
    problem: str | None = None

    @property
    def day(self) -> str:
        """The day it began, as a label."""
        return (self.started_at or "")[:10]


SkillState = Literal["measured", "unchanged", "failed", "not started"]
"""`unchanged`: equal to the version to compare with. `not started`: the command ended before its turn."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSkill:
    """One skill. Exactly the measured ones have an evaluation."""

    folder: str
    """As it was typed or found, with forward slashes."""
    name: str
    """The name of the skill; of its folder, where the skill cannot be read."""
    state: SkillState = "measured"
    evaluation: Evaluation | None = None
    problem: str | None = None
    """Why it was not measured, in one line; `None` for a measured or an unchanged skill."""
    hint: str | None = None
    """What to do about the problem."""
    compared_with: str | None = None
    """The older version to compare with, as it was typed: `git:HEAD~1`; `None` where no skill is the comparison."""
    commit: str | None = None
    """The commit of that version, by its full id."""
    is_new: bool = False
    """Whether an older version was asked for and does not have this skill, so that it is measured against no skill."""
    changed: tuple[str, ...] = ()
    """The parts that differ from the older version: `description`, `body`, `frontmatter`, paths of other files."""
    case_changes: CaseChanges = NO_CASE_CHANGES
    """How its cases differ from those of the older version, also where the skill is unchanged."""
    stand_ins: tuple[tuple[str, str], ...] = ()
    """Names that a script or a model of a settings file answered for, as student or judge, each with what answered."""
    required: Required | None = None
    """The value of `--require`."""
    findings: tuple[Finding, ...] | None = None
    """What lint found in it; `None` where that was not searched."""

    def exit_code(self) -> int:
        """The exit code that this skill by itself gives the command."""
        if self.evaluation is not None:
            return self.evaluation.exit_code()
        if self.state != "unchanged":
            return EXIT_FAILED
        return EXIT_NOT_SHOWN if self.required is not None and self.case_changes.refused else EXIT_DONE


@dataclass(frozen=True, kw_only=True, slots=True)
class ComparedSkills:
    """Several skills that were evaluated one after the other, under the same caps."""

    skills: tuple[ComparedSkill, ...]
    bought: Purchase
    compared_with: str | None = None
    """The older version as it was typed, such as `git:HEAD~1`; `None` where no skill is the comparison."""
    interrupted: bool = False
    notes: tuple[str, ...] = ()

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """Those that there are, in order."""
        return tuple(one.evaluation for one in self.skills if one.evaluation is not None)

    def requiring(self, required: Required | None) -> "ComparedSkills":
        """The same with something required of every skill."""
        skills = []
        for one in self.skills:
            evaluation = None if one.evaluation is None else replace(one.evaluation, required=required)
            skills.append(replace(one, evaluation=evaluation, required=required))
        return replace(self, skills=tuple(skills))

    def exit_code(self) -> int:
        """The exit code of the command: interrupted, then no verdict, then a requirement that is not met."""
        codes = {one.exit_code() for one in self.skills}
        if self.interrupted or EXIT_INTERRUPTED in codes:
            return EXIT_INTERRUPTED
        return next((code for code in (EXIT_FAILED, EXIT_NOT_SHOWN) if code in codes), EXIT_DONE)
