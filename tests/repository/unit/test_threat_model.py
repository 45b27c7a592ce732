"""Every promise of the threat model names a test, and that test is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
PROMISED = PAGE.partition("## What is promised\n")[2].partition("\n## ")[0]
ROWS = [row for row in PROMISED.splitlines() if row.startswith("|") and not row.startswith(("| promise", "|---"))]
ACTORS = (
    *("you", "a settings file", "a skill", "a case file", "a plug-in", "a run folder", "a session", "a teacher"),
    *("the model", "a coding agent", "a judge", "a server", "a pull request", "other users"),
)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:60])
def test_a_promise_is_held_by_a_test_that_is_there(row: str) -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row.rstrip("| ").rpartition("|")[2])
    assert named, "a promise without a test"
    for path, name in named:
        assert re.search(rf"^\s*(async )?def {name}\(", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE), name


def test_everybody_who_is_trusted_or_not_has_promises() -> None:
    headings = " ".join(re.findall(r"^### (.+)$", PROMISED, re.MULTILINE)).lower()
    assert [actor for actor in ACTORS if actor not in headings] == []
    assert len(ROWS) >= 40
