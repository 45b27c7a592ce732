"""The skill of a run as it is typed: a resumed run names it in its next command, although nobody typed it again."""

from pathlib import Path

import pytest

from commented_runs import make_run, make_skill
from upskill.evaluation.report import skill_folder_of


def test_the_skill_of_a_run_is_named_from_the_working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = make_run(tmp_path, make_skill(tmp_path))
    assert skill_folder_of(run) == "skills/moor"
    assert skill_folder_of(tmp_path / "nothing") is None


def test_a_skill_outside_the_working_folder_is_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = make_run(tmp_path, make_skill(tmp_path), skill_source="../../../../etc")
    assert skill_folder_of(run) is None
