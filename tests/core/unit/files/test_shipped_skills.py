"""The skills that ship with upskill: valid, different from each other, in an order that everybody has."""

import hashlib
from pathlib import Path

import pytest
from skills_ref import validate

from upskill.core.nouns.skill import is_skill_name
from upskill.core.skills.skills import read_skill, shipped_skills
from upskill.errors import UsageError

NUMBER = 50


def test_all_are_valid_and_read_back_from_a_folder_as_they_are(tmp_path: Path) -> None:
    for skill, files in shipped_skills(NUMBER):
        folder = tmp_path / skill.name
        folder.mkdir()
        for path, data in files.items():
            (folder / path).write_bytes(data)
        assert validate(folder) == []
        assert read_skill(folder) == skill
        assert is_skill_name(skill.name)
        assert "Use when" in skill.description
        assert skill.tokens < 400


def test_no_two_share_a_name_a_description_or_a_line_by_which_a_load_is_seen() -> None:
    found = [skill for skill, _ in shipped_skills(NUMBER)]
    assert len({skill.name for skill in found}) == NUMBER
    assert len({skill.description for skill in found}) == NUMBER
    lines = [line for skill in found for line in skill.body.splitlines() if line.strip()]
    assert len(set(lines)) == len(lines)


def test_a_number_takes_the_first_ones_in_the_order_of_this_version() -> None:
    assert [skill.name for skill, _ in shipped_skills(3)] == [
        "pdf-form-filling",
        "spreadsheet-formulas",
        "commit-messages",
    ]
    # Whoever changes a text, or the order, changes what every run among them measured.
    digests = "".join(skill.digest for skill, _ in shipped_skills(NUMBER))
    assert hashlib.sha256(digests.encode()).hexdigest()[:16] == "5a8296f2292a2c5d"


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(UsageError, match=f"--among {NUMBER + 1}: {NUMBER} skills ship with upskill"):
        shipped_skills(NUMBER + 1)
