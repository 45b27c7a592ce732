"""What we write ourselves: valid for the reference validator, and read back equal by it and by us."""

from pathlib import Path

import pytest
import skills_ref

from upskill.core.skills.skills import read_skill, write_skill
from upskill.errors import EngineError, UsageError

from .folders import assert_explained

HARD_TEXTS = [
    "Use when: merging",
    "Use when: a: b: c",
    "fix C# code # not a comment",
    "# hash first",
    "ends with a colon:",
    "'single' and \"double\" quotes",
    '"quoted"',
    "back\\slash \\n \\u0041 C:\\temp\\",
    "yes",
    "no",
    "null",
    "~",
    "1.0",
    "0x1f",
    "1e3",
    "2026-11-15",
    "12:30",
    "true",
    "[flow, list]",
    "{flow: map}",
    "- dash",
    "? question",
    "| pipe",
    "& anchor",
    "* alias",
    "! tag",
    "% directive",
    "@ at",
    "` backtick",
    "two -- dashes",
    "=",
    ", comma",
    "ünïcödé, 日本語, עברית",
    "emoji 😀 👩‍💻 🇩🇪",
    "zero\u200bwidth, soft\u00adhyphen, mark\ufeff",
    "\u202eright to left",
    "\U0010ffff and \ue000",
    "x" * 1024,
    "word " * 204 + "end",
    "${variable} {{template}} %s",
]


@pytest.mark.parametrize("text", HARD_TEXTS, ids=lambda text: ascii(text[:20]))
def test_a_hard_description_is_valid_and_reads_back_equal(tmp_path: Path, text: str) -> None:
    skill = write_skill(tmp_path, name="a", description=text, body="Body.\n")
    assert skills_ref.validate(tmp_path / "a") == []
    assert skills_ref.read_properties(tmp_path / "a").description == text
    assert skill.description == text
    assert skill.notes == ()


@pytest.mark.parametrize("text", HARD_TEXTS, ids=lambda text: ascii(text[:20]))
def test_hard_texts_in_other_fields_are_valid_and_read_back_equal(tmp_path: Path, text: str) -> None:
    key, short = text[:100].strip(), text[:500].strip()
    fields = {"license": text, "compatibility": short, "metadata": {key: text, "v": "1.0"}, "allowed-tools": text}
    skill = write_skill(tmp_path, name="a", description="d", body="", fields=fields)
    assert skills_ref.validate(tmp_path / "a") == []
    theirs = skills_ref.read_properties(tmp_path / "a")
    assert (theirs.license, theirs.compatibility, theirs.allowed_tools) == (text, short, text)
    assert theirs.metadata == fields["metadata"]
    assert skill.frontmatter == {"name": "a", "description": "d", **fields}


def test_the_file_is_as_a_person_would_write_it(tmp_path: Path) -> None:
    fields = {"metadata": {"version": "1.0"}, "license": "MIT"}
    write_skill(tmp_path, name="pdf-merge", description="Use when: merging\n PDFs", body="# Merge\n", fields=fields)
    assert (tmp_path / "pdf-merge" / "SKILL.md").read_bytes() == (
        b'---\nname: pdf-merge\ndescription: "Use when: merging PDFs"\nlicense: "MIT"\n'
        b'metadata:\n  version: "1.0"\n---\n# Merge\n'
    )


@pytest.mark.parametrize(
    "name", ["a", "0", "pdf-merge", "a-1-b", "yes", "null", "no", "1e3", "007", "0x1f", "y", "x" * 64]
)
def test_every_valid_name_is_written_so_that_all_readers_agree(tmp_path: Path, name: str) -> None:
    skill = write_skill(tmp_path, name=name, description="d", body="")
    assert skills_ref.validate(tmp_path / name) == []
    assert skills_ref.read_properties(tmp_path / name).name == name == skill.name


NO_NAMES = [
    "../x", "..", ".", "", "/etc", "/", "a/b", "a\\b", "..\\x", "C:", ".hidden", "Upper", "a--b", "-a", "a-", "a_b",
    "a b", "a\n", "é", "nul\0", "١", "x" * 65, "x" * 10_000, "\x1b[2J",
]  # fmt: skip


@pytest.mark.parametrize("name", NO_NAMES, ids=lambda name: ascii(name[:20]))
def test_a_name_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    skills = tmp_path / "skills"
    skills.mkdir()
    with pytest.raises(UsageError, match="is not a valid name of a skill") as caught:
        write_skill(skills, name=name, description="d", body="")
    assert_explained(caught.value)
    assert [path.name for path in tmp_path.rglob("*")] == ["skills"]


