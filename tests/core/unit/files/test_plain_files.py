"""Run folders hold files and folders, and nothing that leads elsewhere or has no end."""

import os
from pathlib import Path

import pytest

from upskill.core.runs.journal import Journal
from upskill.core.runs.run_folders import require_plain_folder
from upskill.core.skills.skill_files import is_spending, open_plain, read_lines, read_plain
from upskill.errors import EngineError


def test_an_ordinary_file_is_read_to_its_end_and_no_further(tmp_path: Path) -> None:
    file = tmp_path / "a"
    file.write_bytes(b"one\ntwo")
    assert read_plain(file, most=7) == b"one\ntwo"
    assert list(read_lines(file)) == [b"one\n", b"two"]
    with pytest.raises(EngineError, match="larger than 0 MB"):
        read_plain(file, most=6)
    for missing in (tmp_path / "b", file / "below"):
        with pytest.raises(FileNotFoundError):
            read_plain(missing)


@pytest.mark.parametrize("flags", [os.O_RDONLY, os.O_WRONLY | os.O_CREAT | os.O_APPEND])
def test_links_pipes_folders_and_devices_are_not_opened(flags: int, tmp_path: Path) -> None:
    (tmp_path / "mine").write_text("mine")
    (tmp_path / "link").symlink_to("mine")
    (tmp_path / "dangling").symlink_to("made")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "folder").mkdir()
    for name in ("link", "dangling", "pipe", "folder", "/dev/full"):
        with pytest.raises(EngineError, match="cannot be read or written"):
            open_plain(tmp_path / name, flags)
    assert (tmp_path / "mine").read_text() == "mine"
    assert not (tmp_path / "made").exists()


def test_what_the_engine_of_a_killed_run_left_is_no_reason_to_refuse_a_run(tmp_path: Path) -> None:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "link").symlink_to("/")
    with pytest.raises(EngineError, match="is a link"):
        require_plain_folder(tmp_path)
    (tmp_path / "run.json").write_text("{}")
    require_plain_folder(tmp_path)
    (tmp_path / "engine" / "link").unlink()
    (tmp_path / "engine").rmdir()
    (tmp_path / "engine").symlink_to("/")
    with pytest.raises(EngineError, match="engine: cannot be read or written: it is a link"):
        require_plain_folder(tmp_path)


@pytest.mark.parametrize("amount", [-1, -0.5, float("nan"), float("inf")])
def test_nothing_is_spent_that_gives_money_back(amount: float) -> None:
    assert not is_spending(1, amount, None)
    assert is_spending(0, 3.5, None)


def test_a_journal_is_not_cut_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("no line end")
    (tmp_path / "teacher.jsonl").symlink_to("mine.txt")
    with pytest.raises(EngineError, match="it is a link"):
        Journal(tmp_path / "teacher.jsonl")
    assert (tmp_path / "mine.txt").read_text() == "no line end"
