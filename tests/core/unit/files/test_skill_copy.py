"""The text of a skill that a run keeps: what is in it, what never is, and what is too long."""

from pathlib import Path

import pytest

from upskill.core.runs.skill_copy import (
    MOST_FILE_BYTES,
    MOST_FILES,
    SKILL_COPY,
    keep_skill_text,
    read_skill_text,
    skill_text,
)
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError

from .folders import SKILL_TEXT, make_skill


def test_the_text_comes_back_as_it_was_without_the_cases(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "references/a.md": "More.\n",
        "logo.png": b"\x89PNG\0",
        "skill_meta.json": '{"cases": []}',
        "evals/evals.json": "[]",
    }
    folder = make_skill(tmp_path / "pdf-merge", files, text=SKILL_TEXT)
    for named in (folder, folder / "SKILL.md"):
        text = skill_text(named, read_skill(named))
        assert text.text == SKILL_TEXT
        assert [(one.path, one.text) for one in text.files] == [("logo.png", None), ("references/a.md", "More.\n")]
    keep_skill_text(tmp_path, text)
    assert read_skill_text(tmp_path) == text


def test_long_files_are_named_and_many_files_are_counted(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"f{number:03}": "x" for number in range(MOST_FILES + 3)}
    folder = make_skill(tmp_path / "a", {**files, "a-long": "x" * (MOST_FILE_BYTES + 1)})
    text = skill_text(folder, read_skill(folder))
    assert (text.files[0].path, text.files[0].text) == ("a-long", None)
    assert (len(text.files), text.left_out) == (MOST_FILES, 4)


def test_a_key_of_the_users_own_is_not_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "my-very-own-key-7413-7413")
    folder = make_skill(tmp_path / "a", {"a.md": "use my-very-own-key-7413-7413"})
    keep_skill_text(tmp_path, skill_text(folder, read_skill(folder)))
    assert b"7413-7413" not in (tmp_path / SKILL_COPY).read_bytes()


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"name": 1}', b"\xff"])
def test_a_damaged_copy_is_explained(tmp_path: Path, damage: bytes) -> None:
    assert read_skill_text(tmp_path) is None
    (tmp_path / SKILL_COPY).write_bytes(damage)
    with pytest.raises(EngineError, match=r"skill\.json: cannot be read"):
        read_skill_text(tmp_path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("{}")
    (tmp_path / SKILL_COPY).symlink_to(tmp_path / "secret")
    with pytest.raises(EngineError, match="a link"):
        read_skill_text(tmp_path)
