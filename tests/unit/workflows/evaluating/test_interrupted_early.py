"""An interrupt between the run folder and the first request ends the run as any other does: with a result to resume."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal

import pytest

from upskill.models import MeteredClient
from upskill.settings import settings_from
from upskill.storage.runs import RunFolder
from upskill.workflows.evaluating.evaluate import ParentRun, evaluate
from upskill.workflows.evaluating.prepare import EvaluationOrder
from upskill.workflows.progress import RunProgress

Moment = Literal["the store is opened", "the store is closed", "the engine is loaded"]


@pytest.mark.parametrize("moment", ["the store is opened", "the store is closed", "the engine is loaded"])
def test_an_interrupt_before_the_first_request_returns_a_result(tmp_path: Path, moment: Moment) -> None:
    skill = tmp_path / "gauge"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads gauges.\n---\nRead it.\n")
    case = {"id": "c", "input": "Port?", "expected": {"contains": ["74"]}}
    (skill / "skill_meta.json").write_text(json.dumps({"cases": [case]}))
    (tmp_path / "student.yaml").write_text("rules: [{replies: [x]}]")

    @contextmanager
    def no_store(*_: object) -> Iterator[None]:
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

    evaluation = evaluate(
        EvaluationOrder(skill=skill),
        settings=settings_from({"models": (f"scripted/{tmp_path}/student.yaml",)}, where="here"),
        progress=Pressed(),
        parent=ParentRun(client=MeteredClient(), folder=RunFolder(path=tmp_path / "run"), open_store=no_store),
    )
    assert evaluation.end.interrupted
    assert evaluation.bought.calls == 0
    assert json.loads((tmp_path / "run" / "run.json").read_text())["status"] == "interrupted"
