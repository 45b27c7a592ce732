"""A folder that is named stands for the files in it: a link in it is not read, and that is said."""

import shutil
from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.generation.gathering import gather
from upskill.traces.read_trace import read_trace

SESSION = '{"role": "user", "content": "What is in the vault?"}\n{"role": "assistant", "content": "the private part"}\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one recording, one link to it, and one link to a recording of somebody else."""
    found = tmp_path / "folder"
    found.mkdir()
    (tmp_path / "private.jsonl").write_text(SESSION)
    (found / "own.jsonl").write_text(SESSION.replace("private", "public"))
    (found / "inside.jsonl").symlink_to(found / "own.jsonl")
    (found / "outside.jsonl").symlink_to(tmp_path / "private.jsonl")
    return found


def test_a_link_in_a_folder_of_recordings_is_not_read(folder: Path) -> None:
    source = read_trace(str(folder), folder=folder, environment={}, now=0.0)
    assert [trace.name for trace in source.traces] == ["own.jsonl"]
    assert source.refused == tuple(f"{name}.jsonl: cannot be read: it is a link" for name in ("inside", "outside"))


def test_a_link_that_is_named_itself_is_read(folder: Path) -> None:
    source = read_trace(str(folder / "outside.jsonl"), folder=folder, environment={}, now=0.0)
    assert len(source.traces) == 1


def test_no_link_out_of_a_repository_is_learned_from(folder: Path, tmp_path: Path) -> None:
    (folder / "own.jsonl").unlink()
    (folder / "inside.jsonl").unlink()
    (folder / "notes.md").symlink_to(tmp_path / "private.jsonl")
    (folder / "secrets").symlink_to(tmp_path)
    with pytest.raises(UsageError, match="contains no session and no readable text"):
        gather("a task", sources=[str(folder)], folder=folder, environment={})
    (folder / "README.md").write_text("# How it works\n\nIt works.\n")
    gathered = gather("a task", sources=[str(folder)], folder=folder, environment={})
    assert [document.name for document in gathered.documents] == ["README.md"]
    shutil.rmtree(folder)
