"""Several skills in one table, one object and one exit code."""

import io
import json
import re
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree

import pytest
from rich.cells import cell_len
from rich.console import Console

from report.unit.evaluations import SKILL, arm, evaluation, lift, report
from upskill.core.nouns import Evaluation, Purchase, RunEnd
from upskill.core.nouns.evaluation import BrokenCase, ComparedSkill, ComparedSkills
from upskill.core.nouns.finding import Finding
from upskill.evaluation.several import compared_json, show_compared
from upskill.report.formats import FORMATS, Result, csv_of_evaluations
from upskill.report.junit import junit_of_skills

BOUGHT = Purchase(calls=72, failed_calls=0, tokens=18_000, cost=0.02, reused=4)
COMMIT = "1a2b3c4d" * 5
OTHER: dict[str, Any] = {"arms": (arm("previous"), arm("with_skill", passed=5)), "lifts": (lift(against="previous"),)}


def measured(name: str, *, of: Evaluation | None = None, **changes: Any) -> ComparedSkill:
    found = replace(of or evaluation(), skill=replace(SKILL, name=name), run=f"runs/{name}")
    return ComparedSkill(folder=f"skills/{name}", name=name, evaluation=found, **changes)


OLD = measured("tarnctl", of=evaluation(report(**OTHER)), compared_with="git:HEAD~1", commit=COMMIT)
HURT = measured("pdf-merge", of=evaluation(report(verdict="hurts", **OTHER)), compared_with="git:HEAD~1", commit=COMMIT)
FEW = evaluation(report(lifts=(lift(about="these cases", cases=4, units=4),)))
NEW = measured("a-skill-with-a-rather-long-name", of=FEW, is_new=True)
BROKE = BrokenCase(case_id="port", answers=8, passed=0, passed_before=8)
SAME = ComparedSkill(folder="skills/kept", name="kept", state="unchanged", compared_with="git:HEAD~1", commit=COMMIT)
BROKEN = ComparedSkill(
    folder="skills/broken", name="broken", state="failed", problem="broken: there are no cases", hint="write some"
)
LATE = ComparedSkill(
    folder="skills/late", name="late", state="not started", problem="stopped at the cap of $5.00 before its turn"
)


def several(*skills: ComparedSkill, **changes: Any) -> ComparedSkills:
    return ComparedSkills(skills=skills, bought=BOUGHT, **changes)


def shown(found: ComparedSkills, *, width: int = 80, **options: Any) -> list[str]:
    file = io.StringIO()
    console = Console(file=file, width=width, force_terminal=True, no_color=True, highlight=False, emoji=False)
    show_compared(found, console, **options)
    return re.sub(r"\x1b\[[\d;]*m", "", file.getvalue()).splitlines()


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (several(OLD, SAME), 0),
        (several(OLD, HURT), 0),
        (several(OLD, HURT).requiring("no-harm"), 1),
        (several(OLD).requiring("no-harm"), 0),
        (several(measured("x", of=evaluation(report(broken=(BROKE,))))).requiring("no-harm"), 1),
        (several(NEW).requiring("helps"), 1),  # it helps on these cases only
        (several(HURT, BROKEN).requiring("no-harm"), 3),
        (several(OLD, LATE), 3),
        (several(OLD, LATE, interrupted=True), 130),
        (several(measured("x", of=evaluation(end=RunEnd(interrupted=True))), BROKEN), 130),
        (several(measured("x", of=evaluation(report(verdict="invalid"))), HURT).requiring("no-harm"), 3),
    ],
)
def test_interrupted_goes_before_no_verdict_and_that_before_a_requirement(found: ComparedSkills, code: int) -> None:
    assert found.exit_code() == code


