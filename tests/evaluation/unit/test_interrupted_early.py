"""An interrupt between the run folder and the first request ends the run as any other does: with a result to resume."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from upskill.core.models import MeteredClient
from upskill.core.progress import RunProgress
from upskill.core.settings import settings_from
from upskill.core.trials import measure
from upskill.evaluation.evaluate import evaluate
from upskill.evaluation.order import EvaluationOrder

Moment = Literal["the store is opened", "the store is closed", "the engine is loaded"]


@pytest.mark.parametrize("moment", ["the store is opened", "the store is closed", "the engine is loaded"])
def test_an_interrupt_before_the_first_request_returns_a_result(
    tmp_path: Path, moment: Moment, monkeypatch: pytest.MonkeyPatch
) -> None:
    skill = tmp_path / "gauge"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads gauges.\n---\nRead it.\n")
    case = {"id": "c", "input": "Port?", "expected": {"contains": ["74"]}}
    (skill / "skill_meta.json").write_text(json.dumps({"cases": [case]}))
    (tmp_path / "student.yaml").write_text("rules: [{replies: [x]}]")

    @contextmanager
    def no_store(*_: object, **__: object) -> Iterator[None]:
        if moment == "the store is opened":
            raise KeyboardInterrupt
        try:
            yield None
        finally:
            if moment == "the store is closed":
                raise KeyboardInterrupt

    class Pressed(RunProgress):
        def evaluation_begun(self, client: MeteredClient) -> None:
            assert moment != "the store is opened"
            raise KeyboardInterrupt

    monkeypatch.setattr(measure, "open_store", no_store)
    evaluation = evaluate(
        EvaluationOrder(skill=skill),
        settings=settings_from(
            {"models": (f"scripted/{tmp_path}/student.yaml",), "runs_dir": str(tmp_path / "runs")}, where="here"
        ),
        progress=Pressed(),
    )
    assert evaluation.end.interrupted
    assert evaluation.bought.calls == 0
    (run,) = (tmp_path / "runs").glob("*/run.json")
    assert json.loads(run.read_text())["status"] == "interrupted"
