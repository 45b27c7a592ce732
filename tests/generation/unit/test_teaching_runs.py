"""The record of a `generate`: written whatever its paths are made of, and read with a sentence when it is damaged."""

from dataclasses import replace
from pathlib import Path

import pytest

from upskill.errors import EngineError, UsageError
from upskill.generation.draft import Draft
from upskill.generation.files import TeachingRecord, create_teaching_run, read_teaching_run

RECORD = TeachingRecord(
    started_at="2026-11-15T12:00:00+00:00",
    versions={"upskill": "0.1.0"},
    order={"task": "read gauges", "sources": ["notes.md"]},
    teacher="anthropic/opus",
    case_writer="anthropic/opus",
    students=("anthropic/haiku",),
    notes=("a note",),
)


def test_a_record_comes_back_equal(tmp_path: Path) -> None:
    run = create_teaching_run(tmp_path, about="read gauges")
    run.write_record(RECORD)
    assert read_teaching_run(run.path) == RECORD


def test_a_path_that_is_not_utf8_does_not_stop_the_run(tmp_path: Path) -> None:
    run = create_teaching_run(tmp_path, about="a")
    run.write_record(replace(RECORD, order={"sources": ["caf\udce9.md"]}, notes=("half \ud83d",)))
    read = read_teaching_run(run.path)
    assert read.order == {"sources": ["caf?.md"]}
    assert read.notes == ("half ?",)


def test_a_key_of_the_users_own_is_not_in_a_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my-very-own-key-7413-7413")
    run = create_teaching_run(tmp_path, about="a")
    run.write_record(replace(RECORD, notes=("refused my-very-own-key-7413-7413",)))
    assert b"7413-7413" not in (run.path / "generate.json").read_bytes()


def test_a_folder_without_a_record_is_not_the_run_of_a_generate(tmp_path: Path) -> None:
    no_run = r"is not a run folder of `generate` \(it has no generate\.json\)"
    for folder, why in ((tmp_path, no_run), (tmp_path / "missing", "no such folder")):
        with pytest.raises(UsageError, match=why) as caught:
            read_teaching_run(folder)
        assert caught.value.hint == "list the runs with `upskill runs`"


@pytest.mark.parametrize("damage", [b"", b"{", b"null", b"{}", b"\xff", b'{"started_at": 1}'])
def test_a_damaged_record_is_explained(tmp_path: Path, damage: bytes) -> None:
    (tmp_path / "generate.json").write_bytes(damage)
    with pytest.raises(EngineError, match=r"cannot be read as upskill\.generate/1"):
        read_teaching_run(tmp_path)


def test_a_record_of_another_format_is_not_misread(tmp_path: Path) -> None:
    run = create_teaching_run(tmp_path, about="a")
    run.write_record(replace(RECORD, format="upskill.generate/2"))
    with pytest.raises(EngineError, match=r"has the format 'upskill\.generate/2'") as caught:
        read_teaching_run(run.path)
    assert caught.value.hint == "resume it with the version of upskill that wrote it"


def test_a_record_that_cannot_be_written_is_explained(tmp_path: Path) -> None:
    run = create_teaching_run(tmp_path, about="a")
    run.path.rmdir()
    with pytest.raises(EngineError, match="cannot be written"):
        run.write_record(RECORD)


def test_the_same_draft_is_kept_once(tmp_path: Path) -> None:
    run = create_teaching_run(tmp_path, about="a")
    draft = Draft(name="gauge", description="Reads tide gauges.", body="Read it.\n")
    assert run.keep_draft(draft) == run.keep_draft(draft) == run.path / "drafts" / "1" / "gauge"
    assert run.keep_draft(replace(draft, body="Read it twice.\n")) == run.path / "drafts" / "2" / "gauge"