@pytest.mark.parametrize(
    ("description", "problem"),
    [
        ("", "`description` is empty"),
        (" \n\t\x00", "`description` is empty"),
        ("x" * 1025, "`description` has 1,025 characters; 1,024 are allowed"),
        ("a --- b", "`description` contains ---"),
        ("a ---- b", "`description` contains ---"),
        ("a <b>", "`description` contains < or >"),
        ("half \ud83d", "`description` contains a lone surrogate"),
    ],
)
def test_a_description_that_some_reader_would_refuse_is_not_written(
    tmp_path: Path, description: str, problem: str
) -> None:
    with pytest.raises(UsageError) as caught:
        write_skill(tmp_path, name="a", description=description, body="")
    assert caught.value.message.startswith(f"a: {problem}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"version": "1.0"}, "not a field of the Agent Skills specification: version"),
        ({"model": "opus", "hooks": "x"}, "not a field of the Agent Skills specification: model, hooks"),
        ({"license": ""}, "`license` is empty"),
        ({"license": None}, "`license` must be a string, not NoneType"),
        ({"license": "a\n---\nb"}, "`license` contains ---"),
        ({"compatibility": "x" * 501}, "`compatibility` has 501 characters; 500 are allowed"),
        ({"allowed-tools": ["Read", "Write"]}, "`allowed-tools` must be a string, not list"),
        ({"metadata": "x"}, "`metadata` must map keys to strings"),
        ({"metadata": {"version": 1.0}}, "`metadata.version` must be a string, not float"),
        ({"metadata": {"a": {"b": "c"}}}, "`metadata.a` must be a string, not dict"),
        ({"metadata": {1: "x"}}, "`a key of metadata` must be a string, not int"),
        ({"metadata": {"": "x"}}, "`a key of metadata` is empty"),
        ({"metadata": {"---": "x"}}, "`a key of metadata` contains ---"),
        ({"metadata": {"k": "---"}}, "`metadata.k` contains ---"),
        ({"metadata": {"a b": "x", "a  b": "y"}}, "two keys of `metadata` differ only by white space"),
        ({"metadata": {"k" * 101: "x"}}, "the key kkkkkkkkkkkkkkkkkkkk… of `metadata` is longer than 100 characters"),
        ({"license": "é" * 99_990}, "the frontmatter would be longer than 100,000 characters"),
    ],
)
def test_fields_that_would_not_survive_are_refused(tmp_path: Path, fields: dict[str, object], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        write_skill(tmp_path, name="a", description="d", body="", fields=fields)
    assert problem in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_description_among_the_metadata_may_hold_angle_brackets(tmp_path: Path) -> None:
    fields = {"metadata": {"description": "a <b>"}}
    assert write_skill(tmp_path, name="a", description="d", body="", fields=fields).frontmatter["metadata"] == {
        "description": "a <b>"
    }


def test_empty_metadata_is_left_out(tmp_path: Path) -> None:
    write_skill(tmp_path, name="a", description="d", body="", fields={"metadata": {}})
    assert skills_ref.validate(tmp_path / "a") == []


@pytest.mark.parametrize(
    "body", ["", "no newline", "\n\n---\n", "--- \na: b\n---\n", "a\r\nb\rc", "\x00\x1b", "\ufeff", " \n"]
)
def test_a_body_is_written_as_it_is(tmp_path: Path, body: str) -> None:
    assert write_skill(tmp_path, name="a", description="d", body=body).body == body


def test_a_body_with_half_a_character_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="the body contains a lone surrogate"):
        write_skill(tmp_path, name="a", description="d", body="\ud83d")
    assert list(tmp_path.iterdir()) == []


def test_writing_again_replaces_the_text_and_nothing_else(tmp_path: Path) -> None:
    write_skill(tmp_path, name="a", description="one", body="")
    (tmp_path / "a" / "notes.md").write_text("kept")
    skill = write_skill(tmp_path, name="a", description="two", body="")
    assert skill == read_skill(tmp_path / "a")
    assert skill.description == "two"
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["SKILL.md", "notes.md"]


def test_a_link_in_the_place_of_the_skill_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "a").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="is a link"):
        write_skill(tmp_path / "skills", name="a", description="d", body="")
    assert list((tmp_path / "elsewhere").iterdir()) == []


def test_a_link_in_the_place_of_the_skill_file_is_replaced_not_followed(tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").symlink_to(tmp_path / "precious")
    write_skill(tmp_path, name="a", description="d", body="")
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_file_in_the_place_of_the_folder_is_explained(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    with pytest.raises(EngineError, match="the skill cannot be written to it"):
        write_skill(tmp_path, name="a", description="d", body="")
