"""What a report needs beside the result: where it came from, what was asked, what came back, and
which model is the cheapest that does the work well enough. Nothing is taken for free whose price is unknown."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from math import sqrt
from statistics import NormalDist

from upskill.core.nouns import Arm, ArmSummary, Files, Interval, StudentEnd, StudentReport, Trial
from upskill.core.nouns.answer import AgentSteps
from upskill.core.nouns.plan import NOTHING_MORE, Again
from upskill.core.nouns.trial import BESIDE
from upskill.report.wording import arm_name, dollars, percent


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseText:
    """One case as the report shows it."""

    id: str
    prompt: str | None
    """`None` where the case has changed since, or is gone."""
    digest: str | None = None
    """Digest of the case as it was in the run."""
    use: str | None = None
    files: Files = field(default_factory=dict)
    checks: tuple[tuple[str, str], ...] = ()
    """Kind of each check, and what it asks for in words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LoggedTrial:
    """A finished trial, and where it stands in the files of its run."""

    trial: Trial
    line: int
    """In `trials.jsonl`, from 1."""
    counted: bool = True
    """Whether the verdict rests on it."""
    log: str | None = None
    """The engine's log."""
    sample: str | None = None
    """Its name in that log."""
    tries: int = 1
    steps: AgentSteps | None = None
    """What a student with tools did; `None` where it has none, or the log is not here."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunFacts:
    """Where the numbers come from."""

    skill: str
    """The name of the skill."""
    skill_folder: str | None = None
    """Where the skill is, seen from where the page is made; `None` where it is not, or is another by now."""
    case_file: str | None = None
    """Where the cases are, seen from there; `None` where they are the skill's own, or elsewhere."""
    resume: str | None = None
    """The command that resumes the run, where more must be typed than the run."""
    again: Again | None = NOTHING_MORE
    """What else was typed for the run; `None` where it is not the user's own."""
    folder: str
    """The run folder, as it is named."""
    logs: str | None = None
    """The engine's logs, as a shell reads the path; `None` where there are none."""
    logs_from: str = "from any folder"
    """Where that path leads there from, in words."""
    status: str
    started_at: str
    finished_at: str | None
    harness: str | None = None
    """`None`, as what follows, where nothing was measured."""
    seed: int | None = None
    skill_digest: str | None = None
    versions: dict[str, str] = field(default_factory=dict)
    settings: tuple[tuple[str, str, str], ...] = ()
    """Name, value and origin of what was set."""
    problems: tuple[str, ...] = ()
    """What could not be read, in words."""


REASONS: dict[StudentEnd, str] = {
    "decided": "the first look was clear",
    "futile": "the lift was within its own noise",
    "copies": "answers repeat themselves",
    "checks changed": "the checks changed after the answers were seen",
    "cap reached": "a cap was reached",
    "endpoint down": "the endpoint went down",
    "interrupted": "the run was interrupted",
}
"""Why less was asked than was planned, after `because`."""


def end_words(end: StudentEnd) -> str:
    """Why no more was asked."""
    return f"stopped because {REASONS[end]}" if end in REASONS else "everything was asked"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenRatio:
    """Tokens of the measured arm for one token of the other, in the typical case."""

    student: str
    typical: float
    interval: Interval | None


def token_change(ratio: TokenRatio) -> str:
    """The change in the typical case, with its interval where it has one."""
    said = f"{_times(ratio.typical)} tokens"
    return said if ratio.interval is None else f"{said} ({_range(ratio.interval)})"


def _range(interval: Interval) -> str:
    """Both ends; where they lie on the same side, its word stands once."""
    low, high = _times(interval.low), _times(interval.high)
    if low == high:
        return low
    if interval.high < 1:
        return f"{high.removesuffix(' fewer')} to {low}"
    if low.rpartition(" ")[2] == high.rpartition(" ")[2]:
        low = low.rpartition(" ")[0]
    return f"{low} to {high}".removesuffix(" the")


def _times(ratio: float) -> str:
    if ratio >= 2:
        return f"{ratio:.1f}× the"
    change = round((ratio - 1) * 100)
    return "as many" if change == 0 else f"{abs(change)}% {'more' if change > 0 else 'fewer'}"


ENOUGH = 0.8
"""A pass rate that is called sufficient where nobody says otherwise."""
_LEVEL = 0.025
"""One-sided: how often the one that is named may be surely good enough and is not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SufficientStudent:
    """A student in one arm whose pass rate is high enough."""

    student: str
    arm: Arm
    pass_rate: float
    use: float
    """Dollars, or tokens, per task."""
    aside: str | None
    """The name of its arm, where that is neither of the two that are compared."""
    surely: bool
    """Whether the pass rate is high enough also at the low end of what the trials allow, for the best of so many."""


def by_cost(reports: Iterable[StudentReport]) -> bool:
    """Whether dollars tell students apart; where nothing has a price or all is free, tokens must."""
    return any(arm.cost for report in reports for arm in report.arms)


def use_per_task(arm: ArmSummary, *, cost: bool) -> float | None:
    return arm.cost if cost else arm.tokens


def cheapest_words(reports: Iterable[StudentReport], *, enough: float) -> str:
    """Which model to take at that pass rate, in a sentence."""
    reports = list(reports)
    best = cheapest_sufficient(reports, enough=enough)
    if best is None:
        return f"No model reached a pass rate of {enough:.0%}."
    how = "" if best.arm == "baseline" else " with the skill" if best.aside is None else f" ({best.aside})"
    sure = "" if best.surely else "; with so few answers the true rate may be lower"
    use = dollars(best.use) if by_cost(reports) else f"{best.use:,.0f} tokens"
    passed = percent(best.pass_rate)
    return f"Cheapest at {enough:.0%} or more: {best.student}{how}, {passed} for {use} per answer{sure}."


def cheapest_sufficient(reports: Iterable[StudentReport], *, enough: float = ENOUGH) -> SufficientStudent | None:
    """The cheapest student, with or without the skill, at that pass rate; `None` if there is none."""
    reports = list(reports)
    cost = by_cost(reports)
    found = [
        SufficientStudent(
            student=report.student.name,
            arm=arm.arm,
            pass_rate=arm.pass_rate,
            use=use,
            aside=None if arm.arm in report.compared else arm_name(arm.arm, report.harness),
            surely=lowest_rate(arm.passed, arm.trials, of=len(reports)) >= enough,
        )
        for report in reports
        for arm in report.arms
        if arm.arm not in BESIDE  # nobody works with these
        and arm.pass_rate is not None
        and arm.pass_rate >= enough
        and (use := use_per_task(arm, cost=cost)) is not None
    ]
    return min(found, key=lambda one: (one.use, -one.pass_rate), default=None)


def lowest_rate(passed: int, trials: int, *, of: int = 1) -> float:
    """The low end of Wilson's interval, for the best `of` several students: each is one more chance to be wrong."""
    if not trials:
        return 0.0
    z = NormalDist().inv_cdf(1 - _LEVEL / of)
    rate, square = passed / trials, z * z / trials
    return max(0.0, (rate + square / 2 - z * sqrt((rate * (1 - rate) + square / 4) / trials)) / (1 + square))
