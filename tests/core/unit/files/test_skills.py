"""Skill folders: what is read and forgiven, what is refused, what the digest sees, what is copied."""

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from upskill.core.skills.skill_files import MOST_FILES
from upskill.core.skills.skills import copy_skill, find_skills, read_skill
from upskill.errors import SkillInvalid, UsageError

from .folders import HEAD, SKILL_TEXT, assert_explained, make_skill

needs_posix = pytest.mark.skipif(sys.platform == "win32", reason="links, modes and special files as POSIX has them")


def problems_of(folder: Path) -> tuple[str, ...]:
    with pytest.raises(SkillInvalid) as caught:
        read_skill(folder)
    assert_explained(caught.value)
    return caught.value.problems


# Reading


def test_a_skill_is_its_name_description_body_and_files(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path / "pdf-merge", {"scripts/run.sh": "echo\n"}, text=SKILL_TEXT))
    assert (skill.name, skill.description, skill.body) == (
        "pdf-merge",
        "Merges PDF files.",
        "# Merge\n\nUse `merge`.\n",
    )
    assert [(file.path, file.size) for file in skill.files] == [("SKILL.md", len(SKILL_TEXT)), ("scripts/run.sh", 5)]
    assert [file.path for file in skill.other_files] == ["scripts/run.sh"]
    assert skill.notes == ()


def test_a_skill_can_be_named_by_its_file(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    assert read_skill(folder / "SKILL.md") == read_skill(folder)


def test_a_skill_can_be_named_by_a_link_to_its_folder(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    (tmp_path / "linked").symlink_to(folder)
    assert read_skill(tmp_path / "linked").digest == read_skill(folder).digest


def test_unknown_and_client_specific_keys_are_kept_as_text(tmp_path: Path) -> None:
    head = "model: opus\ndisable-model-invocation: true\nversion: 1.10\nhooks:\n  before: [a, 1]\n"
    skill = read_skill(make_skill(tmp_path / "a", text=f"---\nname: a\ndescription: d\n{head}---\n"))
    assert skill.frontmatter == {
        "name": "a",
        "description": "d",
        "model": "opus",
        "disable-model-invocation": "true",
        "version": "1.10",
        "hooks": {"before": ["a", "1"]},
    }


@pytest.mark.parametrize(
    "word", ["no", "null", "1.0", "007", "2026-01-01", "0x1f", "1e3", "true", "12:30", "~x", "=", "<<"]
)
def test_a_word_that_looks_like_another_type_is_still_a_text(tmp_path: Path, word: str) -> None:
    assert read_skill(make_skill(tmp_path / "a", text=f"---\nname: a\ndescription: {word}\n---\n")).description == word


def test_a_folder_called_like_a_number_keeps_its_name(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path / "007", text="---\nname: 007\ndescription: d\n---\n"))
    assert (skill.name, skill.notes) == ("007", ())


@pytest.mark.parametrize(
    ("line", "description"),
    [
        ("description: Use when: merging", "Use when: merging"),
        ('description: Use when: the user says "merge": do', 'Use when: the user says "merge": do'),
        (r"description: Use when: C:\temp", r"Use when: C:\temp"),
        ("description: It does the following:", "It does the following:"),
        ("description: Use when: a # b", "Use when: a # b"),
    ],
)
def test_an_unquoted_colon_is_forgiven_with_a_note(tmp_path: Path, line: str, description: str) -> None:
    skill = read_skill(make_skill(tmp_path / "a", text=f"---\nname: a\n{line}\nlicense: MIT\n---\n"))
    assert skill.description == description
    assert skill.frontmatter["license"] == "MIT"
    assert skill.notes == (
        "the frontmatter is not valid YAML: put the value of `description` in double quotes; it was read so",
    )


def test_crlf_a_byte_order_mark_and_spaces_after_the_fence_are_forgiven(tmp_path: Path) -> None:
    text = "\ufeff---  \r\nname: a\r\ndescription: Use when: x\r\n---\t\r\nBody\r\n"
    skill = read_skill(make_skill(tmp_path / "a", text=text))
    assert (skill.description, skill.body) == ("Use when: x", "Body\r\n")


def test_a_description_over_several_lines_is_read_as_one(tmp_path: Path) -> None:
    text = "---\nname: a\ndescription: >\n  One\n  two,\n\n  three.\n---\n"
    assert read_skill(make_skill(tmp_path / "a", text=text)).description == "One two, three."


def test_three_dashes_in_the_body_belong_to_the_body(tmp_path: Path) -> None:
    assert read_skill(make_skill(tmp_path / "a", text=HEAD.format(name="a") + "x\n---\ny")).body == "x\n---\ny"


def test_an_empty_body_is_fine(tmp_path: Path) -> None:
    assert read_skill(make_skill(tmp_path / "a", text="---\nname: a\ndescription: d\n---")).body == ""


def test_a_long_description_is_read_with_a_note(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path / "a", text=f"---\nname: a\ndescription: {'x' * 1025}\n---\n"))
    assert skill.notes == ("the description has 1,025 characters; agents refuse or cut more than 1,024",)


