"""The description, changed alone: nothing else of `SKILL.md` moves, whatever it looks like."""

from pathlib import Path

import pytest
import skills_ref

from core.unit.files.folders import make_skill
from core.unit.files.test_writing_skills import HARD_TEXTS
from upskill.core.skills.skills import read_skill
from upskill.errors import SkillInvalid, UpskillError, UsageError
from upskill.generation.edits import copy_with_description, with_description, write_description

BODY = "\n# Merge\r\n\n---\ndescription: not this one\n---\ttabs \u00a0 and no line feed at the end"
NEW = 'Merges PDF files: use it for "two into one", also # hash \\ and 日本語.'
HEADS = {
    "plain": "name: a\ndescription: Merges PDF files. # says what\nlicense: MIT\n",
    "single quotes": "# first\nname: a\ndescription: 'It''s for PDF files.'   # says what\nversion: 1.0\n",
    "double quotes": 'description: "Merges: PDF\\u0020files."\nname: a\n\n# last\n',
    "folded": "name: a\ndescription: >-\n  Merges PDF\n  files.\n\n  And more.\n\nmetadata:\n  author: x\n# last\n",
    "literal with a comment": "name: a\ndescription: |2+ # why\n  Merges\n  files.\n\n\nlicense: MIT\n",
    "literal at the end": "name: a\ndescription: |\n  Merges PDF files.\n",
    "on the next line": "name: a\ndescription:\n  Merges PDF files.\nlicense: MIT\n",
    "plain on two lines": "name: a\ndescription: Merges PDF\n  files.\nlicense: MIT\n",
    "flow": "{name: a, description: Merges, license: MIT}\n",
    "a colon without quotes": "name: a\ndescription: Use when: merging\nlicense: MIT\n",
    "another colon without quotes": "name: a\ndescription: Merges.\ncompatibility: needs: qpdf\n",
    "twice": "name: a\ndescription: Old.\nlicense: MIT\ndescription: Merges.\n",
    "other fields": "name: a\nallowed-tools: [Read, Bash(git:*)]\ndescription: Merges.\nmodel: opus\nhooks: {a: [b]}\n",
}


@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["lf", "crlf"])
@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_only_the_description_changes(tmp_path: Path, head: str, ends: str) -> None:
    text = ("\ufeff" if ends == "\r\n" else "") + f"---\n{head}---\n".replace("\n", ends) + BODY
    old = read_skill(make_skill(tmp_path / "a", text=text))
    new = write_description(tmp_path / "a", NEW)
    assert new.description == NEW
    assert new.body == old.body == BODY
    assert (new.name, list(new.frontmatter)) == (old.name, list(old.frontmatter))
    assert {**new.frontmatter, "description": ""} == {**old.frontmatter, "description": ""}
    written = (tmp_path / "a" / "SKILL.md").read_bytes().decode()
    assert written.endswith(BODY)
    for line in text.split(ends):
        if "#" in line:
            assert line[line.index("#") :] in written
    # The old description comes back: what is around it did not move.
    assert _around(with_description(written, "Other."), "Other.") == _around(written, NEW)


def _around(text: str, description: str) -> str:
    return text.replace(description.replace("\\", "\\\\").replace('"', '\\"'), "DESCRIPTION")


@pytest.mark.parametrize("description", HARD_TEXTS, ids=lambda text: ascii(text[:20]))
def test_a_hard_description_reads_back_equal_for_us_and_the_reference(tmp_path: Path, description: str) -> None:
    make_skill(tmp_path / "a", text="---\nname: a\ndescription: Old.\nlicense: MIT\n---\nBody.\n")
    assert write_description(tmp_path / "a", description).description == " ".join(description.split())
    assert skills_ref.validate(tmp_path / "a") == []
    assert (tmp_path / "a" / "SKILL.md").read_text().endswith("\nlicense: MIT\n---\nBody.\n")


@pytest.mark.parametrize(
    ("description", "why"),
    [
        ("", "empty"),
        ("x" * 1025, "1,025 characters"),
        ("ends --- here", "---"),
        ("a <b> c", "< or >"),
        ("half \ud83d", "surrogate"),
    ],
    ids=["empty", "long", "dashes", "tags", "surrogate"],
)
def test_a_description_that_no_agent_would_take_is_refused_and_nothing_is_written(
    tmp_path: Path, description: str, why: str
) -> None:
    folder = make_skill(tmp_path / "a")
    before = (folder / "SKILL.md").read_bytes()
    with pytest.raises(SkillInvalid) as refused:
        write_description(folder, description)
    assert why in refused.value.problems[0]
    assert [path.name for path in folder.iterdir()] == ["SKILL.md"]
    assert (folder / "SKILL.md").read_bytes() == before


def test_frontmatter_that_cannot_be_changed_alone_is_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path / "a", text="---\nname: a\ncompatibility: b: c\ndescription:\n  Merges.\n---\nBody.\n")
    with pytest.raises(UpskillError):
        write_description(folder, NEW)


def test_a_copy_has_the_other_files_with_their_modes_and_not_the_cases(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "scripts/run.sh": "#!/bin/sh\n",
        "references/a.md": b"\xff\x00",
        "evals/evals.json": "[]",
    }
    folder = make_skill(tmp_path / "a", files)
    (folder / "scripts/run.sh").chmod(0o755)
    (folder / "SKILL.md").chmod(0o640)
    old = read_skill(folder)
    new = copy_with_description(folder, tmp_path / "copies" / "a", NEW)
    assert [file for file in new.files if file.path != "SKILL.md"] == list(old.other_files)
    assert (new.description, new.body) == (NEW, old.body)
    assert new.digest != old.digest
    assert (tmp_path / "copies" / "a" / "SKILL.md").stat().st_mode & 0o777 == 0o640
    assert not (tmp_path / "copies" / "a" / "evals").exists()
    assert read_skill(folder) == old
    with pytest.raises(UsageError):
        copy_with_description(folder, tmp_path / "copies" / "a", NEW)
    with pytest.raises(SkillInvalid):
        copy_with_description(folder, tmp_path / "copies" / "b", "")
    assert not (tmp_path / "copies" / "b").exists()


def test_a_link_is_not_written_through(tmp_path: Path) -> None:
    real = make_skill(tmp_path / "real")
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "SKILL.md").symlink_to(real / "SKILL.md")
    before = (real / "SKILL.md").read_bytes()
    with pytest.raises(UsageError):
        write_description(tmp_path / "a", NEW)
    assert (real / "SKILL.md").read_bytes() == before
