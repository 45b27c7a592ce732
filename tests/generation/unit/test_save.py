"""What is saved in the end never takes the place of what somebody changed meanwhile."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from upskill.core.cases.skill_meta import Provenance, SkillMeta, write_meta
from upskill.core.nouns import Case, Check
from upskill.errors import UsageError
from upskill.generation.draft import Draft, write_draft
from upskill.generation.save import save_new, save_revision

OLD = Draft(name="tarn", description="Starts tarns. Use for tarns.", body="# Tarn\n\nOld.\n")
NEW = replace(OLD, body="# Tarn\n\nNew.\n")
META = SkillMeta(provenance=Provenance(task="t", teacher="t", teacher_model="t", run="run-1"))


def case(name: str) -> Case:
    return Case(id=name, prompt=f"What of {name}?", checks=(Check(kind="contains", spec="7413"),))


FIRST, SECOND = case("first"), case("second")


class Run:
    """The drafts of a run, and the folder that it saves to."""

    def __init__(self, folder: Path) -> None:
        self.skills = folder / "skills"
        self.kept = []
        for number, draft in enumerate((OLD, NEW), start=1):
            place = folder / "run" / "drafts" / str(number)
            place.mkdir(parents=True)
            write_draft(place, draft)
            self.kept.append(place / draft.name)
        self.skills.mkdir()
        self.skill = self.skills / "tarn"

    def edit(self) -> bytes:
        with (self.skill / "SKILL.md").open("a") as file:
            file.write("\nMine.\n")
        return (self.skill / "SKILL.md").read_bytes()

    def cases(self) -> list[str]:
        return [one["id"] for one in json.loads((self.skill / "skill_meta.json").read_text())["cases"]]

    def improve(self, *, own_cases: tuple[Case, ...] | None, cases: tuple[Case, ...]) -> None:
        """Saves the second draft in the place of the first."""
        previous, kept = self.kept
        save_revision(self.skill, NEW, META, cases, previous=previous, copy=kept, own_cases=own_cases)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def test_a_run_that_goes_on_saves_over_what_it_saved_itself(run: Run) -> None:
    save_new(run.skill, OLD, META, [FIRST], copy=run.kept[0])
    save_new(run.skill, NEW, META, [FIRST], copy=run.kept[1])
    assert "New." in (run.skill / "SKILL.md").read_text()


def test_a_run_that_goes_on_does_not_save_over_what_somebody_changed_since(run: Run) -> None:
    save_new(run.skill, OLD, META, [FIRST], copy=run.kept[0])
    mine = run.edit()
    with pytest.raises(UsageError, match="was changed since this run saved it and was not overwritten"):
        save_new(run.skill, NEW, META, [FIRST], copy=run.kept[1])
    assert (run.skill / "SKILL.md").read_bytes() == mine


def test_a_skill_of_somebody_else_is_not_saved_over(run: Run) -> None:
    other = replace(META, provenance=replace(META.provenance, run="run-2")) if META.provenance else META
    save_new(run.skill, replace(NEW, body="# Other\n"), other, [FIRST], copy=run.kept[1])
    with pytest.raises(UsageError, match="was created during this run"):
        save_new(run.skill, NEW, META, [FIRST], copy=run.kept[1])


def test_a_better_version_brings_its_cases(run: Run) -> None:
    write_draft(run.skills, OLD)
    write_meta(run.skill, META, [FIRST])
    run.improve(own_cases=(FIRST,), cases=(FIRST, SECOND))
    assert run.cases() == ["first", "second"]
    run.improve(own_cases=(FIRST,), cases=(FIRST, SECOND))  # killed before it was noted, and gone on with
    assert "New." in (run.skill / "SKILL.md").read_text()


def test_cases_that_were_changed_while_a_skill_was_improved_stay(run: Run) -> None:
    write_draft(run.skills, OLD)
    write_meta(run.skill, META, [FIRST, case("mine")])
    with pytest.raises(UsageError, match="its cases changed during this run"):
        run.improve(own_cases=(FIRST,), cases=(FIRST, SECOND))
    assert run.cases() == ["first", "mine"]
    assert "Old." in (run.skill / "SKILL.md").read_text(), "all of it or nothing"


def test_cases_of_a_file_do_not_take_the_place_of_those_of_the_skill(run: Run) -> None:
    write_draft(run.skills, OLD)
    write_meta(run.skill, META, [FIRST])
    run.improve(own_cases=None, cases=(SECOND,))
    assert run.cases() == ["first"]


def test_a_skill_without_cases_gets_those_of_the_file(run: Run) -> None:
    write_draft(run.skills, OLD)
    run.improve(own_cases=None, cases=(SECOND,))
    assert run.cases() == ["second"]