def test_escaped_surrogate_pairs_are_read_as_the_characters_they_mean(tmp_path: Path) -> None:
    text = '---\nname: a\ndescription: "\\ud83d\\ude00 and half \\ud83d"\n---\n'
    assert read_skill(make_skill(tmp_path / "a", text=text)).description == "😀 and half \ufffd"


def test_control_characters_in_a_description_cannot_reach_a_terminal(tmp_path: Path) -> None:
    text = '---\nname: a\ndescription: "red \\e[31m\\0\\b\\x85 alert"\n---\n'
    assert read_skill(make_skill(tmp_path / "a", text=text)).description == "red [31m alert"


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("PDF Merge", "pdf-merge"),
        ("pdf_merge", "pdf-merge"),
        ("../../etc", "etc"),
        ("/abs", "abs"),
        ("-a--b-", "a-b"),
        ("é", "skill"),
        ("x" * 70, "x" * 64),
        ("a" * 63 + "-b", "a" * 63),
    ],
)
def test_a_wrong_or_long_name_is_made_safe_with_a_note(tmp_path: Path, written: str, name: str) -> None:
    skill = read_skill(make_skill(tmp_path / "folder", text=f'---\nname: "{written}"\ndescription: d\n---\n'))
    assert skill.name == name
    assert any("is not valid under the Agent Skills specification" in note for note in skill.notes)


@pytest.mark.parametrize("line", ["", "name:\n", "name: ''\n", "name: [a]\n", "name: {a: b}\n"])
def test_a_skill_without_a_name_is_called_after_its_folder(tmp_path: Path, line: str) -> None:
    skill = read_skill(make_skill(tmp_path / "My Folder", text=f"---\n{line}description: d\n---\n"))
    assert skill.name == "my-folder"
    assert skill.notes[0] == "SKILL.md has no name, so the name of its folder is used: my-folder"


def test_a_name_from_a_very_long_folder_is_still_valid(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path / ("f" * 200), text="---\ndescription: d\n---\n"))
    assert skill.name == "f" * 64


def test_a_name_other_than_the_folder_is_noted(tmp_path: Path) -> None:
    skill = read_skill(make_skill(tmp_path / "folder", text="---\nname: other\ndescription: d\n---\n"))
    assert skill.notes == ("the name other differs from the name of its folder, folder; some agents refuse that",)


