"""A skill with any number of cases, for measurements of size."""

import json
from pathlib import Path

BODY = "A line about nothing in particular.\n" * 12


def prompt(number: int) -> str:
    """The prompt of one case."""
    return f"What is number {number}?"


def write_big_skill(folder: Path, *, cases: int) -> Path:
    """A skill whose cases nobody can pass."""
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: big\ndescription: For measurements.\n---\n{BODY}")
    items = [{"id": str(n), "input": prompt(n), "expected": {"contains": "never"}} for n in range(cases)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": items}))
    return folder
