"""The digest of the bytes of a skill folder changes with every byte that could change what is planned."""

from pathlib import Path

import pytest

from upskill.sweep.skills import raw_digest


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "skill"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text("text")
    (folder / "scripts" / "run.sh").write_text("echo")
    (folder / "skill_meta.json").write_text("{}")
    return folder


def test_every_change_of_names_bytes_cases_and_mode_is_seen(skill: Path, tmp_path: Path) -> None:
    cases = tmp_path / "cases.json"
    cases.write_text("[]")
    found = [raw_digest(skill), raw_digest(skill, cases)]
    cases.write_text("[1]")
    found.append(raw_digest(skill, cases))
    (skill / "skill_meta.json").write_text('{"cases": []}')
    found.append(raw_digest(skill))
    (skill / "scripts" / "run.sh").chmod(0o755)
    found.append(raw_digest(skill))
    (skill / "scripts" / "run.sh").rename(skill / "scripts" / "go.sh")
    found.append(raw_digest(skill))
    (skill / "empty").write_text("")
    found.append(raw_digest(skill))
    assert None not in found
    assert len(set(found)) == len(found)


def test_the_place_of_the_folder_and_what_is_never_part_of_a_skill_change_nothing(skill: Path, tmp_path: Path) -> None:
    before = raw_digest(skill)
    (skill / ".git").mkdir()
    (skill / ".git" / "HEAD").write_text("x")
    elsewhere = skill.rename(tmp_path / "elsewhere")
    assert before is not None
    assert raw_digest(elsewhere) == before


def test_what_a_link_leads_to_is_not_told_by_the_bytes_here(skill: Path, tmp_path: Path) -> None:
    (skill / "more.md").symlink_to(skill / "SKILL.md")
    assert raw_digest(skill) is None
    (skill / "more.md").unlink()
    (tmp_path / "link").symlink_to(skill)
    assert raw_digest(tmp_path / "link") is None
    assert raw_digest(tmp_path / "nowhere") is None
