"""The command that a scene prints last, typed as it stands: it asks what was meant."""

import json
import re
import shlex
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from forking import Forker
from provider import Provider
from report.pages.scenes import SCENES, TEACHER, Project

QUICK = ("one", "no-verdict")
COMMAND = re.compile(r"((?:UPSKILL_\w+=\S+ )*upskill (?:eval|generate|cases) [^<\n]+)")
ASKED = ("skill_name", "skill_digest", "design", "repeats", "seed", "harness", "judge", "arms", "sandbox")
"""What a record says of the question, beside cases and students."""
ENDS = {"one": 0, "agents": 0, "generate": 0, "no-verdict": 3}


def _newest(project: Project) -> dict[str, Any]:
    """The record of the newest evaluation."""
    newest = max((project.here / "runs").rglob("run.json"), key=lambda path: path.stat().st_mtime_ns)
    found: dict[str, Any] = json.loads(newest.read_text())
    return found


def _students(record: dict[str, Any]) -> list[tuple[str, str | None]]:
    return [(one["name"], one["endpoint"]) for one in record["students"]]


def _command(project: Project, page: Path) -> tuple[list[str], dict[str, str]]:
    """The words after `upskill` that the page shows, which are those of the terminal, and the variables before it."""
    shown = page.read_text(encoding="utf-8").replace("&#39;", "'").replace("&#34;", '"')
    command = " ".join(COMMAND.findall(shown[shown.index('id="headline"') :])[0].split())
    if page.name == "report.html":
        printed = COMMAND.findall(project.terminal[project.terminal.rindex("\nnext, ") :])[0]
        assert " ".join(printed.split()) == command
    words = shlex.split(command)
    variables = dict(word.split("=", 1) for word in words if word.startswith("UPSKILL_"))
    return words[len(variables) + 1 :], variables


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in QUICK else [pytest.mark.full]) for name in SCENES if name != "sweep"],
)
def test_the_next_command_of_a_scene(name: str, tmp_path: Path, forker: Forker) -> None:
    project = Project(tmp_path / name, forker)
    with closing(project), Provider(lists=TEACHER) as teacher:
        page = SCENES[name](project)
        words, variables = _command(project, page)
        if words[0] != "eval":
            # It would ask a teacher: who that is, and what it takes, is said before.
            said = project.type(*words, "--dry-run", "-m", TEACHER, "--base-url", teacher.url, variables=variables)
            assert TEACHER in said
            assert any("skills/" in word for word in words)
            assert teacher.requests == []
            return
        if name == "history":
            _type_history(project, words)
            return
        before = _newest(project)
        project.type(*words, exits=ENDS[name], variables=variables)
        if (after := _newest(project)) == before:
            last = project.terminal[project.terminal.rindex("$ upskill ") :]
            assert "recorded" in last or "from the cache" in last or "same as" in last, last
    assert {key: after[key] for key in ASKED} == {key: before[key] for key in ASKED}
    assert _students(after) == _students(before)
    assert {one["id"] for one in after["cases"]} == {one["id"] for one in before["cases"]}


def _type_history(project: Project, words: list[str]) -> None:
    """A person fills in which version is the old one; everything else stands there."""
    assert words[1] == "skills/tarnctl"
    assert words[-1] == "previous:OLD_VERSION"
    old = project.here / "old" / "tarnctl"
    old.mkdir(parents=True)
    text = (project.here / "skills" / "tarnctl" / "SKILL.md").read_text(encoding="utf-8")
    (old / "SKILL.md").write_text("\n".join(text.splitlines()[:-9]) + "\n", encoding="utf-8")
    before = _newest(project)
    project.type(*words[:-1], "previous:old/tarnctl")
    after = _newest(project)
    assert (after["arms"], _students(after)) == (["previous", "with_skill"], _students(before))
    assert after["skill_digest"] == before["skill_digest"]
