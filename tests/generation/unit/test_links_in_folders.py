"""A folder that is named stands for what is in it: a link in it that leads elsewhere is not read, and that is said."""

import shutil
from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.generation.gathering import gather
from upskill.generation.order import in_place
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


def test_a_link_out_of_a_folder_of_recordings_is_not_read(folder: Path) -> None:
    source = read_trace(str(folder), folder=folder, environment={}, now=0.0)
    assert [trace.name for trace in source.traces] == ["inside.jsonl", "own.jsonl"]
    assert source.refused == ("outside.jsonl: is a link out of the folder and was not read; name its target instead",)


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


def test_material_from_the_hub_is_recorded_with_its_commit(tmp_path: Path) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    notes = tmp_path / "hub" / "datasets--team--notes" / "snapshots" / commit / "in" / "notes.md"
    notes.parent.mkdir(parents=True)
    notes.write_text("# Notes\n\nThe port is 7413.\n")
    material = gather("the port", sources=(str(notes),), folder=tmp_path, environment={})
    assert material.sources == (f"hf://datasets/team/notes@{commit}/in/notes.md",)
    assert "7413" in material.documents[0].text


def test_a_skill_from_the_hub_is_never_replaced_in_the_cache(tmp_path: Path) -> None:
    skill = tmp_path / "models--team--port" / "snapshots" / ("0123456789" * 4) / "port"
    with pytest.raises(UsageError, match=r"^hf://team/port@0123456789\d+/port: is on the Hub and is not replaced$"):
        in_place(skill)
