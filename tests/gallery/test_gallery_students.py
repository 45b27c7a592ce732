"""Scripted students with tools go through the executable cases of the gallery from beginning to end."""

import json
from pathlib import Path

import pytest
from tools.gallery import GALLERY, KNOWLEDGE, level_files, levels, skill_names
from tools.gallery_student import RIGHT_WITHOUT, WRONG_WITH, main

from forking import Forker

MOST_SECONDS = 1200
SHORT = "github-actions"
"""The skill whose first, middle and last case run in CI. `make full` runs all cases of all skills."""


def test_the_scripted_students_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


def test_a_student_does_right_with_the_skill_and_wrong_without(tmp_path: Path, forker: Forker) -> None:
    whole = json.loads(level_files(SHORT)["executable"].read_text(encoding="utf-8"))["cases"]
    chosen = [whole[0], whole[len(whole) // 2], whole[-1]]
    cases = tmp_path / "cases.json"
    cases.write_text(json.dumps({"cases": chosen}), encoding="utf-8")
    assert _rates(SHORT, cases, tmp_path, forker) == pytest.approx({"baseline": 1 / 3, "offered": 2 / 3})


@pytest.mark.full
@pytest.mark.parametrize("skill", skill_names())
def test_a_student_goes_through_all_cases(skill: str, tmp_path: Path, forker: Forker) -> None:
    files = level_files(skill)
    for level, cases in levels(skill).items():
        if level == KNOWLEDGE:
            continue
        rates = _rates(skill, files[level], tmp_path, forker)
        expected = {"baseline": RIGHT_WITHOUT / len(cases), "offered": 1 - WRONG_WITH / len(cases)}
        assert rates == pytest.approx(expected)


def _rates(skill: str, cases: Path, here: Path, forker: Forker) -> dict[str, float]:
    """The pass rates without the skill and with it offered."""
    folder = GALLERY / skill
    words = ["eval", str(folder), "-t", str(cases), "-m", f"scripted/{folder / 'evals' / 'student.yaml'}"]
    words += ["--harness", "agent", "--runs", "1", "--yes", "--json", "--fresh"]
    with forker.started({"PATH": "/usr/bin:/bin", "HOME": str(here), "LANG": "C.UTF-8"}, *words, cwd=here) as command:
        done = command.wait(seconds=MOST_SECONDS)
    assert done.returncode == 0, done.stderr
    (student,) = json.loads(done.stdout)["students"]
    return {arm: found["pass_rate"] for arm, found in student["arms"].items() if arm in ("baseline", "offered")}
