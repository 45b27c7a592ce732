"""Teachings that were recorded, played back without any model: the same answers must end in the same verdict."""

import json
from pathlib import Path

import pytest

from golden.held import hold_entry
from teaching_recording import outcome_of, replay

ROOT = Path(__file__).parents[2]
RECORDINGS = {
    f"{path.parent.parent.name}-{path.parent.name}": path.parent
    for path in sorted(ROOT.glob("gallery/recorded/*/*/expected.json"))
}


@pytest.mark.parametrize("name", RECORDINGS)
def test_a_recorded_teaching_ends_with_the_same_verdict(name: str, tmp_path: Path) -> None:
    recording = RECORDINGS[name]
    expected = json.loads((recording / "expected.json").read_text(encoding="utf-8"))
    assert outcome_of(replay(recording, tmp_path)) == expected
    # The name of a question ends with the digest of what was asked.
    asked = sorted(path.parent.relative_to(tmp_path).as_posix() for path in tmp_path.glob("handoff/*/*/question.md"))
    hold_entry("values/teacher-questions", name, asked)


def test_there_is_something_to_play_back() -> None:
    assert RECORDINGS
