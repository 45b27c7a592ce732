"""What is kept of a watched skill: one small file beside the ledger of looks, written whole after every step.

The answers themselves lie in a run folder. A file may come from somebody else: it is read within limits, and one that
contradicts itself is refused.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import JsonValue, TypeAdapter

from upskill import disk
from upskill.core.nouns import Interval, Qualification, digest_of
from upskill.core.nouns.text import count
from upskill.core.runs.look_ledger import default_ledger_path
from upskill.core.runs.records import keep_text, read_record, record_text
from upskill.core.settings import Settings
from upskill.drift.chart import (
    NIGHT_NOISE,
    NO_ANSWERS,
    CaseCount,
    Change,
    Expected,
    alarm_limit,
    changed_for_good,
    contrasts_of,
    expect,
    night_noise,
    raised,
)
from upskill.errors import EngineError

STATE_FORMAT = "upskill.drift-watch/1"
MOST_CASES = 10_000
Mode = Literal["rates", "case by case"]
"""How nights are compared with the history: by a chart of rates or, where repeats are copies, one case at a time."""
Cause = Literal[
    "the checks broke", "the model fell", "the skill helps less", "the skill hurts now", "not confirmed", "undecided"
]
"""What a fresh paired evaluation says an alarm comes from."""


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchedCase:
    """A case and its history: scored answers with the skill, and without it, which fall too where the model falls."""

    id: str
    digest: str
    prompt: str
    """Its beginning, for people."""
    skilled: CaseCount = NO_ANSWERS
    plain: CaseCount = NO_ANSWERS


@dataclass(frozen=True, kw_only=True, slots=True)
class Night:
    """The answers of one night by the ids of their cases."""

    date: str
    passed: tuple[str, ...]
    failed: tuple[str, ...]

    @property
    def asked(self) -> tuple[str, ...]:
        """The cases of all its answers."""
        return (*self.passed, *self.failed)


@dataclass(frozen=True, kw_only=True, slots=True)
class Attribution:
    """A fresh paired evaluation of the watched cases, beside their history."""

    cause: Cause
    sure: bool
    """Whether the answers without the skill exclude the other explanation."""
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
    other_model: bool = False
    """Whether the server described another model than when the history was bought."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alarm:
    """Of the last night. No night follows until a person acknowledges it, or a new history is bought."""

    cases: tuple[str, ...] = ()
    """Compared one by one: the cases that changed side for good."""
    attribution: Attribution | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Watch:
    """One skill on one model, as it is watched. Its chart and its limit follow from its answers, and are not kept."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"allow_inf_nan": False}
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
    bought_counts: tuple[CaseCount, ...] = ()
    """What came of each of these nights."""
    mode: Mode | None = None
    """`None` while the history is not complete."""
    served: str | None = None
    """What the server said of the model when the watch began."""
    run: str
    """The name of the run folder with the answers."""
    nights: tuple[Night, ...] = ()
    alarm: Alarm | None = None
    watched_from: int = 0
    """The first of the nights that counts: those before it ended in an alarm that was acknowledged."""

    @property
    def name(self) -> str:
        """As people read it."""
        return f"{self.skill} on {self.student}"

    @property
    def doubtful(self) -> tuple[WatchedCase, ...]:
        """The cases that an alarm is about: all of them, but where those that changed side are known."""
        named = () if self.alarm is None else self.alarm.cases
        return tuple(case for case in self.cases if not named or case.id in named)

    @property
    def expected(self) -> Expected:
        """What the complete history leads one to expect."""
        return expect([case.skilled for case in self.cases], nights=self.bought_counts)

    @property
    def rates(self) -> dict[str, float]:
        """The share of passing answers that is expected of each case by its id; of its own alone, case by case."""
        own = [one.skilled.passed / one.skilled.answers for one in self.cases]
        expected = self.expected.rates if self.mode == "rates" else own
        return {case.id: rate for case, rate in zip(self.cases, expected, strict=True)}

    @property
    def noise(self) -> float:
        """What all answers of a night have in common, as the history and the nights before the last rise show it."""
        quiet = self._answers[: len(self.counted) - len(self.since_rise)]
        return night_noise([*self.expected.contrasts, *contrasts_of(quiet)])

    @property
    def _answers(self) -> list[list[tuple[float, bool]]]:
        """The answers of the nights that count: the rate that was expected of each, and whether it passed."""
        rates = self.rates if self.counted else {}
        return [
            [*((rates[one], True) for one in night.passed), *((rates[one], False) for one in night.failed)]
            for night in self.counted
        ]

    def expected_of(self, night: Night) -> float:
        """Answers of a night that pass if nothing changed."""
        rates = self.rates
        return math.fsum(rates[one] for one in night.asked)

    @property
    def changed_cases(self) -> tuple[str, ...]:
        """The cases that have changed side, compared one by one."""
        seen: dict[str, list[bool]] = {case.id: [] for case in self.cases}
        for night in self.counted:
            for ids, passed in ((night.passed, True), (night.failed, False)):
                for one in ids:
                    seen[one].append(passed)
        return tuple(one.id for one in self.cases if changed_for_good(one.skilled, seen[one.id]))

    @property
    def counted(self) -> tuple[Night, ...]:
        """The nights that count."""
        return self.nights[self.watched_from :]

    @property
    def levels(self) -> list[float]:
        """Where the chart stood after each night that counts; at zero, case by case."""
        answers = self._answers if self.mode == "rates" else [[] for _ in self.counted]
        return [*accumulate(answers, raised, initial=0.0)][1:]

    @property
    def level(self) -> float:
        """Where the chart stands."""
        return self.levels[-1] if self.counted else 0.0

    @property
    def limit(self) -> float | None:
        """The level above which there is an alarm; `None` where there is no chart.

        Higher where the chart passed it, and nights differ more than was known when the history was complete: what all
        answers of a night have in common is no fall.
        """
        if self.mode != "rates":
            return None
        limit_for = partial(alarm_limit, self.expected, seed=self.run)
        limit = limit_for(noise=replace(self, nights=self.nights[: self.watched_from]).noise)
        for number, level in enumerate(self.levels, self.watched_from + 1):
            if level > limit and (noise := replace(self, nights=self.nights[:number]).noise) > NIGHT_NOISE:
                limit = max(limit, limit_for(noise=noise))
        return limit

    @property
    def since_rise(self) -> tuple[Night, ...]:
        """The nights since the chart was last at zero: those of a change, if there is one."""
        quiet = [number for number, level in enumerate(self.levels, 1) if level == 0]
        return self.counted[max(quiet, default=0) :]

    def acknowledged(self) -> "Watch":
        """The watch without its alarm: the chart begins again at zero, with the same history."""
        return replace(self, alarm=None, watched_from=len(self.nights))

    def changes(self, terms: dict[str, JsonValue], cases: Sequence[WatchedCase]) -> Iterator[str]:
        """What differs from the history, a line each."""
        for name in dict.fromkeys((*self.terms, *terms)):
            if (was := self.terms.get(name)) != (now := terms.get(name)):
                yield f"the {name} has changed" if name.startswith("text") else f"{name} was {was}, and is {now}"
        was_cases, now_cases = ({case.id: case.digest for case in one} for one in (self.cases, cases))
        both = was_cases.keys() & now_cases.keys()
        for ids, words in (
            (now_cases.keys() - both, "new"),
            (was_cases.keys() - both, "gone"),
            ({one for one in both if was_cases[one] != now_cases[one]}, "changed"),
        ):
            if ids:
                yield f"{count(len(ids), 'case')} {words}: {', '.join(sorted(ids)[:5])}{' …' if len(ids) > 5 else ''}"


_WATCH = TypeAdapter(Watch)


def state_path(settings: Settings, *, skill: str, student: str) -> Path:
    """Where the watch of this skill on this model is kept: beside the ledger that the settings name."""
    name = re.sub(r"[^A-Za-z0-9]+", "-", f"{skill}-{student}")[:60].strip("-")
    return _folder(settings) / f"{name}-{digest_of([skill, student])[:8]}.json"


def _folder(settings: Settings) -> Path:
    return (default_ledger_path() if settings.ledger is None else Path(settings.ledger)).parent / "drift"


def watches_of(settings: Settings, skill: str) -> list[Watch]:
    """The watches of a skill that have bought something, one for each model. Damaged files are skipped."""
    found = []
    for path in disk.plain_files(_folder(settings), "*.json"):
        with suppress(EngineError):
            watch = read_watch(path)
            if watch is not None and watch.skill == skill and watch.bought and not path.stem.endswith(".old"):
                found.append(watch)
    return found


def keep_watch(path: Path, watch: Watch) -> None:
    """Replace the file, whole or not at all."""
    keep_text(path, record_text(_WATCH, watch))


def read_watch(path: Path) -> Watch | None:
    """The watch in a file; `None` where there is none. Raises `EngineError`, which names it, where it is damaged."""
    if not path.exists():
        return None
    hint = "remove it, and begin again with `upskill drift --start`"
    try:
        watch = read_record(path, _WATCH, wanted=STATE_FORMAT, missing="is gone", other=hint)
        problem = next(_contradictions(watch), None)
    except EngineError as error:
        error.hint = error.hint or hint
        raise
    except ValueError as error:  # a date
        problem = str(error)
    if problem is not None:
        raise EngineError(f"{path}: contradicts itself: {problem}", hint=hint)
    return watch


def _contradictions(watch: Watch) -> Iterator[str]:
    ids = {case.id for case in watch.cases}
    if not 1 <= len(ids) == len(watch.cases) <= MOST_CASES:
        yield "it names no case, one twice, or too many"
    if not 1 <= watch.parts <= watch.answers <= MOST_CASES or len(watch.bought) > watch.parts:
        yield "its history has no such parts"
    arms = [one for case in watch.cases for one in (case.skilled, case.plain)]
    least = int(watch.mode is not None)
    if not all(least <= one.answers <= watch.answers and 0 <= one.passed <= one.answers for one in arms):
        yield "a case has no answers, too many, or more that passed than there are"
    nights = watch.bought_counts
    if len(nights) != len(watch.bought) or not all(0 <= one.passed <= one.answers and one.answers for one in nights):
        yield "its history has other nights than it was bought on"
    if sum(one.answers for one in nights) != sum(case.skilled.answers for case in watch.cases):
        yield "the nights of its history have other answers than its cases"
    if not watch.bought if watch.mode is not None else watch.nights:
        yield "it has a chart without a history"
    if not 0 <= watch.watched_from <= len(watch.nights) or any({*night.asked} - ids for night in watch.nights):
        yield "its nights count from one that was not, or ask for cases that are not watched"
    if watch.alarm is not None and not watch.counted:
        yield "its alarm is of a night that was not"
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*", watch.run):
        yield "its run is not the name of a folder"
    for day in (*watch.bought, *(night.date for night in watch.nights)):
        date.fromisoformat(day)
