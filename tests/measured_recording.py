"""A measurement of the gallery that was recorded: made by `benchmarks/gallery_students.py --record`, played back by
`tests/gallery/guard`.

It lies in the folder of its run, `gallery/measured/SKILL/RUN`, or `gallery/controls/SKILL/RUN` with controls:

    run.json        the kept result, and the settings with which it was typed
    student.jsonl   what the student's server answered (`recorded_student.py`)
    looks.jsonl     the lines of the ledger about this skill, as they were before the run; where there were any
"""

import json
import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from os.path import relpath
from pathlib import Path
from typing import Any

from forking import Forker
from recorded_student import RecordedStudent

ROOT = Path(__file__).parent.parent
MEASURED = ROOT / "gallery" / "measured"
WITH_CONTROLS = ROOT / "gallery" / "controls"
RECORDING = "student.jsonl"
LOOKS = "looks.jsonl"
_NOT_TYPED_AGAIN = ("--model", "--base-url", "--fresh", "UPSKILL_RUNS_DIR")
"""The model is typed by its name; the others are those of the recording."""
MOST_SECONDS = 1200
"""Of a command. One takes seconds, unless its checks run programs and other work is on the processor."""
_FIGURE = re.compile(r"[+−-]?\d+(?:\.\d+)?%?")
_STUDENT = ("model", "harness", "verdict", "claim", "end", "broken", "suspected")
_ARM = ("pass_rate", "passed", "trials", "errored", "faults", "lost", "refused", "assertions", "tokens", "turns")
_LIFT = ("arm", "against", "mean", "interval", "about", "confidence", "pairs", "dropped", "cases", "better", "worse")


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A kept run."""

    run: Path

    @cached_property
    def record(self) -> dict[str, Any]:
        """What `run.json` holds."""
        return dict(json.loads((self.run / "run.json").read_text(encoding="utf-8")))

    @property
    def name(self) -> str:
        """Skill, level, model and, unless it is asked in chat, harness; and whether there were controls."""
        harness = self.record["harness"].split("/")[0]
        parts = (self.run.parent.name, self.level, self.model, *(["controls"] if self.has_controls else []))
        return "-".join(parts if harness == "chat" else (*parts, harness))

    @property
    def has_controls(self) -> bool:
        """Whether a placebo was asked too."""
        return "placebo" in self.record["arms"]

    @property
    def model(self) -> str:
        """The name that was typed."""
        return str(self.record["students"][0]["name"])

    @property
    def level(self) -> str:
        """The name of the case file, but for the questions of a skill."""
        file = Path(self.record["case_source"])
        return file.stem if file.parent.name == "levels" else "knowledge"

    @property
    def recording(self) -> Path:
        """What its server answered."""
        return self.run / RECORDING

    def words(self, url: str) -> list[str]:
        """What was typed after `upskill`, in this repository, with another server."""
        skill, cases = (self._from_root(self.record[name]) for name in ("skill_source", "case_source"))
        options = [word for option, value in self._set("--") for word in (option, value)]
        # The cases that a skill names itself were not typed.
        typed = [] if Path(cases).name == "skill_meta.json" else ["-t", cases]
        runs = ["--runs", str(self.record["repeats"]), *(["--controls"] if self.has_controls else [])]
        return ["eval", skill, "-m", self.model, *runs, *options, *typed, "--base-url", url, "--yes", "--json"]

    def variables(self) -> dict[str, str]:
        """Those that were set."""
        return dict(self._set("UPSKILL_"))

    def _set(self, kind: str) -> list[tuple[str, str]]:
        """The options or the variables that were given, with their values."""
        settings = self.record["settings"].values()
        return [
            (setting["origin"], _typed(setting["value"]))
            for setting in settings
            if setting["origin"].startswith(kind) and setting["origin"] not in _NOT_TYPED_AGAIN
        ]

    def _from_root(self, source: str) -> str:
        return relpath((self.run / source).resolve(), ROOT)


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def recorded() -> Iterator[Measured]:
    """Every kept run that has a recording."""
    folders = (MEASURED, WITH_CONTROLS)
    return (Measured(run=path.parent) for runs in folders for path in sorted(runs.glob(f"*/*/{RECORDING}")))


def evaluate(measured: Measured, folder: Path, student: RecordedStudent, forker: Forker) -> dict[str, Any]:
    """Type the command of a run, with runs, ledger and remembered answers in a folder: what it printed as `--json`.

    Raises `AssertionError` where it printed nothing.
    """
    cache = folder / "cache" / "upskill"
    if not cache.exists():
        cache.mkdir(parents=True)
        if (looks := measured.run / LOOKS).exists():
            shutil.copyfile(looks, cache / LOOKS)
    home = folder / "home"
    home.mkdir(exist_ok=True)
    here = {"HOME": str(home), "XDG_CACHE_HOME": str(cache.parent), "UPSKILL_RUNS_DIR": str(folder / "runs")}
    environment = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", **here, **measured.variables()}
    with forker.started(environment, *measured.words(student.url), cwd=ROOT) as command:
        done = command.wait(seconds=MOST_SECONDS)
    assert done.stdout, done.stderr
    return dict(json.loads(done.stdout))


def figures(results: dict[str, Any]) -> list[dict[str, Any]]:
    """What the same answers must lead to whenever they are given: of words only the figures that they hold."""
    return [
        {
            **{name: student[name] for name in _STUDENT},
            "sentence": _FIGURE.findall(student["sentence"]),
            "arms": {arm: {name: of[name] for name in _ARM} for arm, of in student["arms"].items()},
            "lifts": [{name: lift[name] for name in _LIFT} for lift in student["lifts"]],
        }
        for student in results["students"]
    ]
