"""Evidence is gathered from every run of exactly one version, and nothing in it is chosen or believed unseen."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from measured_runs import HAIKU, measured_run
from share.made_evidence import REPORT
from upskill.core.cases.files import read_skill_cases
from upskill.core.nouns import Interval, Price, Student
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.lift import Loads
from upskill.core.nouns.look import EarlierLook, Look, LookTerms, SeenCase, SeenPair, sketch_of
from upskill.core.runs.look_ledger import LookLedger
from upskill.core.runs.records import read_run
from upskill.core.runs.run_folders import RunFolder
from upskill.core.skills.skills import read_skill
from upskill.share.evidence import evidence_from, evidence_text
from upskill.share.gather import NothingMeasured, gather, public_report, require_results

ALL, NONE = [True] * 12, [False] * 12
SECRET_PROMPT = "What is the secret of case"


@pytest.fixture
def skill(tmp_path: Path) -> Path:
    folder = tmp_path / "port"
    folder.mkdir()
    (folder / "SKILL.md").write_text("---\nname: port\ndescription: Knows it.\n---\nThe port is 7413.\n")
    asked = [
        {"id": f"private-id-{n}", "input": f"{SECRET_PROMPT} {n}?", "expected": {"contains": "7413"}} for n in range(12)
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def test_evidence_names_model_figures_and_cases_by_digest_only(skill: Path, runs: Path) -> None:
    measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE)
    evidence = gather(skill, runs_dir=runs, ledger=None).evidence
    (result,) = evidence.results
    assert (result.model, result.report.student.model, result.report.harness) == (
        "haiku",
        "anthropic/claude-haiku",
        "chat/2",
    )
    assert result.lift is not None
    assert (result.verdict, result.lift.rate, result.lift.rate_against, result.lift.mean) == ("helps", 1.0, 0.0, 1.0)
    assert len(result.cases) == 12
    assert result.own_cases
    assert evidence.is_shown
    assert evidence.date == "2026-11-15"
    text = evidence_text(evidence)
    assert SECRET_PROMPT not in text
    assert "private-id" not in text
    assert evidence_from(text.encode()) == evidence


def test_the_same_runs_give_the_same_bytes(skill: Path, runs: Path) -> None:
    for name in ("b", "a"):
        student = replace(HAIKU, name=name, model=f"anthropic/{name}")
        measured_run(runs, name, skill, passed=ALL, passed_without=NONE, student=student)
    texts = {evidence_text(gather(skill, runs_dir=runs, ledger=None).evidence) for _ in range(2)}
    assert len(texts) == 1


def test_a_run_of_another_version_is_no_evidence(skill: Path, runs: Path) -> None:
    measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE)
    (skill / "SKILL.md").write_text("---\nname: port\ndescription: Knows it.\n---\nThe port is 7414.\n")
    evidence = gather(skill, runs_dir=runs, ledger=None).evidence
    assert evidence.results == ()
    assert evidence.worst_verdict is None
    assert not evidence.is_shown
    with pytest.raises(NothingMeasured, match=f"port: no finished run in {runs} measured this version") as raised:
        require_results(evidence, skill=Path("my skills/port"), runs_dir=runs)
    assert raised.value.hint == "measure it first: upskill eval 'my skills/port' -m MODEL"


def test_the_last_look_is_shown_and_an_earlier_one_that_hurts_is_counted(skill: Path, runs: Path) -> None:
    measured_run(runs, "r1", skill, passed=NONE, passed_without=ALL, at="2026-11-14T12:00:00+00:00")
    measured_run(runs, "r2", skill, passed=ALL, passed_without=NONE, at="2026-11-15T12:00:00+00:00")
    (result,) = gather(skill, runs_dir=runs, ledger=None).evidence.results
    assert result.verdict == "helps"
    assert result.other_looks == {"hurts": 1}


def test_a_copy_of_a_run_is_no_other_look(skill: Path, runs: Path) -> None:
    run = measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE)
    shutil.copytree(run, runs / "r2")
    (result,) = gather(skill, runs_dir=runs, ledger=None).evidence.results
    assert result.other_looks == {}


def test_models_harnesses_comparisons_and_case_sets_are_results_of_their_own(skill: Path, runs: Path) -> None:
    cases = read_skill_cases(skill, check_problems=lambda _: [])
    assert cases is not None
    measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE)
    measured_run(runs, "r2", skill, passed=ALL, passed_without=NONE, student=replace(HAIKU, name="b", model="x/b"))
    measured_run(runs, "r3", skill, passed=ALL, passed_without=NONE, harness="chat/1")
    measured_run(
        runs, "r4", skill, passed=ALL, passed_without=NONE, arms=("previous", "with_skill"), previous_digest="ab" * 32
    )
    measured_run(runs, "r5", skill, passed=ALL, passed_without=NONE, cases=cases.cases[:8], case_source="../../c.json")
    # Below the skill, and yet not the cases that are compared with the skill.
    inside = str(skill / "evals" / "levels" / "hard.json")
    measured_run(runs, "r6", skill, passed=ALL, passed_without=NONE, cases=cases.cases[:7], case_source=inside)
    found = gather(skill, runs_dir=runs, ledger=None).evidence.results
    assert sorted((one.model, one.report.harness, one.against[:8], len(one.cases), one.own_cases) for one in found) == [
        ("b", "chat/2", "baseline", 12, True),
        ("haiku", "chat/1", "baseline", 12, True),
        ("haiku", "chat/2", "abababab", 12, True),
        ("haiku", "chat/2", "baseline", 7, False),
        ("haiku", "chat/2", "baseline", 8, False),
        ("haiku", "chat/2", "baseline", 12, True),
    ]


def test_a_result_that_contradicts_its_answers_is_left_out_with_a_line(skill: Path, runs: Path) -> None:
    run = measured_run(runs, "r1", skill, passed=NONE, passed_without=NONE)
    record = json.loads((run / "run.json").read_text())
    record["results"]["students"][0] |= {"verdict": "helps", "claim": "new cases"}
    (run / "run.json").write_text(json.dumps(record))
    found = gather(skill, runs_dir=runs, ledger=None)
    assert found.evidence.results == ()
    assert found.evidence.left_out == 1
    assert len(found.notes) == 1
    assert "left out: its result does not follow from its answers: haiku: it records helps, 0" in found.notes[0]


def test_what_an_earlier_version_computed_otherwise_is_computed_again(skill: Path, runs: Path) -> None:
    run = measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE, versions={"upskill": "0.0.9"})
    record = json.loads((run / "run.json").read_text())
    record["results"]["students"][0]["lifts"][0]["interval"] = [0.123, 1.0]
    (run / "run.json").write_text(json.dumps(record))
    found = gather(skill, runs_dir=runs, ledger=None)
    assert [one.verdict for one in found.evidence.results] == ["helps"]
    assert found.evidence.results[0].report.lifts[0].interval.low != 0.123
    assert "so this one computed it again" in found.notes[0]


@pytest.mark.parametrize("damage", ["unfinished", "answers of another model", "no result", "no JSON"])
def test_damaged_and_unfinished_runs_are_left_out_with_a_line(skill: Path, runs: Path, damage: str) -> None:
    run = measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE)
    record = json.loads((run / "run.json").read_text())
    if damage == "unfinished":
        record["end"] = record["results"]["end"] = {"interrupted": True, "cap": None, "outages": []}
        record["results"]["students"][0]["end"] = "interrupted"
        record["status"] = "interrupted"
        lines = (run / "trials.jsonl").read_text().splitlines(keepends=True)
        (run / "trials.jsonl").write_text("".join(lines[:6]))
        record["results"]["students"][0] |= {"verdict": "undecided", "claim": None}
        record["versions"]["upskill"] = "0.0.9"
    if damage == "answers of another model":
        text = (run / "trials.jsonl").read_text()
        (run / "trials.jsonl").write_text(text.replace('"haiku"', '"opus"'))
    if damage == "no result":
        record["results"] = None
    (run / "run.json").write_text("{" if damage == "no JSON" else json.dumps(record))
    found = gather(skill, runs_dir=runs, ledger=None)
    assert found.evidence.results == ()
    assert any("r1: left out: " in note for note in found.notes)


def test_neither_paths_nor_addresses_of_this_machine_are_in_evidence(skill: Path, runs: Path) -> None:
    script = Student(name="scripted//home/me/secret/student.yaml", model="scripted//home/me/secret/student.yaml")
    own = Student(name="my-model", model="openai-api/endpoint/my-model", endpoint="http://me:pw@10.1.2.3:8080/v1")
    judge = "openai-api/endpoint/judge at http://10.1.2.3/v1"
    measured_run(runs, "r1", skill, passed=ALL, passed_without=NONE, student=script)
    measured_run(runs, "r2", skill, passed=ALL, passed_without=NONE, student=own, judge=judge)
    agent = {"version": "1.2.3", "named": "/home/me/bin/codex"}
    measured_run(runs, "r3", skill, passed=ALL, passed_without=NONE, agent=agent)
    evidence = gather(skill, runs_dir=runs, ledger=None).evidence
    text = evidence_text(evidence)
    assert not [word for word in ("home", "10.1.2.3", "://", "pw@", str(runs)) if word in text]
    by_model = {one.model: one for one in evidence.results}
    assert by_model["scripted/student.yaml"].scripted
    assert by_model["my-model"].own_server
    assert by_model["my-model"].judge == "openai-api/endpoint/judge"
    assert by_model["haiku"].agent == "1.2.3"
    only_scripts = replace(evidence, results=(by_model["scripted/student.yaml"],))
    assert not only_scripts.is_shown


def test_a_result_says_which_look_it_was_without_the_folder_of_an_earlier_one(skill: Path, runs: Path) -> None:
    run = measured_run(runs, "r2", skill, passed=ALL, passed_without=NONE)
    assert [one.look for one in gather(skill, runs_dir=runs, ledger=None).evidence.results] == [None], "nobody counted"
    record = read_run(run)
    before = EarlierLook(
        at="2026-11-14T12:00:00+00:00",
        run="/home/me/runs/r1",
        cases=8,
        level=0.025,
        verdict="undecided",
    )
    terms = LookTerms(level=0.025, earlier=(before,))
    RunFolder(path=run).write_record(replace(record, looks={"haiku": terms}))
    (result,) = gather(skill, runs_dir=runs, ledger=None).evidence.results
    assert result.look == 2
    assert [one.run for one in result.report.looks] == ["r1"]


def test_the_ledger_names_looks_whose_run_is_gone(skill: Path, runs: Path, tmp_path: Path) -> None:
    run = measured_run(runs, "r2", skill, passed=ALL, passed_without=NONE)
    found = read_skill(skill)
    pairs = (SeenPair("a", "b", True, False),)
    mine = Look(
        id="r2",
        at="2026-11-15T12:00:00+00:00",
        ended_at="2026-11-15T13:00:00+00:00",
        run=f"runs/{run.name}",
        student="haiku",
        model="m" * 16,
        kind="k" * 16,
        served=None,
        skill="port",
        version=found.digest,
        sketch=sketch_of(found),
        against="baseline",
        design="fixed",
        repeats=1,
        cases=(SeenCase(key="c" * 16, checks="d" * 16, pairs=pairs),),
        level=0.025,
        verdict="undecided",
        sentence="undecided",
        end="plan finished",
    )
    deleted = replace(mine, id="r3", run="runs/r3", verdict="hurts", claim="these cases")
    deleted = replace(deleted, at="2026-11-16T12:00:00+00:00", ended_at="2026-11-16T13:00:00+00:00")
    killed = replace(mine, id="r4", run="runs/r4", verdict=None, ended_at=None, at="2026-11-17T12:00:00+00:00")
    ledger = LookLedger(tmp_path / "looks.jsonl")
    for look in (mine, deleted, killed):
        ledger.append(look)
    gathered = gather(skill, runs_dir=runs, ledger=ledger.path)
    evidence = gathered.evidence
    assert [(one.verdict, one.at[:10]) for one in evidence.missing_looks] == [("hurts", "2026-11-16")]
    assert evidence.worst_verdict == "hurts"
    assert evidence_from(evidence_text(evidence).encode()) == evidence


def test_what_was_paid_and_the_names_of_other_skills_are_left_out() -> None:
    ends = Interval(low=0.1, high=0.9)
    loads = Loads(answers=4, loaded=2, cases=2, rate=0.5, interval=ends, about="these cases", instead=(("private", 2),))
    arms = tuple(replace(arm, cost=0.1, spent=1.2, other_skills=(("private", 2),)) for arm in REPORT.arms)
    student = replace(
        REPORT.student, endpoint="http://10.1.2.3/v1", price=Price(input_per_million=1, output_per_million=2)
    )
    lift = replace(REPORT.lifts[0], mean=1 / 3)
    report = replace(REPORT, student=student, arms=arms, loads=loads, spent=2.5, lifts=(lift,))
    public = public_report(report, harness="chat/2", digests={})
    assert public.lifts[0].mean == 0.333333
    arms, loads = (
        tuple(replace(arm, cost=None, spent=None, other_skills=()) for arm in arms),
        replace(loads, instead=()),
    )
    assert public == replace(REPORT, arms=arms, loads=loads, lifts=(replace(lift, mean=0.333333),))


def test_broken_cases_are_named_by_digest_in_their_list_and_in_the_sentence() -> None:
    ids = tuple(f"private-{number}" for number in range(4))
    digests = {case_id: f"{number}" * 64 for number, case_id in enumerate(ids)}
    broken = tuple(BrokenCase(case_id=case_id, answers=8, passed=1, passed_before=7) for case_id in ids)
    said = ", ".join(f"{case_id} (7 of 8 before, 1 now)" for case_id in ids[:3])
    report = replace(
        REPORT,
        broken=broken,
        suspected=ids[1:2],
        unguarded=ids[:1],
        sentence=f"breaks 4 of 12 cases: {said} and 1 more; undecided for new cases",
    )
    public = public_report(report, harness="chat/2", digests=digests)
    assert [one.case_id for one in public.broken] == ["0" * 12, "1" * 12, "2" * 12, "3" * 12]
    assert (public.suspected, public.unguarded) == (("1" * 12,), ("0" * 12,))
    named = ", ".join(f"{str(number) * 12} (7 of 8 before, 1 now)" for number in range(3))
    assert public.sentence == f"breaks 4 of 12 cases: {named} and 1 more; undecided for new cases"
