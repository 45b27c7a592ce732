"""A folder is read for `lint` whatever is in it: links stay closed, pipes do not block, too much is not read."""

import os
import socket
import sys
from pathlib import Path

import pytest

from core.unit.files.folders import make_skill
from upskill.core.skills.skills import read_skill
from upskill.errors import SkillInvalid, UsageError
from upskill.lint import folder as lint_folder
from upskill.lint.folder import FolderContents, read_folder, skill_folders

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="links and special files as POSIX has them")


def kinds(contents: FolderContents) -> dict[str, str]:
    return {entry.path: entry.kind for entry in contents.unusual}


def test_files_are_read_with_the_digest_that_eval_records(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"scripts/run.sh": "echo\n", "evals/evals.json": "{}", "Skill_Meta.json": "{}"})
    contents = read_folder(folder)
    assert (contents.name, set(contents.files)) == ("a", {"SKILL.md", "scripts/run.sh"})
    assert set(contents.private) == {"evals/evals.json", "Skill_Meta.json"}
    assert contents.digest == read_skill(folder).digest
    assert contents.unusual == ()


@needs_posix
def test_a_link_that_stays_inside_is_a_file(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"one.md": "1\n"})
    (folder / "two.md").symlink_to("one.md")
    contents = read_folder(folder)
    assert contents.files["two.md"] == b"1\n"
    assert contents.digest == read_skill(folder).digest


@needs_posix
def test_links_that_lead_elsewhere_are_described_and_never_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    folder = make_skill(tmp_path / "a", {"evals/evals.json": "{}", "node_modules/x.js": "x", "d/e.md": "e"})
    for name, target in {
        "key": secret,
        "folder": tmp_path,
        "gone": folder / "nowhere",
        "loop": folder / "loop",
        "cases": folder / "evals" / "evals.json",
        "module": folder / "node_modules" / "x.js",
        "d/up": folder,
    }.items():
        (folder / name).symlink_to(target)
    contents = read_folder(folder)
    assert kinds(contents) == {
        "key": "link-out-of-folder",
        "folder": "link-out-of-folder",
        "gone": "broken-link",
        "loop": "circular-link",
        "cases": "link-to-cases",
        "module": "link-to-skipped-folder",
        "d/up": "circular-link",
        "node_modules": "skipped-folder",
    }
    assert ("key", "link-out-of-folder", str(secret)) in [one[:3] for one in contents.unusual]
    assert set(contents.files) == {"SKILL.md", "d/e.md"}
    assert contents.digest is None


@needs_posix
def test_pipes_sockets_and_names_that_are_no_text_are_described(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(folder / "s"))
    with open(os.path.join(os.fsencode(folder), b"b\xffd"), "wb"):  # noqa: PTH118, PTH123
        pass
    (folder / "twice").write_text("x")
    (tmp_path / "other").hardlink_to(folder / "twice")
    found = kinds(read_folder(folder))
    assert found == {
        "pipe": "special-file",
        "s": "special-file",
        "b\udcffd": "file-name-not-utf8",
        "twice": "hard-link",
    }


@needs_posix
def test_a_skill_file_that_is_a_pipe_or_leads_out_is_still_a_skill_to_search(tmp_path: Path) -> None:
    piped, linked = tmp_path / "piped", tmp_path / "linked"
    piped.mkdir()
    linked.mkdir()
    os.mkfifo(piped / "SKILL.md")
    (tmp_path / "elsewhere.md").write_text("x")
    (linked / "SKILL.md").symlink_to(tmp_path / "elsewhere.md")
    assert list(skill_folders(piped)) == [piped]
    assert kinds(read_folder(piped)) == {"SKILL.md": "special-file"}
    assert kinds(read_folder(linked)) == {"SKILL.md": "link-out-of-folder"}


def test_two_gigabytes_are_refused_without_being_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_skill(tmp_path / "a")
    with (folder / "data.bin").open("wb") as file:
        file.truncate(2 * 2**30)
    monkeypatch.setattr(lint_folder, "open_plain", lambda path: pytest.fail(f"{path} was opened"))
    with pytest.raises(
        SkillInvalid, match=r"a: not searched: data\.bin has 2,147,483,648 bytes; 100 MB is the most"
    ) as e:
        read_folder(folder)
    assert e.value.problems == ()


def test_more_files_than_a_skill_has_are_refused_without_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_skill(tmp_path / "a", {f"f{n}": "" for n in range(6)})
    monkeypatch.setattr(lint_folder, "MOST_ENTRIES", 5)
    monkeypatch.setattr(lint_folder, "open_plain", lambda path: pytest.fail(f"{path} was opened"))
    with pytest.raises(SkillInvalid, match="a: not searched: it has more than 5 files and folders"):
        read_folder(folder)


def test_many_files_of_some_size_are_refused_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_skill(tmp_path / "a", {"one": "x" * 600, "two": "x" * 600})
    monkeypatch.setattr(lint_folder, "MOST_BYTES", 1_000)
    with pytest.raises(SkillInvalid, match="its files have more than"):
        read_folder(folder)


@needs_posix
def test_folders_that_link_to_each_other_end(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {f"d{n}/x": "" for n in range(30)})
    for n in range(30):
        for other in range(30):
            (folder / f"d{n}" / f"to{other}").symlink_to(folder / f"d{other}")
    with pytest.raises(SkillInvalid, match="more than 10,000 files and folders"):
        read_folder(folder)


# Which folders a path names


def test_a_skill_is_named_by_its_folder_its_file_or_any_other_file_in_it(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "skills" / "a", {"scripts/run.sh": "", "evals/files/SKILL.md": "x"})
    for path in (folder, folder / "SKILL.md", folder / "scripts" / "run.sh", folder / "evals" / "files" / "SKILL.md"):
        assert list(skill_folders(path)) == [folder]


def test_a_folder_of_skills_names_all_of_them_and_other_files_name_none(tmp_path: Path) -> None:
    one, two = make_skill(tmp_path / "skills" / "a"), make_skill(tmp_path / "skills" / "more" / "b")
    (tmp_path / "README.md").write_text("x")
    assert list(skill_folders(tmp_path)) == [one, two]
    assert list(skill_folders(tmp_path / "README.md")) == []


@pytest.mark.parametrize("path", ["nothing", "empty"])
def test_a_path_without_a_skill_is_an_error(tmp_path: Path, path: str) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(UsageError):
        list(skill_folders(tmp_path / path))
