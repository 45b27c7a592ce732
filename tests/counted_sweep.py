"""A sweep against a loopback provider that counts every request, so that nothing can be bought twice unseen."""

import json
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from provider import Behaviour, Provider, ReceivedRequest
from upskill.sweep.attempt import run_attempt
from upskill.sweep.budget import reserve_for
from upskill.sweep.files import SweepFolder, value_text
from upskill.sweep.plan import plan_sweep
from upskill.sweep.values import Assignment, SweepResult

COMMAND = str(Path(sys.executable).parent / "upskill")
Key = tuple[int, int, bool]
"""Skill, case, and whether the skill is there."""


def passes(key: Key) -> bool:
    """What decides an answer: the first skill of three helps, the second changes nothing, the third does harm."""
    skill, case, has_skill = key
    return (has_skill, case % 2 == 0, not has_skill)[skill % 3]


class CountedSweep:
    """So many skills with so many cases, each asked so often with and without its skill."""

    def __init__(
        self,
        folder: Path,
        *,
        skills: int,
        cases: int = 4,
        runs: int = 2,
        latency: float = 0.05,
        concurrency: int = 2,
        **manifest: Any,
    ) -> None:
        self.runs, self.cases, self.skills, self.concurrency = runs, cases, skills, concurrency
        self.asked: Counter[Key] = Counter()
        self.place = folder / "sweep"
        self._folder = folder
        self._latency = latency
        self._manifest = {
            "format": "upskill.sweep/1",
            "skills": ["skills/*/"],
            "students": ["any"],
            "runs": runs,
            "concurrency": concurrency,
            "confirm": False,
            **manifest,
        }
        self._events: list[tuple[int, threading.Event]] = []
        for skill in range(skills):
            self._write_skill(skill)

    def _write_skill(self, skill: int) -> None:
        folder = self._folder / "skills" / f"s{skill:04}"
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: s{skill:04}\ndescription: Does {skill}.\n---\nSay {skill}.\n")
        cases = [
            {"id": f"c{case}", "input": f"Skill {skill}, question {case}?", "expected": {"contains": "yes"}}
            for case in range(self.cases)
        ]
        (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))

    @property
    def planned(self) -> int:
        """The requests of all evaluations, each once."""
        return self.skills * self.cases * self.runs * 2

    @property
    def requests(self) -> int:
        return sum(self.asked.values())

    @property
    def bought_again(self) -> int:
        """Requests beyond those of a run in which nothing goes wrong."""
        return sum(max(0, times - self.runs) for times in self.asked.values())

    def behave(self, asked: ReceivedRequest) -> Behaviour:
        found = re.search(r"Skill (\d+), question (\d+)\?", asked.prompt)
        assert found is not None
        key = int(found[1]), int(found[2]), asked.has_skill
        self.asked[key] += 1
        for number, event in self._events:
            if self.requests >= number:
                event.set()
        # No answer is a copy of another: a server that repeats itself is found out.
        return Behaviour(text=f"{'yes' if passes(key) else 'no'}, {asked.number}", latency=self._latency)

    def provider(self) -> Provider:
        return Provider(self.behave)

    def after(self, requests: int) -> threading.Event:
        """Set as soon as so many requests have come."""
        event = threading.Event()
        self._events.append((requests, event))
        return event

    def plan(self, url: str) -> SweepFolder:
        """Plan it; the plan names the server."""
        path = self._folder / "sweep.toml"
        values = {**self._manifest, "base_url": url}
        path.write_text("".join(f"{key} = {json.dumps(value)}\n" for key, value in values.items()))
        folder = SweepFolder(str(self.place))
        plan_sweep(path, folder)
        return folder

    def start(self, *words: str, environment: Mapping[str, str] | None = None) -> "subprocess.Popen[str]":
        """Type `upskill sweep run`, and do not wait for it."""
        return subprocess.Popen(
            [COMMAND, "sweep", "run", str(self.place), "--yes", "--json", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=None if environment is None else dict(environment),
        )

    def results(self) -> dict[str, SweepResult]:
        """By the name of the skill."""
        folder = SweepFolder(str(self.place))
        return {one.name: one for one in folder.results(job.id for job in folder.jobs())}

    def require_whole(self) -> None:
        """Fail where an answer of the plan is lost, counted twice, or not what the server said."""
        for name, result in self.results().items():
            skill = int(name[1:])
            expected = {
                ("any", f"c{case}", arm, repeat): passes((skill, case, arm == "with_skill"))
                for case in range(self.cases)
                for arm in ("with_skill", "baseline")
                for repeat in range(1, self.runs + 1)
            }
            rows = [tuple(row[:4]) for row in result.rows]
            assert len(rows) == len(set(rows)), name
            assert {tuple(row[:4]): row[4] for row in result.rows} == expected, name
        assert len(self.results()) == self.skills


def verdicts(results: Mapping[str, SweepResult]) -> dict[str, Any]:
    """What each result says of its models."""
    said = {}
    for name, result in results.items():
        students = json.loads(json.dumps(result.evaluation["students"]))
        said[name] = [(one["verdict"], one["sentence"], one["lifts"]) for one in students]
    return said


def run_plainly(folder: SweepFolder, task: Callable[[str], str] = run_attempt) -> None:
    """One evaluation after the other, in this process."""
    plan = folder.plan()
    for job in folder.jobs():
        task(value_text(Assignment(at=folder.objects.place, plan=plan, job=job, caps=reserve_for(job))))