@pytest.mark.parametrize("width", [80, 200])
def test_every_skill_has_a_row_that_fits_and_says_why_it_was_not_measured(width: int) -> None:
    found = several(OLD, NEW, SAME, BROKEN, LATE, compared_with="git:HEAD~1").requiring("helps")
    lines = shown(found, width=width)
    assert max(map(cell_len, lines)) <= width
    text = " ".join(" ".join(lines).split())
    assert "5 skills on haiku, compared with git:HEAD~1: 2 helps, 1 unchanged, 1 could not be measured, 1 not" in text
    assert "kept: unchanged since git:HEAD~1, not measured" in text
    assert "broken: could not be measured: there are no cases hint: write some" in text
    assert "late: not started: stopped at the cap of $5.00 before its turn" in text
    legend = "○ old version (new skills: none) ● new version"
    assert (legend if width == 200 else "old version (new skills: none) → new version") in text
    assert (
        "not met: --require helps, a-skill-with-a-rather-long-name: haiku is helped on these cases, which are too few "
        "to say so of new ones" in text
    )
    assert "of 2 skills that do not help, up to 0.1 on average are still called helpful" in text
    assert sum("▲ helps" in line for line in lines) == 2
    assert "Run saved in runs/tarnctl" in text


def test_several_models_stand_below_the_name_of_each_skill_in_the_same_columns() -> None:
    both = evaluation(report("haiku"), report("kimi", verdict="hurts"))
    lines = shown(several(measured("one", of=both), measured("two", of=both)))
    assert lines[0] == "2 skills on 2 models: 2 helps, 2 hurts."
    assert [line for line in lines if line in ("one", "two")] == ["one", "two"]
    rows = [line for line in lines if line.startswith("  ") and "→" in line]
    assert [line.split()[0] for line in rows] == ["haiku", "kimi"] * 2
    assert len({line.index("→") for line in rows}) == 1


def test_skills_of_the_same_name_are_told_apart_by_their_folders_and_many_runs_by_one_line() -> None:
    named = [replace(measured("x"), folder=f"{place}/x") for place in ("left", "right", "a", "b")]
    lines = shown(several(*named))
    assert any(line.startswith("left/x ") for line in lines)
    assert "4 runs saved in runs" in lines
    alone = shown(several(measured("x"), SAME))
    assert not any("on average" in line for line in alone), "one test is no family of tests"


def test_dangers_in_the_files_of_a_skill_are_said_whatever_its_verdict() -> None:
    found = Finding(rule="r", severity="danger", file="SKILL.md", line=1, excerpt="x", reason="y", remedy="z")
    lines = shown(several(replace(OLD, findings=(found, found)), replace(NEW, findings=())))
    assert "tarnctl: 2 dangers in its files; read them: upskill lint skills/tarnctl" in lines
    assert sum("in its files" in line for line in lines) == 1


def test_the_object_has_every_skill_and_a_single_evaluation_inside_is_the_same_as_alone() -> None:
    found = json.loads(json.dumps(compared_json(several(OLD, SAME, BROKEN, compared_with="git:HEAD~1"))))
    assert found["schema"] == "upskill.evals/1"
    assert found["bought"]["calls"] == 72
    assert [one["state"] for one in found["skills"]] == ["measured", "unchanged", "failed"]
    assert found["skills"][0]["evaluation"]["schema"] == "upskill.eval/1"
    assert found["skills"][0]["commit"] == COMMIT
    assert found["skills"][2]["evaluation"] is None
    assert found["skills"][2]["problem"] == "broken: there are no cases"


def test_one_junit_file_has_the_suites_of_all_and_names_what_was_not_measured() -> None:
    root = ElementTree.fromstring(junit_of_skills([OLD, SAME, BROKEN], lambda _: ()))
    assert [suite.get("name") for suite in root] == ["tarnctl / haiku", "kept", "broken"]
    assert (root.get("errors"), root.get("skipped")) == ("1", "1")
    assert root.findall("testsuite/testcase/error")[0].get("message") == "broken: there are no cases"
    rows = csv_of_evaluations([one.evaluation for one in (OLD, NEW) if one.evaluation], lambda _: ())
    assert rows.count("\n") == 1, "one header for all"


def test_every_format_of_eval_takes_several_skills() -> None:
    results = Result(skills=(OLD, SAME, BROKEN), trials_of=lambda _: ())
    for format in FORMATS:
        if format.suffix:
            assert format.render(results).strip()
