"""Archives of skills: the same bytes for the same contents, and nothing hostile is unpacked."""

import io
import os
import tarfile
from pathlib import Path

import pytest

from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.sweep.files import archive_digest
from upskill.sweep.skills import archive_bytes, extract_archive

SKILL = "---\nname: sums\ndescription: Adds numbers.\n---\nAdd them.\n"


def a_skill(folder: Path) -> Path:
    skill = folder / "sums"
    (skill / "evals").mkdir(parents=True)
    (skill / "scripts").mkdir()
    (skill / "SKILL.md").write_text(SKILL)
    (skill / "evals" / "evals.json").write_text('{"cases": []}')
    (skill / "scripts" / "ä long name.sh").write_text("echo\n")
    (skill / "scripts" / "ä long name.sh").chmod(0o700)
    (skill / "again.md").symlink_to("SKILL.md")
    return skill


def tar_of(*entries: tuple[str, bytes, dict[str, object]]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, data, changes in entries:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in changes.items():
                setattr(info, key, value)
            tar.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


GOOD: tuple[str, bytes, dict[str, object]] = ("skill/sums/SKILL.md", SKILL.encode(), {})


def test_a_skill_comes_out_as_it_went_in(tmp_path: Path) -> None:
    skill = a_skill(tmp_path / "in")
    unpacked, cases = extract_archive(archive_bytes(skill), tmp_path / "out")
    assert unpacked == tmp_path / "out" / "skill" / "sums"
    assert cases is None
    assert (unpacked / "evals" / "evals.json").is_file()
    assert read_skill(unpacked) == read_skill(skill)
    assert not (unpacked / "again.md").is_symlink()
    assert os.name == "nt" or (unpacked / "scripts" / "ä long name.sh").stat().st_mode & 0o777 == 0o755


def test_a_named_case_file_replaces_the_cases_of_the_skill(tmp_path: Path) -> None:
    skill = a_skill(tmp_path / "in")
    (tmp_path / "other.json").write_text("[]")
    unpacked, cases = extract_archive(archive_bytes(skill, tmp_path / "other.json"), tmp_path / "out")
    assert cases is not None
    assert (cases.name, cases.read_text()) == ("other.json", "[]")
    assert not (unpacked / "evals").exists()


def test_equal_contents_are_equal_bytes(tmp_path: Path) -> None:
    one, two = a_skill(tmp_path / "one"), a_skill(tmp_path / "two")
    os.utime(two / "SKILL.md", (1, 1))
    (two / "SKILL.md").chmod(0o600)
    assert archive_bytes(one) == archive_bytes(two / "SKILL.md")
    (two / "SKILL.md").chmod(0o700)
    assert os.name == "nt" or archive_digest(archive_bytes(one)) != archive_digest(archive_bytes(two))


def test_a_skill_that_leads_elsewhere_is_not_packed(tmp_path: Path) -> None:
    skill = a_skill(tmp_path / "in")
    (tmp_path / "secret").write_text("key")
    (skill / "evals" / "evals.json").unlink()
    (skill / "evals" / "evals.json").symlink_to(tmp_path / "secret")
    with pytest.raises(UpskillError, match="was not read"):
        archive_bytes(skill)
    (skill / "evals" / "evals.json").unlink()
    (skill / "notes.md").symlink_to(tmp_path / "secret")
    with pytest.raises(UpskillError, match="cannot be used"):
        archive_bytes(skill)


@pytest.mark.parametrize("name", ["CON.md", "..\\x.md", "gnp.\u202eexe", "ｆｕｌｌ.md"])
def test_a_file_that_not_every_system_can_hold_is_not_packed(tmp_path: Path, name: str) -> None:
    skill = a_skill(tmp_path / "in")
    (skill / name).write_text("x")
    with pytest.raises(UsageError) as caught:
        archive_bytes(skill)
    assert caught.value.message.isprintable()
    assert "sums/" in caught.value.message


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"garbage" * 200, id="garbage"),
        pytest.param(tar_of(GOOD)[:520], id="cut short"),
        pytest.param(tar_of(("skill/sums/../../../x", b"", {})), id="dots"),
        pytest.param(tar_of(("/etc/x", b"", {})), id="absolute"),
        pytest.param(tar_of(GOOD, ("elsewhere/x", b"", {})), id="another folder"),
        pytest.param(tar_of(GOOD, ("skill/other/SKILL.md", b"", {})), id="two skills"),
        pytest.param(tar_of(GOOD, ("cases/a", b"", {}), ("cases/b", b"", {})), id="two case files"),
        pytest.param(tar_of(GOOD, GOOD), id="a file twice"),
        pytest.param(tar_of(("cases/a", b"", {})), id="no skill"),
        pytest.param(tar_of(GOOD, ("skill/sums/x", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc"})), id="link"),
        pytest.param(tar_of(GOOD, ("skill/sums/x", b"", {"type": tarfile.LNKTYPE, "linkname": "a"})), id="hard link"),
        pytest.param(tar_of(GOOD, ("skill/sums/x", b"", {"type": tarfile.FIFOTYPE})), id="pipe"),
        pytest.param(tar_of(GOOD, ("skill/sums/x", b"", {"type": tarfile.CHRTYPE})), id="device"),
        pytest.param(tar_of(GOOD, ("skill/sums/x/", b"", {"type": tarfile.DIRTYPE})), id="folder"),
        pytest.param(tar_of(("skill/sums//SKILL.md", b"", {})), id="two slashes"),
        pytest.param(tar_of(("./skill/sums/SKILL.md", b"", {})), id="a dot"),
        pytest.param(tar_of(GOOD, ("skill/sums/..\\x.md", b"", {})), id="dots of Windows"),
        pytest.param(tar_of(GOOD, ("skill/sums/gnp.\u202eexe", b"", {})), id="a name that deceives"),
        pytest.param(tar_of(("skill/sums/x", b"", {"pax_headers": {"size": "-512"}})), id="negative size"),
        pytest.param(tar_of(("skill/sums/x", b"", {"pax_headers": {"size": "9" * 30}})), id="endless size"),
        pytest.param(
            tar_of(("skill/sums/x", b"", {"pax_headers": {"GNU.sparse.size": "9" * 12, "GNU.sparse.map": "0,1"}})),
            id="sparse",
        ),
        pytest.param(tar_of(*((f"skill/sums/{n}", b"", {}) for n in range(10_001))), id="too many"),
    ],
)
def test_a_hostile_archive_is_refused_in_one_line_and_writes_nothing(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(EngineError, match="archive") as caught:
        extract_archive(data, tmp_path / "out")
    assert "\n" not in caught.value.message
    assert not (tmp_path / "out").exists()


def test_names_of_a_hostile_archive_cannot_move_the_cursor(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="does not belong") as caught:
        extract_archive(tar_of(("x\x1b[2J\n", b"", {})), tmp_path / "out")
    assert caught.value.message.isprintable()


def test_every_change_of_names_bytes_cases_and_mode_is_another_archive(tmp_path: Path) -> None:
    skill, cases = tmp_path / "skill", tmp_path / "cases.json"
    (skill / "scripts").mkdir(parents=True)
    (skill / "SKILL.md").write_text("text")
    (skill / "scripts" / "run.sh").write_text("echo")
    (skill / "skill_meta.json").write_text("{}")
    cases.write_text("[]")
    found = [archive_bytes(skill), archive_bytes(skill, cases)]
    cases.write_text("[1]")
    found.append(archive_bytes(skill, cases))
    (skill / "skill_meta.json").write_text('{"cases": []}')
    found.append(archive_bytes(skill))
    (skill / "scripts" / "run.sh").chmod(0o755)
    found.append(archive_bytes(skill))
    (skill / "scripts" / "run.sh").rename(skill / "scripts" / "go.sh")
    found.append(archive_bytes(skill))
    (skill / "empty").write_text("")
    found.append(archive_bytes(skill))
    (skill / ".git").mkdir()
    (skill / ".git" / "HEAD").write_text("x")
    assert archive_bytes(skill) == found[-1], "what is never part of a skill changes nothing"
    assert len(set(found)) == len(found)