# What cannot be read


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "does not start with frontmatter"),
        ("# Title\n", "does not start with frontmatter"),
        ("\n---\nname: a\ndescription: d\n---\n", "does not start with frontmatter"),
        ("---\nname: a\ndescription: d\n", "does not start with frontmatter"),
        ("---\n---\n", "is not a list of `key: value` lines"),
        ("---\n- a\n---\n", "is not a list of `key: value` lines"),
        ("---\njust text\n---\n", "is not a list of `key: value` lines"),
        ("---\nname: a\n---\n", "has no description"),
        ("---\nname: a\ndescription:\n---\n", "has no description"),
        ("---\nname: a\ndescription: ' \t '\n---\n", "has no description"),
        ("---\nname: a\ndescription: [a, b]\n---\n", "must be a string"),
        ("---\nname: a\ndescription: {a: b}\n---\n", "must be a string"),
        ("---\nname: [a\ndescription: d\n---\n", "is not YAML: expected ',' or ']'"),
        ("---\nname: 'a\ndescription: d\n---\n", "is not YAML: found unexpected"),
        ("---\nname: a\n\tdescription: d\n---\n", "is not YAML: found character '\\t'"),
        ("---\nname: a\x00\ndescription: d\n---\n", "is not YAML: it contains the control character U+0000"),
        ("---\nname: a\x1b[31m\ndescription: d\n---\n", "is not YAML: it contains the control character U+001B"),
        ("---\na: &a x\nb: *a\ndescription: d\n---\n", "is not YAML: aliases (*name) are not allowed here at line 3"),
        ("---\na: &a [*a]\ndescription: d\n---\n", "aliases (*name) are not allowed here"),
        ("---\n? [a]\n: b\ndescription: d\n---\n", "is not YAML: found unhashable key"),
        ("---\na: b\n...\ndescription: d\n---\n", "is not YAML"),
        ('---\nx: "\\UFFFFFFFF"\ndescription: d\n---\n', "is not YAML"),
        ("---\nx: " + "[" * 800 + "\ndescription: d\n---\n", "is nested too deeply"),
        ("---\nx: " + "y" * 100_001 + "\ndescription: d\n---\n", "is longer than 100,000 characters"),
        (b"---\nname: a\ndescription: \xff\n---\n", "SKILL.md is not UTF-8 text"),
        ("---\nname: a\ndescription: d\n---\n".encode("utf-16"), "SKILL.md is not UTF-8 text"),
        (SKILL_TEXT.encode() + b"x" * 10_000_000, "SKILL.md is larger than 10 MB"),
    ],
    ids=lambda value: repr(value[:30]),
)
def test_a_skill_text_that_cannot_be_used_is_explained(tmp_path: Path, text: str | bytes, problem: str) -> None:
    (found,) = problems_of(make_skill(tmp_path / "a", text=text))
    assert problem in found


def test_yaml_tags_are_text_and_build_nothing(tmp_path: Path) -> None:
    head = 'a: !!int ""\nb: !!bool maybe\nc: !!timestamp x\nd: !!python/object/apply:os.getcwd []\n'
    skill = read_skill(make_skill(tmp_path / "a", text=f"---\nname: a\ndescription: d\n{head}---\n"))
    assert skill.frontmatter["a"] == ""
    assert skill.frontmatter["d"] == []


def test_a_bomb_of_merge_keys_does_not_unfold(tmp_path: Path) -> None:
    head = "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 60))
    (problem,) = problems_of(make_skill(tmp_path / "a", text=f"---\na0: &a0 {{x: y}}\n{head}description: d\n---\n"))
    assert "aliases (*name) are not allowed here at line 3" in problem


def test_every_problem_of_a_skill_is_listed_at_once(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"x": "", "X": ""}, text="nothing")
    (folder / "out").symlink_to("/etc/hostname")
    assert len(problems_of(folder)) == 3


@pytest.mark.parametrize("name", ["missing", "missing/deeper", "n" * 300, "nul\0"])
def test_a_folder_that_is_not_there_is_a_usage_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError) as caught:
        read_skill(tmp_path / name)
    assert_explained(caught.value)


def test_a_mistyped_folder_gets_a_suggestion(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "pdf-merge")
    with pytest.raises(UsageError) as caught:
        read_skill(tmp_path / "pdf-merg")
    assert caught.value.hint == f"did you mean {folder}?"


def test_a_folder_of_skills_is_not_a_skill_but_leads_to_them(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "skills" / "pdf-merge")
    with pytest.raises(UsageError, match=r"has no SKILL\.md") as caught:
        read_skill(tmp_path / "skills")
    assert caught.value.hint == f"did you mean {folder}?"


def test_a_skill_file_in_lower_case_says_how_to_mend_it(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "skill.md").write_text(SKILL_TEXT)
    with pytest.raises(UsageError) as caught:
        read_skill(tmp_path / "a")
    assert caught.value.hint == "rename skill.md to SKILL.md"


