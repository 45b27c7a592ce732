"""Records of runs made by hand, for tests: as values, and as the JSON that a summary of a run folder reads."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from upskill.core.nouns import Student
from upskill.core.runs.records import RunRecord

RECORD = RunRecord(
    started_at="2026-11-15T12:00:00+00:00",
    versions={"upskill": "0.1.0"},
    skill_name="pdf-merge",
    skill_digest="d" * 64,
    skill_source="../../skills/pdf-merge",
    case_source="../../cases.json",
    cases=(),
    students=(Student(name="haiku", model="anthropic/haiku"),),
    arms=("baseline", "with_skill"),
    repeats=3,
    design="fixed",
    min_lift=None,
    seed=0,
    harness="chat/1",
    frame="frame/1",
)


def record(**changes: Any) -> RunRecord:
    """A whole record that differs in this."""
    return replace(RECORD, **changes)


def student_json(model: str = "haiku", **changes: Any) -> dict[str, Any]:
    """What a run found for one student."""
    lift = {
        "arm": "with_skill",
        "against": "baseline",
        "mean": 0.25,
        "interval": [-0.05, 0.5],
        "about": "new cases",
        "pairs": 18,
    }
    arms = {"baseline": {"pass_rate": 0.5}, "with_skill": {"pass_rate": 0.75}}
    values = {"model": model, "harness": "chat", "verdict": "helps", "sentence": "helps", "arms": arms, "lifts": [lift]}
    return values | changes


def make_run(
    folder: Path,
    *,
    at: str = "2026-11-15T09:30:00+00:00",
    skill: str = "knots",
    students: Sequence[dict[str, Any]] = (),
    **changes: Any,
) -> Path:
    """A run folder with a record of a run that ended, and a log of nothing in particular."""
    folder.mkdir(parents=True)
    record = {
        "format": "upskill.run/1",
        "status": "finished",
        "started_at": at,
        "finished_at": at,
        "skill_name": skill,
        "skill_digest": "5f" * 32,
        "results": {"students": [*students] or [student_json()], "bought": {"cost": 0.5}},
    }
    (folder / "run.json").write_text(json.dumps(record | changes))
    (folder / "trials.jsonl").write_bytes(b"x" * 1_000)
    return folder
