"""What a person types to resume a run: the servers that it was started with."""

import json
from pathlib import Path

from upskill.settings import resolve_settings
from upskill.workflows.evaluating.typed_again import TypedAgain
from upskill.workflows.generating.resuming import TypedGenerate


def typed_again(run: Path, **settings: object) -> TypedAgain:
    """The servers of a run of `eval`, and whatever else is typed."""
    record = next(path for path in (run / "run.json", run / "generate.json") if path.exists())
    known = json.loads(record.read_text())["settings"]
    urls = {name: known[name]["value"] for name in ("base_url", "teacher_base_url")}
    return TypedAgain(settings=resolve_settings({**urls, **settings}))


def generate_again(run: Path, **settings: object) -> TypedGenerate:
    """The same for a run of `generate`."""
    return TypedGenerate(again=typed_again(run, **settings))