def test_a_file_is_not_a_skill(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(UsageError, match="not a folder"):
        read_skill(tmp_path / "file")


@needs_posix
def test_a_loop_of_links_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(UsageError):
        read_skill(tmp_path / "a")


# The digest

PINNED_TEXT = "---\nname: alpha\ndescription: Example.\n---\nBody.\n"
PINNED: dict[str, str | bytes] = {
    "SKILL.md": PINNED_TEXT,
    "references/a.md": "ref\n",
    "references/Ü.md": "umlaut\n",
    "assets/logo.bin": bytes(range(256)),
}
PINNED_DIGEST = "865f0e680b514984c072bb2c23113f90bcca45d484cc91504809c6a2d273c4ce"


def test_the_digest_is_the_same_on_every_platform(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "alpha", PINNED)
    assert read_skill(folder).digest == PINNED_DIGEST


def test_the_digest_does_not_see_the_folder_the_mode_the_time_or_the_order(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "beta", dict(reversed(PINNED.items())))
    for file in folder.rglob("*"):
        os.utime(file, (1, 1))
        if file.is_file():
            file.chmod(0o700)
    assert read_skill(folder).digest == PINNED_DIGEST


@pytest.mark.parametrize(
    "name",
    [
        "skill_meta.json",
        "evals/evals.json",
        "evals/files/x.csv",
        "Skill_Meta.json",
        "EVALS/evals.json",
        ".git/HEAD",
        "scripts/__pycache__/x.pyc",
        "references/.DS_Store",
        "node_modules/x/index.js",
    ],
)
def test_the_digest_does_not_see_what_no_student_sees(tmp_path: Path, name: str) -> None:
    assert read_skill(make_skill(tmp_path / "alpha", {**PINNED, name: "answers"})).digest == PINNED_DIGEST


def flip(folder: Path) -> None:
    data = bytearray((folder / "assets/logo.bin").read_bytes())
    data[100] ^= 1
    (folder / "assets/logo.bin").write_bytes(data)


def crlf(folder: Path) -> None:
    path = folder / "references/a.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


CHANGES: dict[str, Callable[[Path], object]] = {
    "a bit flipped": flip,
    "a byte added to SKILL.md": lambda folder: (folder / "SKILL.md").write_text(PINNED_TEXT + "\n"),
    "CRLF for LF": crlf,
    "a file renamed": lambda folder: (folder / "references/a.md").rename(folder / "references/b.md"),
    "a file renamed in case": lambda folder: (folder / "references/a.md").rename(folder / "references/A.md"),
    "a file moved": lambda folder: (folder / "references/a.md").rename(folder / "a.md"),
    "a file added": lambda folder: (folder / "new").write_bytes(b""),
    "a file removed": lambda folder: (folder / "references/a.md").unlink(),
    "meta data in another place": lambda folder: (folder / "references/skill_meta.json").write_bytes(b"{}"),
    "evals in another place": lambda folder: (folder / "references/evals").write_bytes(b"{}"),
    "a hidden file": lambda folder: (folder / ".hidden").write_bytes(b""),
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with_anything_a_student_could_see(tmp_path: Path, change: str) -> None:
    folder = make_skill(tmp_path / "alpha", PINNED)
    CHANGES[change](folder)
    assert read_skill(folder).digest != PINNED_DIGEST


def test_the_digest_cannot_be_fooled_by_moving_bytes_between_a_name_and_its_file(tmp_path: Path) -> None:
    one = make_skill(tmp_path / "one" / "a", {"x": "yz"})
    two = make_skill(tmp_path / "two" / "a", {"xy": "z"})
    assert read_skill(one).digest != read_skill(two).digest


# Links and special files


@needs_posix
def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"references/r.md": "ref", "scripts/run.sh": "run"})
    (folder / "r.md").symlink_to("references/r.md")
    (folder / "absolute").symlink_to(folder / "references" / "r.md")
    (folder / "through-dots").symlink_to("../a/./references/r.md")
    (folder / "chain").symlink_to("r.md")
    (folder / "tools").symlink_to("scripts")
    plain = make_skill(
        tmp_path / "plain" / "a",
        {
            "references/r.md": "ref",
            "scripts/run.sh": "run",
            "r.md": "ref",
            "absolute": "ref",
            "through-dots": "ref",
            "chain": "ref",
            "tools/run.sh": "run",
        },
    )
    assert read_skill(folder).files == read_skill(plain).files
    copy_skill(folder, tmp_path / "copy")
    assert not any(path.is_symlink() for path in (tmp_path / "copy").rglob("*"))
    assert read_skill(tmp_path / "copy").digest == read_skill(plain).digest


