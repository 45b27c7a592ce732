"""Changes to folders happen together or not at all, wherever an interrupt comes."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from upskill.share.files import FolderChanges, NewFile


@pytest.fixture
def target(tmp_path: Path) -> Path:
    folder = tmp_path / "skills" / "port"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("old")
    return folder


def replace_it(target: Path) -> None:
    with FolderChanges() as changes:
        changes.stage_folder(target, {"SKILL.md": NewFile(b"new")})
        changes.stage_folder(target.with_name("tide"), {"SKILL.md": NewFile(b"new")})
        changes.apply()


def test_an_interrupt_while_the_old_folder_is_removed_leaves_nothing_of_it(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    remove, removed = shutil.rmtree, []

    def interrupted(path: Path, **options: Any) -> None:
        removed.append(path)
        if len(removed) == 1:
            raise KeyboardInterrupt
        remove(path, **options)

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    replace_it(target)
    assert sorted(one.name for one in target.parent.iterdir()) == ["port", "tide"]
    assert (target / "SKILL.md").read_text() == "new"


@pytest.mark.parametrize("calls", range(1, 6))
def test_an_interrupt_between_renames_takes_everything_back(
    target: Path, monkeypatch: pytest.MonkeyPatch, calls: int
) -> None:
    """Two folders take three renames; later ones are those that take back, which go on after a second interrupt."""
    move, done = Path.replace, []
    interrupts = {calls, 4} if calls < 4 else {3, calls}

    def interrupted(self: Path, to: Path) -> Path:
        done.append(to)
        if len(done) in interrupts:
            raise KeyboardInterrupt
        return move(self, to)

    monkeypatch.setattr(Path, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace_it(target)
    assert [one.name for one in target.parent.iterdir()] == ["port"]
    assert (target / "SKILL.md").read_text() == "old"
