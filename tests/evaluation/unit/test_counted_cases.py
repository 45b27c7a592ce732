"""Which cases count in an evaluation."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from upskill.core.nouns import Case, CaseUse, Check
from upskill.core.runs.run_folders import RunFolder
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skills import read_skill
from upskill.evaluation.cases import FEWEST_IN_A_HALF, cases_that_count, half_of, without_copies
from upskill.evaluation.evaluate import first_record
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import ChosenCases, prepare


def some(*uses: CaseUse | None) -> list[Case]:
    return [
        Case(id=f"c{number}", prompt=f"Task {number}", checks=(Check(kind="contains", spec="x"),), use=use)
        for number, use in enumerate(uses)
    ]


@pytest.mark.parametrize(
    ("uses", "counted", "note"),
    [
        ((None, None), "c0 c1", ""),
        (("learn", "learn"), "c0 c1", ""),
        (("held-out", "learn", "negative", "learn"), "c0", "2 practice and 1 unrelated cases are skipped"),
        (("held-out", "learn"), "c0", "1 practice case is skipped; 1 held-out case is used"),
        (("held-out", None, "learn"), "c0 c1", "2 other cases are used"),
        (("learn", "negative"), "c0", "1 unrelated case is skipped"),
        (("negative", "negative"), "c0 c1", ""),
        ((), "", ""),
    ],
)
def test_held_out_cases_count_where_there_are_any_and_negative_ones_never(
    uses: tuple[CaseUse | None, ...], counted: str, note: str
) -> None:
    found = cases_that_count(some(*uses))
    assert " ".join(case.id for case in found.cases) == counted
    assert note in "".join(found.notes)
    assert bool(note) == bool(found.notes)


def test_cases_that_nobody_has_learned_from_all_count_but_the_negative_ones() -> None:
    found = cases_that_count(some("held-out", "learn", "negative", None), learned=False)
    assert [case.id for case in found.cases] == ["c0", "c1", "c3"]
    assert found.notes == ("1 unrelated case is skipped; 3 other cases are used",)
    assert cases_that_count(some("held-out", "learn"), learned=False).notes == ()


def test_cases_written_for_this_version_count_until_the_skill_changes(tmp_path: Path) -> None:
    folder = tmp_path / "gauge"
    folder.mkdir()
    body = folder / "SKILL.md"
    body.write_text("---\nname: gauge\ndescription: Reads gauges.\n---\nRead it.\n")
    cases = [
        {"id": f"c{n}", "use": use, "input": f"Port {n}?", "expected": {"contains": [f"74{n}"]}}
        for n, use in enumerate(("learn", "held-out", "held-out"))
    ]
    by = {"model": "opus", "skill_digest": read_skill(folder).digest}
    (folder / "skill_meta.json").write_text(json.dumps({"cases_written_by": by, "cases": cases}))
    (tmp_path / "student.yaml").write_text("rules: [{replies: [x]}]")
    settings = Settings(models=(f"scripted/{tmp_path}/student.yaml",))
    for skill in (folder, body):
        assert len(prepare(EvaluationOrder(skill=skill), settings).experiment.plan.cases) == 3
    other = EvaluationOrder(skill=folder, case_file=folder / "skill_meta.json")
    assert len(prepare(other, settings).experiment.plan.cases) == 2, "nobody knows who learned from a named file"
    body.write_text(body.read_text() + "Port 0 is 740.\n")
    assert [case.id for case in prepare(EvaluationOrder(skill=folder), settings).experiment.plan.cases] == ["c1", "c2"]


def test_a_run_that_is_gone_on_with_keeps_the_cases_it_began_with() -> None:
    cases = some("held-out", "learn", "negative")
    found = cases_that_count(cases, only=frozenset({"c0", "c2"}))
    assert [case.id for case in found.cases] == ["c0", "c2"]
    assert found.notes == ()


def test_a_copy_of_a_case_does_not_count_whatever_its_name() -> None:
    one, other = some(None, None)
    found = without_copies([one, other, Case(id="again", prompt=one.prompt, checks=one.checks)])
    assert found.cases == (one, other)
    assert found.notes == ("1 case is a copy of another and does not count: again",)
    assert without_copies([one, other]).notes == ()


def test_ten_copies_of_one_case_are_one_case(tmp_path: Path) -> None:
    (tmp_path / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads gauges.\n---\nRead it.\n")
    copies = [{"id": f"c{n}", "input": "Which port?", "expected": {"contains": ["7413"]}} for n in range(10)]
    (tmp_path / "skill_meta.json").write_text(json.dumps({"cases": copies}))
    (tmp_path / "student.yaml").write_text("rules: [{replies: [x]}]")
    settings = Settings(models=(f"scripted/{tmp_path}/student.yaml",))
    prepared = prepare(EvaluationOrder(skill=tmp_path), settings)
    assert [case.id for case in prepared.experiment.plan.cases] == ["c0"]
    assert "9 cases are copies of others and do not count: c1, c2, c3 …" in prepared.notes
    begun = first_record(prepared, ResolvedSettings(values=settings, origins={}), RunFolder(path=tmp_path))
    first = begun.cases[0]
    begun = replace(begun, cases=(first, replace(first, id="c1")))
    resumed = prepare(EvaluationOrder(skill=tmp_path), settings, begun=begun)
    assert len(resumed.experiment.plan.cases) == 2, "a run goes on with the cases that it began with"
    cases = tuple(some("held-out", "learn", "negative"))
    chosen = ChosenCases(cases=cases, path=tmp_path)
    every = prepare(EvaluationOrder(skill=tmp_path), settings, chosen=chosen)
    assert every.experiment.plan.cases == cases, "a longer run chooses by itself"


def test_a_case_that_differs_in_white_space_only_is_a_copy() -> None:
    one = Case(id="one", prompt="Which port?", checks=())
    spaced = Case(id="spaced", prompt=" Which\n port? ", checks=())
    assert without_copies([one, spaced]).cases == (one,)


def in_families(*sizes: int) -> list[Case]:
    families = [f"f{number}" for number, size in enumerate(sizes) for _ in range(size)]
    return [replace(case, family=family) for case, family in zip(some(*[None] * sum(sizes)), families, strict=True)]


@pytest.mark.parametrize("sizes", [[1] * 40, [1] * 51, [7, 5, 3, *[1] * 45], [2] * 44])
def test_two_halves_share_no_family_and_miss_no_case(sizes: list[int]) -> None:
    cases = in_families(*sizes)
    first, second = half_of(cases, "first"), half_of(cases, "second")
    assert not {case.family for case in first} & {case.family for case in second}
    assert sorted(case.id for case in (*first, *second)) == sorted(case.id for case in cases)
    assert abs(len(first) - len(second)) <= 1
    assert min(len({case.family for case in half}) for half in (first, second)) >= FEWEST_IN_A_HALF


@pytest.mark.parametrize("sizes", [[1] * 39, [2] * 30, [40, 40]])
def test_too_few_cases_or_families_for_two_halves_are_all_asked_twice(sizes: list[int]) -> None:
    cases = in_families(*sizes)
    assert half_of(cases, "first") == half_of(cases, "second") == tuple(cases)


def test_the_halves_do_not_depend_on_names_and_order() -> None:
    cases = in_families(*[1] * 50)
    renamed = [replace(case, id=f"other{case.id}", family=None) for case in reversed(cases)]
    assert {case.prompt for case in half_of(cases, "first")} == {case.prompt for case in half_of(renamed, "first")}
