"""Which text of a skill the report of a run shows: the measured one, and what it says where that is gone."""

from pathlib import Path

import pytest

from made_runs import record
from upskill.core.runs.skill_copy import keep_skill_text, skill_text
from upskill.core.skills.skills import read_skill
from upskill.evaluation.replay import (
    CHANGED,
    CHANGED_AND_LOST,
    LOST,
    measured_skill,
    skill_of,
)

HEAD = "---\nname: pdf-merge\ndescription: Merges.\n---\n"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run beside a skill, in the working folder."""
    here = tmp_path / "here"
    skill = here / "skills" / "pdf-merge"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(HEAD + "First.\n")
    (here / "runs" / "one").mkdir(parents=True)
    monkeypatch.chdir(here)
    return here / "runs" / "one"


def _skill(run: Path) -> Path:
    return run.parents[1] / "skills" / "pdf-merge"


def test_without_a_copy_the_skill_is_shown_while_it_is_the_same(run: Path) -> None:
    made = record(skill_digest=read_skill(_skill(run)).digest)
    found = measured_skill(run, made, [])
    assert (found.text, found.note) == (HEAD + "First.\n", None)
    assert skill_of(found).body == "First.\n"


def test_a_copy_is_shown_with_a_note_where_the_skill_has_changed_since(run: Path) -> None:
    skill = read_skill(_skill(run))
    made = record(skill_digest=skill.digest)
    keep_skill_text(run, skill_text(_skill(run), skill))
    assert measured_skill(run, made, []).note is None
    (_skill(run) / "SKILL.md").write_text(HEAD + "Second.\n")
    found = measured_skill(run, made, [])
    assert (found.text, found.note) == (HEAD + "First.\n", CHANGED)


def test_a_changed_skill_without_a_copy_is_not_shown_as_what_was_measured(run: Path) -> None:
    made = record(skill_digest="0" * 64)
    found = measured_skill(run, made, [])
    assert (found.name, found.text, found.note) == ("pdf-merge", None, CHANGED_AND_LOST)


def test_a_skill_outside_the_working_folder_is_not_read(run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = record(skill_digest=read_skill(_skill(run)).digest)
    monkeypatch.chdir(run)
    found = measured_skill(run, made, [])
    assert (found.text, found.note) == (None, LOST)


def test_a_copy_of_another_version_or_a_damaged_one_is_not_believed(run: Path) -> None:
    skill = read_skill(_skill(run))
    keep_skill_text(run, skill_text(_skill(run), skill))
    assert measured_skill(run, record(skill_digest="0" * 64), []).text is None
    (run / "skill.json").write_text("{")
    problems: list[str] = []
    assert measured_skill(run, record(skill_digest=skill.digest), problems).text is not None
    assert len(problems) == 1
