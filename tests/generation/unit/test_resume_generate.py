"""A `generate` goes on only with the questions that it began with."""

from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.generation.files import TeachingFolder, TeachingRecord
from upskill.generation.generate import resume_generate


def test_a_run_of_an_earlier_version_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    TeachingFolder(path=tmp_path).write_record(
        TeachingRecord(
            started_at="2026-11-01T10:00:00Z",
            versions={"upskill": "0.4.0"},
            order={},
            teacher="scripted/teacher.yaml",
            case_writer="scripted/teacher.yaml",
            students=(),
        )
    )
    with pytest.raises(UsageError, match="asked the teacher other questions") as refused:
        resume_generate(tmp_path)
    assert "upskill 0.4.0" in (refused.value.hint or "")
