"""What is kept of a watched skill: one small file beside the ledger of looks, written whole after every step.

The answers themselves lie in a run folder. A file may come from somebody else: it is read within limits, and whatever
contradicts itself is refused.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import JsonValue, TypeAdapter

from upskill.core.nouns import Interval, Qualification, digest_of
from upskill.core.runs.look_ledger import default_ledger_path
from upskill.core.runs.records import keep_text, read_record, record_text
from upskill.core.settings import Settings
from upskill.drift.chart import CaseCount, Change, Expected, expect
from upskill.errors import EngineError, UsageError

STATE_FORMAT = "upskill.drift-watch/1"
MOST_CASES = 10_000
Mode = Literal["rates", "case by case"]
"""How nights are compared with the history: by a chart of rates or, where repeats are copies, one case at a time."""
Cause = Literal[
    "the checks broke",
    "the model fell",
    "the skill helps less",
    "the skill hurts now",
    "not confirmed",
    "undecided",
]
"""What a fresh paired evaluation says an alarm comes from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedCase:
    """A case and its history."""

    id: str
    digest: str
    prompt: str
    """Its beginning, for people."""
    passed: int = 0
    answers: int = 0
    """Scored answers with the skill."""
    baseline_passed: int = 0
    baseline_answers: int = 0
    """Scored answers without the skill: where the model falls, these fall too."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """The answers of one night, and where the chart stands after it."""

    date: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]
    """Case ids, one for each answer."""
    expected: float
    """Answers that the history leads one to expect to pass."""
    level: float
    served: str | None = None
    """What the server said that it serves."""

    @property
    def answers(self) -> int:
        return len(self.passed) + len(self.failed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribution:
    """A fresh paired evaluation of the watched cases, beside their history."""

    cause: Cause
    sure: bool
    """Whether the interval of the baseline excludes the other explanation."""
    skilled: Change
    baseline: Change
    lift: float
    lift_interval: Interval
    """Of the fresh answers alone, on these cases."""
    regraded: int
    """Answers of the history that were graded again."""
    now_fail: int
    now_pass: int
    """Those of them whose grade changed."""
    fell: tuple[str, ...] = ()
    rose: tuple[str, ...] = ()
    """Cases that changed side."""
    judged: bool = False
    """Whether a judge grades: its earlier judgements were not asked for again."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Stays in the state until a person acknowledges it, or a new history is bought."""

    date: str
    night: int
    level: float
    limit: float | None
    """`None` where cases are compared one by one."""
    since: str
    """The first night of the rise that ended in it."""
    cases: tuple[str, ...] = ()
    """Compared one by one: the cases that changed side twice in a row."""
    attribution: Attribution | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """One skill on one model, as it is watched."""

    format: str = STATE_FORMAT
    skill: str
    student: str
    terms: dict[str, JsonValue]
    """What must not change while it is watched, by the name that people know."""
    case_source: str
    cases: tuple[WatchedCase, ...]
    qualifications: tuple[Qualification, ...] = ()
    """What was known of the cases when the watch began: a check that breaks later must not remove one."""
    answers: int
    """Answers per case of the history."""
    parts: int
    """Nights on which it is bought."""
    bought: tuple[str, ...] = ()
    """The dates on which a part of it was."""
    mode: Mode | None = None
    """`None` while the history is not complete."""
    limit: float | None = None
    served: str | None = None
    run: str
    """The folder with the answers."""
    nights: tuple[Night, ...] = ()
    alarm: Alarm | None = None
    past: tuple[Alarm, ...] = ()
    """Alarms that were acknowledged."""
    watched_from: int = 0
    """The first of the nights that counts: those before it ended in an alarm that was acknowledged."""

    @property
    def expected(self) -> Expected:
        """What the complete history leads one to expect."""
        return expect(self.counts, nights=max(1, len(self.bought)))

    @property
    def counts(self) -> list[CaseCount]:
        """The history with the skill, by case."""
        return [CaseCount(passed=case.passed, answers=case.answers) for case in self.cases]

    @property
    def level(self) -> float:
        """Where the chart stands."""
        return self.nights[-1].level if len(self.nights) > self.watched_from else 0.0

    @property
    def since_rise(self) -> tuple[Night, ...]:
        """The nights since the chart was last at zero: those of a change, if there is one."""
        recent = self.nights[self.watched_from :]
        quiet = [nth for nth, night in enumerate(recent) if night.level == 0]
        return recent[quiet[-1] + 1 :] if quiet else recent


_WATCH = TypeAdapter(Watch)


