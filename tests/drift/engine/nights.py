"""A skill that is watched night after night on the real engine, against a model on loopback that can change."""

import json
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Lock
from typing import Any

from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.progress import SILENT
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.drift.watch import DriftOrder, DriftResult, Step, watch_skill

CASES = 12
ANSWERS = 5
"""Few, so that a test takes a second; the ones of `make full` have 40 cases and 10 answers."""
FIRST_DAY = datetime(2026, 1, 1, 3, tzinfo=UTC)
Rate = Callable[[int, bool], float]
"""The chance to pass of a case, with the skill or without."""


def number_of(asked: ReceivedRequest) -> int:
    """The case that a prompt belongs to."""
    return int(asked.prompt.split("Question ")[1].split("?")[0])


def healthy(case: int, with_skill: bool) -> float:
    """As the model is when a watch begins."""
    return 0.95 if with_skill else float(case % 3 > 0)


@dataclass
class Model:
    """Passes each case with a chance, and never says the same twice unless it is told to."""

    rate: Rate = healthy
    copies: bool = False
    down: bool = False
    _asked: Counter[tuple[int, bool]] = field(default_factory=Counter)
    _lock: Lock = field(default_factory=Lock)

    def reset(self) -> None:
        """As it was, with the same luck in every test."""
        self.rate, self.copies, self.down = healthy, False, False
        self._asked.clear()

    def __call__(self, asked: ReceivedRequest) -> Behaviour:
        if self.down:
            return Behaviour(status=400)
        case = number_of(asked), asked.has_skill
        with self._lock:
            self._asked[case] += 1
            # Luck of its own for each answer: requests come in any order.
            luck = random.Random(f"7 {case} {self._asked[case]}").random()
        passes = luck < self.rate(*case)
        said = "" if self.copies else f" ({asked.number})"
        return Behaviour(text=f"{'7413' if passes else 'unknown'}{said}")


def write_skill(folder: Path, *, cases: int = CASES, checks: Any = None) -> Path:
    """A skill that knows one port, with cases that ask for it."""
    skill = folder / "skills" / "port"
    skill.mkdir(parents=True, exist_ok=True)
    (skill / "SKILL.md").write_text("---\nname: port\ndescription: Knows the port.\n---\nThe port is 7413.\n")
    expected = checks or {"contains": "7413"}
    asked = [{"id": f"c{n}", "input": f"Question {n}?", "expected": expected} for n in range(cases)]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    return skill


class Watcher:
    """Types the same command night after night, in one folder."""

    def __init__(self, folder: Path, provider: Provider, model: Model, *, cases: int = CASES) -> None:
        self.folder, self.provider, self.model = folder, provider, model
        self.skill = write_skill(folder, cases=cases)
        self.day = 0
        self._before = len(provider.requests)

    @property
    def asked(self) -> int:
        """Requests so far."""
        return len(self.provider.requests) - self._before

    def clock(self) -> datetime:
        return FIRST_DAY + timedelta(days=self.day)

    def settings(self, **more: Any) -> ResolvedSettings:
        flags = {
            "base_url": self.provider.url,
            "runs_dir": str(self.folder / "runs"),
            "ledger": str(self.folder / "kept" / "looks.jsonl"),
            "max_retries": 0,
            "report": False,
            **more,
        }
        return resolve_settings(flags, environment={}, folder=self.folder, user_folder=self.folder)

    def order(self, **more: Any) -> DriftOrder:
        return DriftOrder(skill=self.skill, model="any", **more)

    def start(self, *, settings: dict[str, Any] | None = None, **order: Any) -> DriftResult:
        return self.night("start", settings=settings, **{"answers": ANSWERS, **order})

    def night(self, step: Step = "night", *, settings: dict[str, Any] | None = None, **order: Any) -> DriftResult:
        """The call of today."""
        return watch_skill(
            self.order(**order), self.settings(**settings or {}), clock=self.clock, progress=SILENT, step=step
        )

    def nights(self, number: int) -> DriftResult:
        """The calls of so many days, until one has an alarm."""
        for _ in range(number):
            self.day += 1
            result = self.night()
            if result.event == "alarm":
                break
        return result
