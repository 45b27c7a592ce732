"""Random skills and case files come back as they went; damaged ones are explained. `make full` tries a thousand."""

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import event, given
from skills_ref.parser import parse_frontmatter
from skills_ref.validator import validate_metadata

from upskill.core.cases.files import read_case_file, read_skill_cases, write_case_file
from upskill.core.checks import check_problems
from upskill.core.nouns import Case
from upskill.core.skills.markdown import render_skill_text
from upskill.core.skills.skills import copy_skill, read_skill, write_skill
from upskill.errors import SkillInvalid, UsageError

from . import strategies
from .folders import assert_explained
from .strategies import Damaged


def fresh(folder: Path) -> Path:
    return Path(tempfile.mkdtemp(dir=folder))


@given(
    name=strategies.names,
    description=strategies.descriptions,
    body=strategies.bodies,
    fields=strategies.fields,
    tree=strategies.file_trees,
    mode=strategies.modes,
)
def test_a_random_skill_comes_back_as_it_went_and_so_does_its_copy(
    quick_folder: Path,
    name: str,
    description: str,
    body: str,
    fields: dict[str, Any],
    tree: dict[str, bytes],
    mode: int,
) -> None:
    place = fresh(quick_folder)
    try:
        for path, content in tree.items():
            (place / name / path).parent.mkdir(parents=True, exist_ok=True)
            (place / name / path).write_bytes(content)
            (place / name / path).chmod(mode)
        skill = write_skill(place, name=name, description=description, body=body, fields=fields)
        expected = strategies.expected_fields(fields)

        assert (skill.name, skill.description, skill.body) == (name, strategies.one_line(description), body)
        assert skill.frontmatter == {"name": name, "description": skill.description, **expected}
        assert skill.notes == ()
        assert {file.path for file in skill.files} == {"SKILL.md", *tree}

        copy_skill(place / name, place / "copy" / name)
        assert read_skill(place / "copy" / name) == skill
        for path, content in tree.items():
            assert (place / "copy" / name / path).read_bytes() == content
            assert (place / "copy" / name / path).stat().st_mode & 0o777 == mode
    finally:
        shutil.rmtree(place)


@given(name=strategies.names, description=strategies.descriptions, body=strategies.bodies, fields=strategies.fields)
def test_a_random_skill_is_valid_and_the_same_for_the_reference_reader(
    name: str, description: str, body: str, fields: dict[str, Any]
) -> None:
    text = render_skill_text({"name": name, "description": description, **fields}, body)
    theirs, their_body = parse_frontmatter(text)
    assert validate_metadata(theirs, Path("skills") / name) == []
    expected = strategies.expected_fields(fields)
    assert theirs == {"name": name, "description": strategies.one_line(description), **expected}
    assert their_body == body.strip()


@given(cases=strategies.case_lists)
def test_random_cases_come_back_as_they_went(quick_folder: Path, cases: list[Case]) -> None:
    path = quick_folder / "cases.json"
    write_case_file(path, cases)
    read = read_case_file(path, check_problems=check_problems).cases
    assert read == tuple(cases)
    assert [case.digest for case in read] == [case.digest for case in cases]


@given(damaged=strategies.damaged_skills)
def test_a_damaged_skill_is_read_or_explained_but_never_a_traceback(quick_folder: Path, damaged: Damaged) -> None:
    folder = quick_folder / "pdf-merge"
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_bytes(damaged.data)
    try:
        skill = read_skill(folder)
    except SkillInvalid as error:
        event("explained")
        assert_explained(error)
        return
    event("still readable")
    assert not damaged.beyond_use
    assert skill.description
    for line in (skill.name, skill.description, *skill.notes):
        line.encode("utf-8")
        assert "\x1b" not in line


@given(damaged=strategies.damaged_case_files)
def test_a_damaged_case_file_is_read_or_explained_but_never_a_traceback(quick_folder: Path, damaged: Damaged) -> None:
    folder = quick_folder / "with-cases"
    paths = [folder / "cases.json", folder / "skill_meta.json", folder / "evals" / "evals.json"]
    paths[-1].parent.mkdir(parents=True, exist_ok=True)
    for path in paths:
        path.write_bytes(damaged.data)
    for path in (paths[0], paths[2]):
        try:
            found = read_case_file(path, check_problems=check_problems)
        except SkillInvalid as error:
            assert_explained(error)
            continue
        assert not damaged.beyond_use
        assert all(case.id and case.checks and case.digest for case in found.cases)
    try:
        read_skill_cases(folder, check_problems=check_problems)
    except SkillInvalid as error:
        assert_explained(error)


@pytest.mark.parametrize("make", ["missing", "file", "empty"])
def test_a_place_without_a_skill_is_a_usage_error(tmp_path: Path, make: str) -> None:
    place = tmp_path / "x"
    if make == "file":
        place.write_bytes(b"x")
    elif make == "empty":
        place.mkdir()
    with pytest.raises(UsageError) as caught:
        read_skill(place)
    assert_explained(caught.value)
