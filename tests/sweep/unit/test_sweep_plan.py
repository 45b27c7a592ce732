"""Evaluations are named by their content, and what has not changed is not read again."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from upskill.core.models import Endpoint, ServedModel, preflight
from upskill.errors import EngineError, UpskillError
from upskill.evaluation import prepare as prepare_module
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import prepare
from upskill.sweep.files import SweepFolder, result_name, value_text
from upskill.sweep.plan import PlannedSweep, plan_sweep
from upskill.sweep.skills import extract_archive
from upskill.sweep.values import JobSpending, PlannedJob, SweepResult

MANIFEST = 'format = "upskill.sweep/1"\nskills = ["registry/*/"]\nstudents = ["haiku", "sonnet"]\n'


def make_skill(folder: Path, *, body: str = "The port is 7413.", cases: int = 3, name: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    own = f"name: {name or folder.name}\n" if name != "" else ""
    (folder / "SKILL.md").write_text(f"---\n{own}description: Knows the port.\n---\n{body}\n")
    asked = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "7413"}} for n in range(cases)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    return folder


class Place:
    """A registry with a manifest, and the folder of its sweep."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.registry = root / "registry"
        self.folder = SweepFolder(str(root / "at"))
        self.manifest(MANIFEST)

    def manifest(self, text: str) -> None:
        self.root.mkdir(exist_ok=True)
        (self.root / "sweep.toml").write_text(text)

    def plan(self) -> PlannedSweep:
        return plan_sweep(self.root / "sweep.toml", self.folder)

    def finish(self, job: PlannedJob, verdict: str = "undecided") -> None:
        spending = JobSpending(calls=10, tokens=100, cost=0.5)
        result = SweepResult(
            id=job.id,
            skill=job.skill,
            name=job.name,
            version=job.version,
            students=job.students,
            attempt="a",
            evaluation={"students": [{"model": student, "verdict": verdict} for student in job.students]},
            rows=(),
            spending=spending,
            charged=spending,
            finished_at="2026-01-01T00:00:00+00:00",
        )
        assert self.folder.objects.create(result_name(job.id), value_text(result).encode())


@pytest.fixture
def place(tmp_path: Path) -> Place:
    place = Place(tmp_path / "one")
    make_skill(place.registry / "a")
    make_skill(place.registry / "b", body="The port is 7413, always.")
    return place


def _ids(planned: PlannedSweep) -> dict[str, str]:
    return {job.skill: job.id for job in planned.jobs}


def test_another_machine_with_other_paths_names_the_same_evaluations(place: Place, tmp_path: Path) -> None:
    other = Place(tmp_path / "other")
    other.manifest(MANIFEST.replace("registry/*/", "skills/mine/*/") + 'max_cost = 9\nlogs = "all"\nconcurrency = 2\n')
    shutil.copytree(place.registry, other.root / "skills" / "mine")
    here, there = place.plan(), other.plan()
    assert sorted(_ids(here).values()) == sorted(_ids(there).values())
    assert [job.skill for job in there.jobs] == ["skills/mine/a", "skills/mine/b"]


@pytest.mark.parametrize(
    "change",
    [
        lambda place: make_skill(place.registry / "a", body="The port is 7414."),
        lambda place: make_skill(place.registry / "a", cases=4),
        lambda place: place.manifest(MANIFEST + "seed = 1\n"),
        lambda place: place.manifest(MANIFEST + "runs = 2\n"),
        lambda place: place.manifest(MANIFEST + "temperature = 0.5\n"),
        lambda place: place.manifest(MANIFEST + "max_output_tokens = 100\n"),
        lambda place: place.manifest(MANIFEST.replace('"sonnet"', '"opus"')),
        lambda place: place.manifest(MANIFEST + 'groups = [["haiku"], ["sonnet"]]\n'),
        lambda place: place.manifest(MANIFEST + '[aliases]\nsonnet = "openai/gpt-5-mini"\n'),
    ],
)
def test_whatever_changes_what_is_measured_is_another_evaluation(place: Place, change: Callable[[Place], None]) -> None:
    before = {job.id for job in place.plan().jobs if job.skill == "registry/a"}
    change(place)
    assert before.isdisjoint(job.id for job in place.plan().jobs if job.skill == "registry/a")


