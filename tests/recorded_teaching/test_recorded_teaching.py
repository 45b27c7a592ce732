"""Teachings that were recorded, played back without any model: the same answers must end in the same verdict."""

import json
from pathlib import Path

import pytest

from teaching_recording import outcome_of, replay

RECORDINGS = sorted(path.parent for path in Path(__file__).parent.glob("*/expected.json"))


@pytest.mark.parametrize("recording", RECORDINGS, ids=lambda path: path.name)
def test_a_recorded_teaching_ends_with_the_same_verdict(recording: Path, tmp_path: Path) -> None:
    expected = json.loads((recording / "expected.json").read_text(encoding="utf-8"))
    assert outcome_of(replay(recording, tmp_path)) == expected


def test_there_is_something_to_play_back() -> None:
    assert RECORDINGS