def state_path(settings: Settings, *, skill: str, student: str) -> Path:
    """Where the watch of this skill on this model is kept: beside the ledger that the settings name."""
    ledger = default_ledger_path() if settings.ledger is None else Path(settings.ledger)
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{skill}-{student}")[:60].strip("-")
    return ledger.parent / "drift" / f"{name}-{digest_of([skill, student])[:8]}.json"


def keep_watch(path: Path, watch: Watch) -> None:
    """Replace the file, whole or not at all."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{path.parent}: cannot be created ({error.strerror})") from None
    keep_text(path, record_text(_WATCH, watch))


def read_watch(path: Path) -> Watch | None:
    """The watch in a file; `None` where there is none. Raises `EngineError`, which names it, where it is damaged."""
    if not path.exists():
        return None
    start = "remove it, and begin again with `upskill drift --start`"
    try:
        watch = read_record(path, _WATCH, wanted=STATE_FORMAT, missing="", other=start)
        problem = _contradiction(watch)
    except EngineError as error:
        error.hint = error.hint or start
        raise
    except ValueError as error:
        problem = str(error)
    if problem is not None:
        raise EngineError(f"{path}: contradicts itself: {problem}", hint=start)
    return watch


def _contradiction(watch: Watch) -> str | None:
    ids = {case.id for case in watch.cases}
    if not 1 <= len(ids) == len(watch.cases) <= MOST_CASES:
        return "it names no case, one twice, or too many"
    if not 1 <= watch.parts <= watch.answers <= MOST_CASES or len(watch.bought) > watch.parts:
        return "its history has no such parts"
    for passed, answers in (
        pair
        for case in watch.cases
        for pair in ((case.passed, case.answers), (case.baseline_passed, case.baseline_answers))
    ):
        if not 0 <= passed <= answers:
            return "more answers passed than there are"
    if watch.mode is not None and not all(case.answers and case.baseline_answers for case in watch.cases):
        return "its history is said to be complete, and a case has no answers"
    if (watch.mode == "rates") != (watch.limit is not None):
        return "it has a chart without a limit, or a limit without a chart"
    if not 0 <= watch.watched_from <= len(watch.nights):
        return "it counts from a night that was not"
    if any({*night.passed, *night.failed} - ids for night in watch.nights):
        return "a night asked for cases that are not watched"
    for day in (*watch.bought, *(night.date for night in watch.nights)):
        date.fromisoformat(day)
    return None


def changed_terms(watch: Watch, terms: dict[str, JsonValue], cases: Sequence[WatchedCase]) -> list[str]:
    """What differs from the history, a line each."""
    found = []
    for name in dict.fromkeys((*watch.terms, *terms)):
        was, now = watch.terms.get(name), terms.get(name)
        if was != now:
            long = name == "skill"
            found.append("the text of the skill has changed" if long else f"{name} was {was}, and is {now}")
    was_cases, now_cases = ({case.id: case.digest for case in one} for one in (watch.cases, cases))
    for ids, words in (
        (sorted(now_cases.keys() - was_cases.keys()), "new"),
        (sorted(was_cases.keys() - now_cases.keys()), "gone"),
        (sorted(one for one in was_cases if was_cases[one] != now_cases.get(one, was_cases[one])), "changed"),
    ):
        if ids:
            shown = ", ".join(ids[:5]) + (" …" if len(ids) > 5 else "")
            found.append(f"{len(ids)} of the cases {'is' if len(ids) == 1 else 'are'} {words}: {shown}")
    return found


def require_unchanged(watch: Watch, terms: dict[str, JsonValue], cases: Sequence[WatchedCase]) -> None:
    """Raise where answers of today could not be compared with the history."""
    if problems := changed_terms(watch, terms, cases):
        raise UsageError(
            f"{watch.skill} on {watch.student}: not what the history was bought for, so nothing was asked",
            problems=problems,
            hint=f"the history has the cases of {watch.case_source} (-t FILE); undo the change, or buy a new history "
            "with --start",
        )


def acknowledged(watch: Watch) -> Watch:
    """The watch without its alarm: the chart begins again at zero, with the same history."""
    past = watch.past if watch.alarm is None else (*watch.past, watch.alarm)
    return replace(watch, alarm=None, past=past, watched_from=len(watch.nights))


def prompts_of(watch: Watch, ids: Sequence[str]) -> list[str]:
    """What cases ask, for people, each with its id."""
    known = {case.id: case.prompt for case in watch.cases}
    return [f"{one}: {known.get(one, '')}" for one in ids]