def test_a_changed_script_is_another_model(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "student.yaml"
    script.write_text("rules:\n- replies: [it is 7413]\n")
    place.manifest(MANIFEST.replace('"haiku", "sonnet"', '"scripted/student.yaml"'))
    before = _ids(place.plan())
    script.write_text("rules:\n- replies: [it is 7414]\n")
    assert before["registry/a"] != _ids(place.plan())["registry/a"]


def test_a_judge_has_a_price_although_no_student_has_one(place: Place) -> None:
    make_skill(place.registry / "a")
    asked = [{"id": "c", "input": "Which port?", "checks": [{"judge": "It says 7413."}]}]
    (place.registry / "a" / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    place.manifest(MANIFEST.replace('"haiku", "sonnet"', '"hf/org/unpriced"') + 'judge = "opus"\n')
    judged, free = place.plan().jobs
    assert judged.cost_at_most is not None
    assert judged.cost_at_most > 0.01
    assert free.cost_at_most is None


def test_every_model_is_probed_once(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    probe = preflight.probe

    def counted(endpoint: Endpoint, **named: Any) -> ServedModel:
        asked.append(endpoint.name)
        return probe(endpoint, **named)

    monkeypatch.setattr(preflight, "probe", counted)
    place.plan()
    assert asked == ["haiku", "sonnet"]


def test_what_has_not_changed_is_not_read_again(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    first = place.plan()
    made_at = place.folder.plan().made_at
    read: list[str] = []

    def counted(order: EvaluationOrder, *args: object, **named: object) -> object:
        read.append(order.skill.name)
        return prepare(order, *args, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(prepare_module, "prepare", counted)
    monkeypatch.setattr(SweepFolder, "write_plan", lambda *_: pytest.fail("there is nothing to write"))
    assert place.plan().jobs == first.jobs
    assert read == []
    monkeypatch.undo()
    monkeypatch.setattr(prepare_module, "prepare", counted)
    make_skill(place.registry / "b", body="The port is 7415.")
    (place.registry / "a").rename(place.registry / "c")  # its text says its name, so it is the same skill
    second = place.plan()
    assert read == ["b", "c"], "a folder with another name is read, and found to be the same"
    assert _ids(second)["registry/c"] == _ids(first)["registry/a"]
    assert place.folder.plan().made_at >= made_at


def test_a_skill_that_does_not_say_its_name_is_named_by_its_folder(place: Place) -> None:
    make_skill(place.registry / "unnamed", name="")
    before = _ids(place.plan())["registry/unnamed"]
    (place.registry / "unnamed").rename(place.registry / "renamed")
    (job,) = [job for job in place.plan().jobs if job.skill == "registry/renamed"]
    assert job.name == "renamed"
    assert job.id != before


def test_an_archive_that_is_missing_is_written_again(place: Place) -> None:
    job = place.plan().jobs[0]
    (place.root / "at" / "inputs" / f"{job.input}.tar").unlink()
    assert place.plan().jobs[0] == job
    assert place.folder.input(job.input)


def test_a_plan_is_not_kept_without_all_its_archives(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> str:
        raise EngineError("the disk is full")

    monkeypatch.setattr(SweepFolder, "keep_input", full)
    with pytest.raises(EngineError, match="the disk is full"):
        place.plan()
    assert not place.folder.has_plan()


def test_the_archive_holds_the_skill_and_the_named_cases(place: Place, tmp_path: Path) -> None:
    cases = [{"id": "x", "input": "Which?", "expected": {"contains": "7413"}}]
    (place.root / "own.json").write_text(json.dumps(cases))
    (place.root / "all.jsonl").write_text('{"skill": "registry/a", "cases": "own.json"}\n')
    place.manifest(MANIFEST.replace('["registry/*/"]', '"all.jsonl"'))
    (job,) = place.plan().jobs
    skill, case_file = extract_archive(place.folder.input(job.input), tmp_path / "into")
    assert job.cases == 1
    assert case_file == tmp_path / "into" / "cases" / "own.json"
    assert (skill / "SKILL.md").read_bytes() == (place.registry / "a" / "SKILL.md").read_bytes()


def test_a_skill_that_cannot_be_measured_is_refused_and_the_others_are_planned(place: Place) -> None:
    (make_skill(place.registry / "broken") / "SKILL.md").write_text("---\nname: [\n---\nx")
    (make_skill(place.registry / "caseless") / "skill_meta.json").unlink()
    (place.registry / "empty").mkdir()
    useless = [{"id": "c", "input": "Say it", "expected": {"contains": ""}}]
    (make_skill(place.registry / "useless") / "skill_meta.json").write_text(json.dumps({"cases": useless}))
    place.manifest(MANIFEST + 'groups = [["haiku"], ["sonnet"]]\n')
    planned = place.plan()
    assert {job.skill for job in planned.jobs} == {"registry/a", "registry/b"}
    why = {one.skill: one.why for one in planned.refused}
    assert len(why) == len(planned.refused) == 4  # once, not for each group
    assert "there are no cases" in why["registry/caseless"]
    assert "has no SKILL.md" in why["registry/empty"]
    assert all("\n" not in one for one in why.values())
    assert place.folder.refused() == list(planned.refused)


def test_a_manifest_without_one_usable_skill_is_an_error(place: Place) -> None:
    for name in ("a", "b"):
        (place.registry / name / "SKILL.md").write_text("no frontmatter")
    with pytest.raises(UpskillError, match="none of its skills can be measured") as error:
        place.plan()
    assert len(error.value.problems) == 2
    assert not place.folder.has_plan()


def test_two_skills_with_the_same_content_are_one_evaluation(place: Place) -> None:
    make_skill(place.registry / "copy", name="a")
    for planned in (place.plan(), place.plan()):
        assert [job.skill for job in planned.jobs] == ["registry/a", "registry/b"]
        assert planned.copies == (("registry/copy", "registry/a"),)


def test_a_digest_that_does_not_match_is_refused(place: Place) -> None:
    version = place.plan().jobs[0].version
    (place.root / "all.jsonl").write_text(
        json.dumps({"skill": "registry/a", "digest": version})
        + "\n"
        + json.dumps({"skill": "registry/b", "digest": version})
    )
    place.manifest(MANIFEST.replace('["registry/*/"]', '"all.jsonl"'))
    for planned in (place.plan(), place.plan()):
        assert [job.skill for job in planned.jobs] == ["registry/a"]
        assert [one.skill for one in planned.refused] == ["registry/b"]
        assert "the list says" in planned.refused[0].why


def test_results_of_earlier_versions_are_named_even_after_a_plan_without_the_skill(place: Place) -> None:
    (first, other) = place.plan().jobs
    place.finish(first)
    place.finish(other)
    (place.registry / "a" / "skill_meta.json").unlink()  # refused for one night
    place.plan()
    make_skill(place.registry / "a", body="The port is 7414.")
    second = next(job for job in place.plan().jobs if job.skill == "registry/a")
    assert second.earlier == (first.id,)
    place.finish(second)
    (place.registry / "a").rename(place.registry / "moved")
    make_skill(place.registry / "moved", name="a", body="The port is 7415.")
    third = next(job for job in place.plan().jobs if job.skill == "registry/moved")
    assert third.earlier == (first.id, second.id)
    assert next(job for job in place.plan().jobs if job.skill == "registry/b").earlier == ()


def test_an_earlier_version_without_a_result_was_no_look(place: Place) -> None:
    place.plan()
    make_skill(place.registry / "a", body="The port is 7414.")
    assert place.plan().jobs[0].earlier == ()


def test_a_model_whose_window_is_too_small_is_left_out_of_the_evaluation(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    probe = preflight.ServersAskedOnce.probe
    monkeypatch.setattr(
        preflight.ServersAskedOnce,
        "probe",
        lambda self, one, **named: replace(probe(self, one, **named), window=200 if one.name == "haiku" else 100_000),
    )
    make_skill(place.registry / "long", body="The port is 7413. " * 400)
    for planned in (place.plan(), place.plan()):
        assert {job.skill: job.students for job in planned.jobs} == {
            "registry/a": ("haiku", "sonnet"),
            "registry/b": ("haiku", "sonnet"),
            "registry/long": ("sonnet",),
        }
        (refused,) = planned.refused
        assert (refused.skill, refused.students) == ("registry/long", ("haiku",))


def test_a_job_says_what_it_takes(place: Place) -> None:
    place.manifest(MANIFEST.replace('"sonnet"', '"openai/unheard-of"') + "runs = 2\n")
    planned = place.plan()
    job = planned.jobs[0]
    # Three cases, two arms, two repeats, two models.
    assert (job.calls_expected, job.calls_at_most) == (24, 24)
    assert job.cost_expected is not None
    assert job.cost_at_most is not None
    assert 0 < job.cost_expected < job.cost_at_most
    assert job.output_tokens_expected == 24 * 300
    assert job.tokens_at_most is not None
    assert job.tokens_at_most > 24 * 2048
    assert planned.unpriced == ("openai/unheard-of",)
    assert any("does not count openai/unheard-of" in note for note in planned.all_notes)
