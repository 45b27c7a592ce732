"""Controls are run beside the pair: they decide nothing, and what goes wrong with them costs nothing else."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from controls.readers import FACTS, LAYOUTS, NAMES, guesser, reader, write_skill
from on_engine import Run
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.runs.look_ledger import LookLedger
from upskill.evaluation.regrade import regrade

KINDS = ("true", "wrong", "ignores")


def test_an_error_in_a_control_sends_no_pair_round(tmp_path: Path, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        is_placebo = asked.has_skill and "# Ports" not in asked.system
        return Behaviour(status=400) if is_placebo else reader()(asked)

    ran, provider = run_at(write_skill(tmp_path / "ports", FACTS), behave, controls=True)
    report = ran.evaluation.students[0]
    assert report.lifts[0].pairs == 12
    assert report.controls is not None
    assert (report.controls.over_placebo, report.controls.noticed) == (None, 12)
    assert len(provider.requests) == 48, "each was asked once"


def test_controls_change_nothing_of_a_verdict_and_are_no_look(tmp_path: Path, run: Run) -> None:
    folder = write_skill(tmp_path / "ports", FACTS)
    with Provider(reader(by_heart=NAMES[:4])) as provider:
        options = {"base_url": provider.url, "repeats": None, "ledger": "looks.jsonl", "store": True}
        plain = run(folder, ["any"], **options).evaluation.students[0]
        asked = len(provider.requests)
        added = run(folder, ["any"], controls=True, **options).evaluation.students[0]
        assert len(provider.requests) - asked == 24, "answers of the verdict come from the store"
    assert (plain.verdict, plain.sentence, plain.lifts) == (added.verdict, added.sentence, added.lifts[:1])
    assert [(arm.passed, arm.trials) for arm in plain.arms] == [(arm.passed, arm.trials) for arm in added.arms[:2]]
    assert len(LookLedger(Path("looks.jsonl")).read()) == 1


def test_a_run_is_regraded_to_the_same_although_the_skill_has_changed(tmp_path: Path, run_at: Any) -> None:
    folder = write_skill(tmp_path / "ports", FACTS)
    ran, _ = run_at(folder, reader(by_heart=NAMES[:4]), controls=True)
    (folder / "SKILL.md").write_text("---\nname: ports\ndescription: d\n---\nNothing.\n")
    controls = regrade(ran.run).students[0].controls
    assert controls == ran.evaluation.students[0].controls
    assert controls is not None
    assert controls.shows_nothing == NAMES[:4]


@pytest.mark.full
def test_controls_say_what_is_true_of_200_evaluations(tmp_path: Path, run: Run) -> None:
    true = sum(_is_true(tmp_path, run, number) for number in range(200))
    assert true >= 190, f"the controls were true in {true} of 200 evaluations"


def _is_true(tmp_path: Path, run: Run, number: int) -> bool:
    """One evaluation of a model and a skill of a known kind, drawn with this number."""
    draw = random.Random(number)
    kind, layout = KINDS[number % len(KINDS)], draw.choice([*LAYOUTS])
    names = draw.sample(NAMES, 12)
    wrong = set(names[:5]) if kind == "wrong" else set()
    figures = draw.sample([str(figure) for figure in range(1_000, 9_999)], 24)
    truth = dict(zip(names, figures[:12], strict=True))
    skill = {name: figures[12 + at] if name in wrong else truth[name] for at, name in enumerate(names)}
    folder = write_skill(tmp_path / f"ports-{number}", skill, layout=layout, asked=truth)
    behave = guesser(0.5, seed=number, facts=truth) if kind == "ignores" else reader()
    with Provider(behave) as provider:
        found = run(folder, ["any"], base_url=provider.url, controls=True).evaluation.students[0].controls
    shutil.rmtree(tmp_path / "runs")
    assert found is not None
    assert found.over_placebo is not None
    assert found.over_corrupted is not None
    if kind == "ignores":
        return not found.over_placebo.interval.above_zero and not found.over_corrupted.interval.above_zero
    right = 12 - len(wrong)
    return (
        (found.passing, found.noticed, found.shows_nothing) == (right, right, ())
        and found.tested <= right
        and found.over_placebo.interval.above_zero
        and found.over_corrupted.interval.above_zero
    )