@needs_posix
@pytest.mark.parametrize(
    ("target", "problem"),
    [
        ("/etc/hostname", "a link to a place outside the skill (/etc/hostname)"),
        ("/etc", "a link to a place outside the skill (/etc)"),
        ("..", "a link to a place outside the skill (..)"),
        ("../secret.txt", "a link to a place outside the skill (../secret.txt)"),
        ("../outside", "a link to a place outside the skill (../outside)"),
        ("../a-sibling/x", "a link to a place outside the skill (../a-sibling/x)"),
        ("references/../../secret.txt", "a link to a place outside the skill"),
        ("references/hop", "a link to a place outside the skill (references/hop)"),
        ("/nowhere/at/all", "a link to a place outside the skill (/nowhere/at/all)"),
        ("nowhere", "a broken link"),
        ("link", "a link to itself"),
        (".", "a link to a folder that contains it"),
        ("skill_meta.json", "a link to the cases, which models must not see"),
        ("evals", "a link to the cases, which models must not see"),
        ("evals/evals.json", "a link to the cases, which models must not see"),
        (".git/config", "a link to a file that is not part of the skill (.git/config)"),
    ],
)
def test_links_that_must_not_be_followed_are_refused(tmp_path: Path, target: str, problem: str) -> None:
    files = {"skill_meta.json": "{}", "evals/evals.json": "{}", ".git/config": "", "references/r.md": ""}
    folder = make_skill(tmp_path / "a", files)
    (tmp_path / "secret.txt").write_text("secret")
    make_skill(tmp_path / "a-sibling", {"x": "secret"})
    (tmp_path / "outside").mkdir()
    (folder / "references" / "hop").symlink_to("../../secret.txt")
    (folder / "link").symlink_to(target)
    assert any(found.startswith(f"link: {problem}") for found in problems_of(folder))
    with pytest.raises(SkillInvalid):
        copy_skill(folder, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()


@needs_posix
def test_links_that_lead_round_in_a_circle_are_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"one/x": "", "two/y": ""})
    (folder / "one" / "to-two").symlink_to("../two")
    (folder / "two" / "to-one").symlink_to("../one")
    assert problems_of(folder) == (
        "one/to-two/to-one: a link to a folder that contains it",
        "two/to-one/to-two: a link to a folder that contains it",
    )


@needs_posix
def test_a_skill_file_that_is_a_link_leaving_the_skill_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("---\ndescription: *secret\n---\n")
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "SKILL.md").symlink_to("../secret")
    assert problems_of(folder) == (
        "SKILL.md: a link to a place outside the skill (../secret)",
        "there is no readable file named SKILL.md (in capitals)",
    )


@needs_posix
def test_a_fifo_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    os.mkfifo(folder / "pipe")
    assert problems_of(folder) == ("pipe: not a file or a folder",)


@needs_posix
def test_a_link_to_a_device_is_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    (folder / "zero").symlink_to("/dev/zero")
    assert problems_of(folder) == ("zero: a link to a place outside the skill (/dev/zero)",)


@pytest.mark.skipif(sys.platform != "linux", reason="only some file systems can hold such names")
def test_names_that_other_systems_cannot_hold_are_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"Read.md": "", "read.md": "", "n\u0303": "", "\u00f1": ""})
    (folder / "d").mkdir()
    with open(os.fsencode(folder / "d") + b"/caf\xe9", "wb"):  # noqa: PTH123 - a name that is not text
        pass
    assert problems_of(folder) == (
        "d/caf\\udce9: the name is not UTF-8",
        "read.md: differs from Read.md only by case, which not every file system supports",
        "ñ: differs from n\u0303 only by case, which not every file system supports",
    )


