"""Drafts become skill folders whole or not at all, valid for the reference validator, and are read back equal."""

import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
import skills_ref

from core.unit.files.folders import make_skill
from everything import everything_below
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.generation.draft import Draft, read_draft, write_draft

DRAFT = Draft(
    name="pdf-merge",
    description='Merges PDF files: fast. Use when "several" PDFs # must become one.',
    body="## Steps\n\n---\n\n1. `merge`\n",
    files={"references/a.md": "ä\n".encode(), "scripts/go.sh": b"#!/bin/sh\n", "assets/x.bin": b"\x00\xff"},
    executable=frozenset({"scripts/go.sh"}),
    frontmatter={"license": "MIT", "metadata": {"version": "1.0"}},
)


def test_a_draft_is_written_valid_and_read_back_equal(tmp_path: Path) -> None:
    skill = write_draft(tmp_path / "skills", DRAFT)
    folder = tmp_path / "skills" / "pdf-merge"
    assert skills_ref.validate(folder) == []
    assert skill.digest
    assert read_draft(folder) == DRAFT
    if os.name != "nt":
        assert stat.S_IMODE((folder / "scripts" / "go.sh").stat().st_mode) == 0o755
    assert [path.name for path in (tmp_path / "skills").iterdir()] == ["pdf-merge"]


def test_a_folder_that_exists_is_refused_unless_it_is_to_be_replaced(tmp_path: Path) -> None:
    make_skill(tmp_path / "pdf-merge")
    before = everything_below(tmp_path)
    with pytest.raises(UsageError, match="already exists"):
        write_draft(tmp_path, DRAFT)
    assert everything_below(tmp_path) == before


def test_replacing_keeps_the_cases_and_drops_the_rest(tmp_path: Path) -> None:
    kept = {"skill_meta.json": "{}", "evals/evals.json": "[]", ".git/HEAD": "ref"}
    folder = make_skill(tmp_path / "pdf-merge", {**kept, "references/old.md": "old", "note.txt": "x"})
    write_draft(tmp_path, DRAFT, replace=True)
    found = everything_below(folder)
    assert set(found) == {"SKILL.md", *DRAFT.files, *kept}
    assert [path.name for path in tmp_path.iterdir()] == ["pdf-merge"]
    assert read_draft(folder) == DRAFT


@pytest.mark.parametrize(
    "path",
    [
        "../out.md",
        "/etc/x",
        "a/../../x",
        "SKILL.md",
        "skill_meta.json",
        "Evals/x.json",
        "evals",
        "a//b",
        "",
        ".",
        "a\\b",
    ],
)
def test_a_path_that_is_no_file_of_a_skill_writes_nothing(tmp_path: Path, path: str) -> None:
    with pytest.raises(UsageError, match="is not a valid file name in a skill"):
        write_draft(tmp_path / "skills", replace(DRAFT, files={path: b"x"}, executable=frozenset()))
    assert everything_below(tmp_path) == {}


@pytest.mark.parametrize("name", ["../x", "A", "a b", "", "a/b", "a" * 65])
def test_a_name_that_breaks_the_rules_writes_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises((UsageError, EngineError)):
        write_draft(tmp_path / "skills", replace(DRAFT, name=name))
    assert everything_below(tmp_path) == {}


def test_what_cannot_be_written_leaves_the_old_folder_byte_for_byte(tmp_path: Path) -> None:
    make_skill(tmp_path / "pdf-merge", {"references/old.md": "old"})
    before = everything_below(tmp_path)
    for bad in (
        replace(DRAFT, description="a < b"),
        replace(DRAFT, frontmatter={"model": "x"}),
        replace(DRAFT, files={"a": b"x", "a/b": b"x"}, executable=frozenset()),
        replace(DRAFT, body="half \ud800"),
    ):
        with pytest.raises((UsageError, EngineError, SkillInvalid)):
            write_draft(tmp_path, bad, replace=True)
        assert everything_below(tmp_path) == before


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    real = make_skill(tmp_path / "real" / "pdf-merge")
    (tmp_path / "skills").mkdir()
    (tmp_path / "skills" / "pdf-merge").symlink_to(real)
    before = everything_below(real)
    with pytest.raises(UsageError, match="is a link"):
        write_draft(tmp_path / "skills", DRAFT, replace=True)
    assert everything_below(real) == before


def test_a_skill_of_a_stranger_becomes_a_draft_that_can_be_written(tmp_path: Path) -> None:
    head = (
        "---\nname: Pdf Merge\nversion: 1.2\nallowed-tools:\n  - Bash\n  - Read\nlicense: MIT\n"
        "metadata:\n  a:\n    b: c\n  d: e\ndescription: Merges <many> --- files\n---\nBody.\n"
    )
    folder = make_skill(tmp_path / "pdf-merge", {"skill_meta.json": "{}", "evals/x.json": "{}"}, text=head)
    draft = read_draft(folder)
    assert draft == Draft(
        name="pdf-merge",
        description="Merges many - files",
        body="Body.\n",
        frontmatter={
            "allowed-tools": "Bash Read",
            "license": "MIT",
            "metadata": {"version": "1.2", "a": '{"b": "c"}', "d": "e"},
        },
    )
    write_draft(tmp_path / "again", draft)
    assert skills_ref.validate(tmp_path / "again" / "pdf-merge") == []


def test_a_description_that_is_too_long_is_cut_at_a_word(tmp_path: Path) -> None:
    text = f"---\nname: a\ndescription: {'word ' * 400}\n---\nBody.\n"
    draft = read_draft(make_skill(tmp_path / "a", text=text))
    assert len(draft.description) <= 1_024
    assert draft.description.endswith("word…")
