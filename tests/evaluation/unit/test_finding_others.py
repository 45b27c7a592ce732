"""Which other skills lie beside the measured one, which are left out, and what is refused."""

from pathlib import Path

import pytest

from upskill.core.nouns import Skill
from upskill.core.nouns.harness import harness_names
from upskill.core.nouns.skill import Among
from upskill.core.skills.skills import read_skill, shipped_skills
from upskill.errors import UsageError
from upskill.evaluation.order import find_others, require_offered_by

MEASURED = Skill(name="thing", description="Does a thing.", body="Body.", digest="d1")


def make(folder: Path, name: str, *, description: str = "Does it.", body: str = "How.\n") -> Path:
    (folder / name).mkdir(parents=True)
    (folder / name / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{body}")
    return folder / name


def test_skills_of_folders_and_shipped_ones_come_sorted_by_name_with_their_files(tmp_path: Path) -> None:
    (make(tmp_path, "zeta") / "run.sh").write_text("true\n")
    found = find_others(Among(shipped=2, folders=(str(tmp_path),)), measured=[MEASURED])
    assert [skill.name for skill in found.skills] == ["pdf-form-filling", "spreadsheet-formulas", "zeta"]
    assert {len(found.contents[skill.digest]) for skill in found.skills} == {1, 2}
    assert found.record is not None
    assert [one.source for one in found.record.skills] == ["shipped", "shipped", "folder"]
    assert (found.record.shipped, found.record.bundled, found.notes) == (2, False, ())


def test_the_measured_skill_is_no_other_skill_and_wins_over_one_of_its_name(tmp_path: Path) -> None:
    measured = read_skill(make(tmp_path / "skills", "mine"))
    make(tmp_path / "skills", "beside")
    found = find_others(Among(folders=(str(tmp_path / "skills"),)), measured=[measured])
    assert ([skill.name for skill in found.skills], found.notes) == (["beside"], ())

    make(tmp_path / "more", "mine", body="Another way.\n")
    make(tmp_path / "more", "beside", body="Another way.\n")
    folders = (str(tmp_path / "skills"), str(tmp_path / "more"))
    found = find_others(Among(folders=folders), measured=[measured])
    assert [skill.body for skill in found.skills] == ["How.\n"]
    assert found.notes == (
        "--among: two skills are named beside; only the first one is offered",
        "--among: another skill is named mine too; only the measured one is offered",
    )

    first = shipped_skills(1)[0].skill
    shipped = find_others(Among(shipped=2), measured=[Skill(name=first.name, description="", body="", digest="d")])
    assert [skill.name for skill in shipped.skills] == ["spreadsheet-formulas"]
    assert shipped.record is not None
    assert shipped.record.shipped == 2


def test_every_broken_skill_of_a_folder_is_named_at_once(tmp_path: Path) -> None:
    make(tmp_path, "fine")
    for name in ("broken", "empty"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "SKILL.md").write_text("no frontmatter\n" if name == "broken" else "")
    with pytest.raises(UsageError, match="2 problems") as caught:
        find_others(Among(folders=(str(tmp_path),)), measured=[MEASURED])
    assert [problem.partition(":")[0] for problem in caught.value.problems] == ["broken", "empty"]


@pytest.mark.parametrize(("made", "words"), [(False, "no such folder"), (True, "has no skill")])
def test_a_folder_without_skills_is_a_mistake(tmp_path: Path, made: bool, words: str) -> None:
    if made:
        (tmp_path / "skills").mkdir()
    with pytest.raises(UsageError, match=words):
        find_others(Among(folders=(str(tmp_path / "skills"),)), measured=[MEASURED])


def test_more_than_a_sandbox_takes_are_refused(tmp_path: Path) -> None:
    for number in range(201):
        make(tmp_path, f"skill-{number}")
    with pytest.raises(UsageError, match="too many") as caught:
        find_others(Among(folders=(str(tmp_path),)), measured=[MEASURED])
    assert caught.value.problems == ("201 skills; 200 are allowed",)


def test_more_files_than_a_sandbox_takes_are_refused_before_any_answer(tmp_path: Path) -> None:
    for number in range(2):
        folder = make(tmp_path, f"skill-{number}")
        for file in range(245):
            (folder / f"part-{file}.md").write_text("text")
    with pytest.raises(UsageError, match="too many") as caught:
        find_others(Among(folders=(str(tmp_path),)), measured=[MEASURED])
    assert caught.value.problems == ("492 files with those of the measured skill; 480 are allowed",)


@pytest.mark.skipif("codex" not in harness_names(), reason="coding agents were removed")
def test_a_harness_offers_only_what_it_can() -> None:
    for harness in ("chat", "agent"):
        with pytest.raises(UsageError, match=f"the harness {harness}"):
            require_offered_by(harness, Among(bundled=True))
    require_offered_by("chat", Among(shipped=1))
    require_offered_by("agent", Among(shipped=1, folders=("x",)))
    require_offered_by("codex", Among(bundled=True))
