"""Run folders hold files and folders, and nothing that leads elsewhere or has no end."""

import os
from pathlib import Path

import pytest

from upskill.core.runs.journal import Journal
from upskill.core.runs.run_folders import require_plain_folder
from upskill.core.skills.skill_files import is_spending, read_plain
from upskill.errors import EngineError


def test_what_is_wrong_with_a_file_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one two")
    (tmp_path / "link").symlink_to("a")
    os.mkfifo(tmp_path / "pipe")
    assert read_plain(tmp_path / "a", most=7) == b"one two"
    for name, why in (("a", "it is larger than 6 bytes"), ("link", "it is a link"), ("pipe", "not an ordinary file")):
        with pytest.raises(EngineError, match=f"{name}: cannot be read or written: .*{why}.*, which upskill never"):
            read_plain(tmp_path / name, most=6)
    with pytest.raises(FileNotFoundError):
        read_plain(tmp_path / "a" / "below")


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
