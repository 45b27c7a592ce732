"""The two recorded teachings of the gallery, played back without any model: the same answers, the same verdict."""

import json
from pathlib import Path

import pytest
from tools.gallery import GALLERY

from teaching_recording import outcome_of, replay
from upskill.core.skills.skills import read_skill

STORIES = ("gpu-kernels", "sql-migrations")


@pytest.mark.parametrize("story", STORIES)
def test_a_recorded_story_ends_with_the_same_verdict(story: str, tmp_path: Path) -> None:
    recording = GALLERY / "recorded" / story
    expected = json.loads((recording / "expected.json").read_text(encoding="utf-8"))
    assert outcome_of(replay(recording, tmp_path)) == expected


@pytest.mark.parametrize("story", STORIES)
def test_the_skill_of_the_gallery_is_the_one_that_was_taught(story: str) -> None:
    """It has another name, and its body ends with a line that points to the long form; the rest is the teacher's."""
    (made,) = (GALLERY / "recorded" / story / "made").glob("*/SKILL.md")
    taught = read_skill(made.parent).body.strip()
    assert taught
    assert read_skill(GALLERY / story).body.strip().startswith(taught)
