"""Scripted students with tools go through the executable cases of the gallery from beginning to end."""

import json
from pathlib import Path

import pytest
from tools.gallery import GALLERY, levels, skill_names
from tools.gallery_student import RIGHT_WITHOUT, WRONG_WITH, main

from forking import Forker

SKILLS = skill_names()
SHORT = ("github-actions",)
"""Of the others the cases take longer; `make full` runs them."""


def test_the_scripted_students_are_up_to_date(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--check"]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "skill", [pytest.param(name, marks=() if name in SHORT else pytest.mark.full) for name in SKILLS]
)
def test_a_student_does_right_with_the_skill_and_wrong_without(skill: str, tmp_path: Path, forker: Forker) -> None:
    folder = GALLERY / skill
    script = f"scripted/{folder / 'evals' / 'student.yaml'}"
    for level, cases in levels(skill).items():
        if level == "knowledge":
            continue
        words = ["eval", str(folder), "-t", str(folder / "evals" / "levels" / f"{level}.json"), "-m", script]
        words += ["--harness", "agent", "--runs", "1", "--yes", "--json", "--fresh", "--runs-dir", str(tmp_path)]
        ran = forker.run(*words, cwd=tmp_path)
        assert ran.returncode == 0, ran.stderr
        (student,) = json.loads(ran.stdout)["students"]
        rates = {arm: found["pass_rate"] for arm, found in student["arms"].items()}
        assert rates["baseline"] == pytest.approx(RIGHT_WITHOUT / len(cases))
        assert rates["offered"] == pytest.approx(1 - WRONG_WITH / len(cases))
