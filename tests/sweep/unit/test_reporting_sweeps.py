"""The report of a sweep: what each row says, that it is audited, and that nothing in a folder acts."""

import csv
import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from made_sweeps import ATTEMPT, MadeSweep, made_result, made_rows
from upskill.errors import EngineError, UsageError
from upskill.sweep import report as module
from upskill.sweep.files import SweepFolder, value_text
from upskill.sweep.report import SweepReport, report_sweep
from upskill.sweep.table import TableRow
from upskill.sweep.values import AttemptBegun, AttemptEnd, Caps, JobSpending, PlannedJob, Refused, SweepResult

GOOD, SAME, BAD = (0.1, 0.9), (0.5, 0.5), (0.9, 0.1)


@pytest.fixture
def sweep(tmp_path: Path) -> MadeSweep:
    return MadeSweep(tmp_path / "sweep")


def rows_of(found: SweepReport) -> dict[tuple[str, str], TableRow]:
    return {(row.skill, row.model): row for row in found.table.rows}


def test_a_winner_is_confirmed_with_the_lift_of_the_second_evaluation(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    first = sweep.measured(job, {"small": GOOD, "large": BAD})
    second = sweep.confirmed(job, {"small": (0.2, 0.8)})

    found = report_sweep(str(sweep.path))

    row = rows_of(found)["knots", "small"]
    assert (row.state, row.why, row.confirmation) == ("confirmed", None, second.id)
    assert row.lift == second.evaluation["students"][0]["lifts"][0]["mean"]
    assert row.first_lift == first.evaluation["students"][0]["lifts"][0]["mean"] != row.lift
    assert rows_of(found)["knots", "large"].state == "hurts"
    assert found.table.found == 1
    assert found.table.tested == 2
    assert found.problems == ()
    assert found.compared == 3


@pytest.mark.parametrize(
    ("made", "why"),
    [
        ("not helping", "undecided in the confirmation"),
        ("not started", "confirmation not started"),
        ("killed", "confirmation killed, or still running"),
        ("failed", "confirmation the endpoint went down"),
    ],
)
def test_a_winner_without_a_confirmation_was_found_once(sweep: MadeSweep, made: str, why: str) -> None:
    job = sweep.job("knots")
    first = sweep.measured(job, {"small": GOOD, "large": SAME})
    again = job.confirmation(["small"], seed=1)
    if made == "not helping":
        sweep.confirmed(job, {"small": SAME})
    elif made == "killed":
        sweep.begun(again, AttemptBegun(caps=Caps(max_calls=7), host="h", at="now"))
    elif made == "failed":
        sweep.ended(again, AttemptEnd(id=again.id, attempt=ATTEMPT, done=False, why="the endpoint went down"))

    row = rows_of(report_sweep(str(sweep.path)))["knots", "small"]

    assert (row.state, row.why) == ("found once", why)
    assert row.lift == first.evaluation["students"][0]["lifts"][0]["mean"]


def test_without_confirmations_every_winner_was_found_once(tmp_path: Path) -> None:
    sweep = MadeSweep(tmp_path / "sweep", confirm=False)
    sweep.measured(sweep.job("knots"), {"small": GOOD, "large": SAME})
    row = rows_of(report_sweep(str(sweep.path)))["knots", "small"]
    assert (row.state, row.why) == ("found once", "no confirmation planned")


def test_what_has_no_result_says_why(sweep: MadeSweep) -> None:
    lost, killed, _ = sweep.job("lost"), sweep.job("killed"), sweep.job("later")
    ended = AttemptEnd(
        id=lost.id, attempt=ATTEMPT, done=False, why="8 of 30 pairs were dropped", verdicts={"small": "invalid"}
    )
    sweep.ended(lost, replace(ended, spending=JobSpending(calls=3, tokens=30, cost=0.25)))
    sweep.begun(killed, AttemptBegun(caps=Caps(max_calls=100, max_cost=2.0), host="h", at="now"))
    sweep.folder.write_plan(sweep.plan, sweep.jobs, [Refused(skill="broken", why="it has no cases")])

    found = report_sweep(str(sweep.path))

    states = {key: (row.state, row.why, row.lift) for key, row in rows_of(found).items()}
    assert states == {
        ("lost", "small"): ("invalid", "8 of 30 pairs were dropped", None),
        ("lost", "large"): ("not reached", "8 of 30 pairs were dropped", None),
        ("killed", "small"): ("not reached", "killed, or still running", None),
        ("killed", "large"): ("not reached", "killed, or still running", None),
        ("later", "small"): ("not reached", "not started", None),
        ("later", "large"): ("not reached", "not started", None),
        ("broken", ""): ("not reached", "it has no cases", None),
    }
    assert found.table.charged == JobSpending(calls=103, tokens=30, cost=2.25)
    assert found.table.skills == 4
    assert found.answers == 0


def test_the_cheapest_sufficient_model_is_found_for_each_skill(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    sweep.measured(job, {"small": (0.1, 1.0), "large": (1.0, 1.0)}, cost={"small": 0.001, "large": 0.01})
    poor = sweep.job("sails")
    sweep.measured(poor, {"small": (0.1, 0.1), "large": (0.1, 0.1)})

    found = rows_of(report_sweep(str(sweep.path)))

    best = found["knots", "large"]
    assert (best.cheapest_model, best.cheapest_with_skill) == ("small", True)
    assert (best.cheapest_per_answer, best.cheapest_unit) == (0.001, "dollars")
    assert found["sails", "small"].cheapest_model is None


def tampered(result: SweepResult, **changes: object) -> SweepResult:
    """The result with another lift of its first model."""
    evaluation = json.loads(json.dumps(result.evaluation))
    evaluation["students"][0]["lifts"][0] |= changes
    return replace(result, evaluation=evaluation)


@pytest.mark.parametrize("changes", [{"mean": 0.5}, {"pairs": 29}])
def test_a_lift_that_its_answers_do_not_give_is_a_problem(sweep: MadeSweep, changes: dict[str, object]) -> None:
    job = sweep.job("knots")
    sweep.keep(tampered(made_result(job, made_rows({"small": SAME, "large": SAME})), **changes))
    found = report_sweep(str(sweep.path))
    assert len(found.problems) == 1
    assert found.problems[0].startswith(f"{job.id}, small: its result says ")
    assert "The answers contradict the results" in (sweep.path / "report" / "report.md").read_text()


def test_an_answer_that_is_there_twice_is_a_problem(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    result = made_result(job, made_rows({"small": SAME, "large": SAME}))
    sweep.keep(replace(result, rows=(*result.rows, result.rows[7])))
    assert report_sweep(str(sweep.path)).problems == ("1 answer of 121 occur more than once",)


def test_missing_answers_are_a_problem(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    sweep.keep(replace(made_result(job, made_rows({"small": SAME, "large": SAME})), rows=()))
    assert [one.rpartition(", ")[2] for one in report_sweep(str(sweep.path)).problems] == [
        "its answers give no pair"
    ] * 2


def test_families_and_few_cases_are_counted_as_the_worker_does(sweep: MadeSweep) -> None:
    families = {"case-0": "a", "case-1": "a", "case-2": "b", "case-5": "b"}
    related, few = sweep.job("related"), sweep.job("few")
    rates = {"small": (0.3, 0.6), "large": (0.2, 0.9)}
    rows = made_rows(rates, families=families)
    # Of the first case one repeat is missing: means over pairs, cases and families all differ.
    rows = [row for row in rows if (row.case, row.repeat) != ("case-0", 2)]
    sweep.keep(made_result(related, rows))
    sweep.keep(made_result(few, made_rows(rates, cases=3)))
    found = report_sweep(str(sweep.path))
    assert found.problems == ()
    assert found.compared == 4


def test_only_the_first_pair_of_each_case_counts_where_repeats_are_copies(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    rows = made_rows({"small": (0.3, 0.6), "large": (0.2, 0.9)})
    first = [row for row in rows if row.repeat == 0]
    sweep.keep(replace(made_result(job, first), rows=tuple(rows)))
    assert report_sweep(str(sweep.path)).problems == ()


def test_a_result_whose_verdict_contradicts_its_lift_is_refused(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    result = made_result(job, made_rows({"small": GOOD, "large": SAME}))
    result.evaluation["students"][0]["verdict"] = "hurts"
    sweep.keep(result)
    with pytest.raises(EngineError, match=r"contradicts itself: hurts, \+\d+ points"):
        report_sweep(str(sweep.path))


@pytest.mark.parametrize("changes", [{"cost_at_most": -1.0}, {"calls_at_most": -1}, {"cost_expected": float("nan")}])
def test_no_plan_has_a_price_or_a_count_below_nothing(sweep: MadeSweep, changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="out of range"):
        sweep.made("knots", **changes)


def test_a_result_of_another_version_is_refused(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    sweep.keep(replace(made_result(job, made_rows({"small": GOOD, "large": SAME})), version="other"))
    with pytest.raises(EngineError, match="is the result of another evaluation"):
        report_sweep(str(sweep.path))


def test_every_row_is_in_the_files(sweep: MadeSweep, tmp_path: Path) -> None:
    job, rates = sweep.job("knots"), {"small": GOOD, "large": SAME}
    sweep.measured(job, rates)
    out = tmp_path / "it's [here]"
    found = report_sweep(str(sweep.path), out=out)
    assert {path.name for path in out.iterdir()} == set(module.FILES)
    assert not (sweep.path / "report").exists()
    assert found.folder == out.as_posix()
    with (out / "table.csv").open(newline="") as file:
        listed = list(csv.DictReader(file))
    assert [(row["skill"], row["model"], row["state"]) for row in listed] == [
        ("knots", "small", "found once"),
        ("knots", "large", "undecided"),
    ]
    with gzip.open(out / "answers.csv.gz", "rt", newline="") as file:
        answers = list(csv.DictReader(file))
    assert tuple(answers[0]) == module.ANSWER_COLUMNS
    expected = [(job.id, row.student, row.case, row.arm, row.repeat, row.passed) for row in made_rows(rates)]
    assert [
        (row["evaluation"], row["model"], row["case"], row["arm"], int(row["repeat"]), row["passed"] == "true")
        for row in answers
    ] == expected


def test_a_sweep_in_a_bucket_has_its_report_there(sweep: MadeSweep) -> None:
    job = sweep.job("knots")
    result = made_result(job, made_rows({"small": SAME, "large": SAME}))
    there = SweepFolder("memory://bucket/nightly")
    there.write_plan(sweep.plan, [job], [])
    there.objects.create(f"results/{job.id}.json", value_text(result).encode())
    found = report_sweep("memory://bucket/nightly")
    assert found.folder == "memory://bucket/nightly/report"
    assert [name.rpartition("/")[2] for name in there.objects.names("report")] == sorted(module.FILES)
    assert (there.objects.read("report/table.csv") or b"").startswith(b"skill,model,state,")


def test_hostile_names_are_only_text(sweep: MadeSweep) -> None:
    names = (
        "=cmd|' /C calc'!A0",
        "\x1b[2Jred",
        "a'; DROP TABLE claimed; --",
        "<img src=x>|@team",
        "nul\0l",
        "\u202eevil",
    )
    for name in names:
        sweep.measured(sweep.job(name), {"small": SAME, "large": SAME})
    found = report_sweep(str(sweep.path))
    assert found.problems == ()
    assert {row.skill for row in found.table.rows} == set(names)
    text = (sweep.path / "report" / "table.csv").read_text()
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\n'=cmd" in text.replace("\r", "")
    page = (sweep.path / "report" / "report.md").read_text()
    assert "<img" not in page.replace("\\<img", "")
    assert page.replace("\n", "").isprintable()


def test_a_result_that_cannot_be_read_is_named(sweep: MadeSweep) -> None:
    job: PlannedJob = sweep.job("knots")
    result = made_result(job, made_rows({"small": SAME, "large": SAME}))
    sweep.keep(replace(result, evaluation={"students": [{"model": "small", "verdict": "helps"}]}))
    with pytest.raises(EngineError, match=rf"results/{job.id}\.json: its evaluation cannot be read"):
        report_sweep(str(sweep.path))


def test_a_folder_without_a_plan_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is not the folder of a sweep"):
        report_sweep(str(tmp_path))
    assert list(tmp_path.iterdir()) == []
