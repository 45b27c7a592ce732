"""A harness is one module (`twice.py`) and one line in a plug-in: everything else finds it there."""

import hashlib
import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from on_engine import Make, Run
from strangers import install
from upskill.core.nouns import Case, PlannedTrial, Student, digest_of
from upskill.core.runs.records import read_run
from upskill.core.settings import resolve_settings
from upskill.core.skills.skills import read_skill
from upskill.core.trials.harness import Requests
from upskill.errors import SettingsError, UsageError
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import prepare
from upskill.evaluation.report import read_report
from upskill.report.json_report import evaluation_json
from upskill.report.terminal import show_figures

STRANGER = """
from upskill.core.nouns import HarnessInfo
from upskill.plugin import Plugin

PLUGIN = Plugin(harnesses={"twice": "twice_for_tests:TWICE"})
TWICE = HarnessInfo(
    name="twice",
    module="core.engine.twice",
    description="asked twice",
    arms={"baseline": "on its own", "with_skill": "with the handbook"},
)
"""
CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(8)]
HELPED = ({"arm": "with_skill", "turn": 2, "replies": ["yes"]}, {"replies": ["no"]})


@pytest.fixture
def registered(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path_factory.mktemp("site"), monkeypatch, module="twice_for_tests", text=STRANGER)


@pytest.mark.usefixtures("registered")
def test_a_harness_of_one_module_and_one_line_is_evaluated_to_a_verdict(skill: Make, run: Run, script: Any) -> None:
    folder = skill(CASES)
    ran = run(folder, [script(*HELPED)], harness="twice", repeats=None)

    report = ran.evaluation.students[0]
    assert (report.harness, report.verdict) == ("twice", "helps")
    assert all(trial.calls == 2 for trial in ran.trials)

    out = io.StringIO()
    show_figures(ran.evaluation, Console(file=out, width=120))
    assert "on its own" in out.getvalue()
    assert "with the handbook" in out.getvalue()
    assert '"harness": "twice"' in json.dumps(evaluation_json(ran.evaluation))

    record = read_run(ran.run)
    assert (record.harness, record.frame) == ("twice/7", "Answer; you will be asked again.")
    assert record.arms == ("baseline", "with_skill")

    page = read_report(ran.run).page()
    assert "asked twice (twice/7)" in page
    assert "with the handbook" in page


@pytest.mark.usefixtures("registered")
def test_what_it_asks_is_what_makes_the_identity_of_its_trials(skill: Make, run: Run, script: Any) -> None:
    folder = skill(CASES[:1])
    ids = {
        harness: {trial.arm: trial.id for trial in run(folder, [script(*HELPED)], harness=harness).trials}
        for harness in ("chat", "twice")
    }
    assert ids["chat"].keys() == ids["twice"].keys()
    assert not {*ids["chat"].values()} & {*ids["twice"].values()}
    case = Case(id="c0", prompt="Question 0?", checks=())
    student = Student(name="any", model="any")
    planned = PlannedTrial(case=case, arm="baseline", repeat=1)
    seen = {"system": digest_of("Answer; you will be asked again."), "prompt": "Question 0?", "asked": 2}
    told = {"harness": "twice/7", "model": "any", "endpoint": None, "temperature": None, "max_output_tokens": None}
    expected = hashlib.sha256(f"{digest_of(seen)}/{digest_of(told)}/1".encode()).hexdigest()
    assert Requests(read_skill(folder), harness="twice").trial_id(planned, student) == expected


@pytest.mark.usefixtures("registered")
def test_it_is_priced_and_chosen_like_any_other(skill: Make, script: Any, tmp_path: Path) -> None:
    order = EvaluationOrder(skill=skill(CASES), repeats=3)
    flags = {"models": (script(*HELPED),), "harness": "twice", "runs_dir": str(tmp_path)}
    settings = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path).values
    assert prepare(order, settings).estimate.calls_at_most == len(CASES) * 2 * 3 * 2
    with pytest.raises(SettingsError, match=r"must be one of auto, chat, .* qwen-code, .*twice, not 'thrice'"):
        resolve_settings({**flags, "harness": "thrice"}, environment={}, folder=tmp_path, user_folder=tmp_path)


def test_a_coding_agent_that_is_not_installed_is_named_before_anything_is_bought(
    skill: Make, run: Run, script: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match="codex"):
        run(skill(CASES), [script(*HELPED)], harness="codex")
    assert not (tmp_path / "runs").exists()