@pytest.mark.skipif(sys.platform != "linux", reason="only some file systems can hold such names")
def test_names_that_could_steer_a_terminal_are_shown_as_escapes(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    (folder / "\x1b[2Jx\n").symlink_to("/etc")
    assert problems_of(folder) == ("\\x1b[2Jx\\n: a link to a place outside the skill (/etc)",)


# Bounds


def test_a_folder_with_too_many_files_is_refused_early(quick_folder: Path) -> None:
    folder = make_skill(quick_folder / "many")
    for number in range(MOST_FILES):
        (folder / str(number)).touch()
    (problem,) = problems_of(folder)
    assert problem == "more than 10,000 files and folders, or 1,000 MB"


@needs_posix
def test_links_that_multiply_folders_are_bounded(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    for level in range(18):
        (folder / f"l{level}").mkdir()
        for side in "xyz":
            (folder / f"l{level}" / side).symlink_to(f"../l{level + 1}")
    (folder / "l18").mkdir()
    assert problems_of(folder) == ("more than 10,000 files and folders, or 1,000 MB",)


def test_a_large_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a")
    with (folder / "sparse").open("wb") as file:
        file.truncate(1_000_000_001)
    assert problems_of(folder) == ("more than 10,000 files and folders, or 1,000 MB",)


def test_folders_nested_without_end_are_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", {"/".join("d" * 25) + "/x": ""})
    (problem,) = problems_of(folder)
    assert problem.endswith("nested more than 20 folders deep")


# Copying


@needs_posix
def test_a_copy_is_byte_for_byte_with_mode_bits(tmp_path: Path) -> None:
    text = b"\xef\xbb\xbf---\r\nname: a\nmodel: opus\r\ndescription: Use when: x\n# a comment\n---\r\nBody\r\n\x00"
    files: dict[str, str | bytes] = {
        "scripts/run.sh": "#!/bin/sh\n",
        "deep/er/still/logo.bin": bytes(range(256)),
        "empty": b"",
        "références/ñ 😀.md": "x",
    }
    source = make_skill(tmp_path / "a", files, text=text)
    (source / "scripts/run.sh").chmod(0o750)
    (source / "empty").chmod(0o400)
    (source / "deep/er/still/logo.bin").chmod(0o4755)
    copy_skill(source, tmp_path / "to" / "copy")
    copy = tmp_path / "to" / "copy"
    for name, content in {"SKILL.md": text, **files}.items():
        expected = content if isinstance(content, bytes) else content.encode()
        assert (copy / name).read_bytes() == expected
    modes = {
        str(path.relative_to(copy)): stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*") if path.is_file()
    }
    assert modes["scripts/run.sh"] == 0o750
    assert modes["empty"] == 0o400
    assert modes["deep/er/still/logo.bin"] == 0o755, "a copy never gains rights by setuid"
    assert [file.executable for file in read_skill(copy).files if file.path == "scripts/run.sh"] == [True]
    assert sorted(path.name for path in copy.parent.iterdir()) == ["copy"], "nothing else is left behind"


def test_cases_stay_behind(tmp_path: Path) -> None:
    source = make_skill(tmp_path / "a", {"skill_meta.json": "{}", "evals/evals.json": "{}", "Evals/x": "", "b": ""})
    copy_skill(source, tmp_path / "copy")
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) == ["SKILL.md", "b"]


def test_a_copy_never_overwrites(tmp_path: Path) -> None:
    source = make_skill(tmp_path / "a")
    (tmp_path / "copy").mkdir()
    with pytest.raises(UsageError, match="already exists"):
        copy_skill(source, tmp_path / "copy")
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(UsageError, match="already exists"):
        copy_skill(source, tmp_path / "dangling")


def test_a_skill_is_not_copied_into_itself(tmp_path: Path) -> None:
    source = make_skill(tmp_path / "a")
    with pytest.raises(UsageError, match="is inside the skill"):
        copy_skill(source, source / "copy")
    assert sorted(path.name for path in source.iterdir()) == ["SKILL.md"]


# Finding


def test_skills_are_found_below_a_folder_in_order(tmp_path: Path) -> None:
    for name in ("b", "a", "group/c", "group/c/nested", ".claude/skills/d", "node_modules/e", "1/2/3/4", "1/2/3/4x/5"):
        make_skill(tmp_path / name)
    found = [path.relative_to(tmp_path).as_posix() for path in find_skills(tmp_path)]
    assert found == [".claude/skills/d", "1/2/3/4", "a", "b", "group/c"]


def test_a_skill_is_found_where_one_stands(tmp_path: Path) -> None:
    assert list(find_skills(make_skill(tmp_path / "a"))) == [tmp_path / "a"]


@needs_posix
def test_links_to_skills_are_found_and_other_links_not_followed(tmp_path: Path) -> None:
    make_skill(tmp_path / "store" / "a")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a").symlink_to("../store/a")
    (tmp_path / "skills" / "up").symlink_to("..")
    assert list(find_skills(tmp_path / "skills")) == [tmp_path / "skills" / "a"]


def test_looking_stops_after_so_many_folders(tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"empty{number:02}").mkdir()
    make_skill(tmp_path / "last" / "a")
    assert list(find_skills(tmp_path, most_folders=10)) == []
    assert list(find_skills(tmp_path)) == [tmp_path / "last" / "a"]


def test_a_folder_that_is_not_there_holds_no_skills(tmp_path: Path) -> None:
    assert list(find_skills(tmp_path / "missing")) == []
