"""Why an evaluation ended is a value: the words for people decide nothing."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.models import MeteredClient
from upskill.core.nouns import Cap, Case, Check, RunEnd
from upskill.core.runs.records import read_run
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.evaluation.estimate import client_for
from upskill.generation.draft import Draft
from upskill.generation.files import TeachingFolder
from upskill.generation.measure import Measurement, StageMeasurer

CASES = [Case(id=f"c{n}", prompt=f"What is {n}?", checks=(Check(kind="contains", spec="7413"),)) for n in range(12)]
DRAFT = Draft(name="gauge", description="Reads gauges. Use for gauges.", body="Read it.\n")


class Stage:
    """One stage of a `generate`, measured again and again as a resumed command would."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.record = folder / "trials" / "learn-1" / "run.json"
        self.sick: Callable[[ReceivedRequest], bool] = lambda _: False

    def behave(self, asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=400, error={"message": "no"}) if self.sick(asked) else Behaviour(text="7413")

    def measure(self, provider: Provider, **settings: Any) -> Measurement:
        given = self._settings(provider, **settings)
        client: MeteredClient = client_for(given.values)
        measure = StageMeasurer(TeachingFolder(path=self.folder), settings=given, client=client, all_cases=CASES)
        return measure("learn-1", DRAFT, CASES, repeats=1)

    def _settings(self, provider: Provider, **others: Any) -> ResolvedSettings:
        flags = {"models": ("any",), "base_url": provider.url, "store": False, "max_retries": 0, "concurrency": 1}
        return resolve_settings({**flags, **others}, environment={}, folder=self.folder, user_folder=self.folder)

    def change(self, edit: Callable[[dict[str, Any]], None]) -> None:
        record = json.loads(self.record.read_text())
        edit(record)
        self.record.write_text(json.dumps(record))


@pytest.fixture
def stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Stage:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return Stage(tmp_path / "generate")


def as_it_was(record: dict[str, Any]) -> None:
    """Nothing is changed."""


def reworded(record: dict[str, Any]) -> None:
    """As a version would have written it that says everything in other words."""
    record["notes"] = ["Ende."] * len(record["notes"])
    record["results"]["notes"] = record["notes"]
    for student in record["results"]["students"]:
        student["sentence"] = "Satz."


def misleading(record: dict[str, Any]) -> None:
    record["notes"] = [
        "stopped at the cap of 3 calls",
        "any: the endpoint went down and nothing more was sent to it (x)",
    ]


@pytest.mark.parametrize("edit", [as_it_was, reworded])
def test_a_stage_that_an_outage_ended_is_gone_on_with_whatever_its_notes_say(
    stage: Stage, edit: Callable[[dict[str, Any]], None]
) -> None:
    with Provider(stage.behave) as provider:
        stage.sick = lambda _: True
        down = stage.measure(provider)
        assert down.cut_short is not None
        assert [report.end for report in down.evaluation.students] == ["endpoint down"]
        assert [outage.model for outage in down.evaluation.end.outages] == [down.evaluation.students[0].student.model]
        stage.change(edit)
        assert read_run(stage.record.parent).end == down.evaluation.end
        stage.sick = lambda _: False
        again = stage.measure(provider)
    assert again.cut_short is None
    assert again.evaluation.end == RunEnd()
    assert [report.end for report in again.evaluation.students] == ["plan finished"]


@pytest.mark.parametrize("edit", [as_it_was, reworded])
def test_a_stage_that_a_cap_ended_is_gone_on_with_whatever_its_notes_say(
    stage: Stage, edit: Callable[[dict[str, Any]], None]
) -> None:
    with Provider(stage.behave) as provider:
        capped = stage.measure(provider, max_calls=9)
        assert capped.evaluation.end == RunEnd(cap=Cap(kind="calls", amount=9))
        assert [report.end for report in capped.evaluation.students] == ["cap reached"]
        stage.change(edit)
        assert read_run(stage.record.parent).end == capped.evaluation.end
        again = stage.measure(provider)
        assert len(provider.requests) == 24, "what was bought before is not bought again, and the rest is"
    assert [report.end for report in again.evaluation.students] == ["plan finished"]


@pytest.mark.parametrize("edit", [as_it_was, reworded, misleading])
def test_what_errored_in_a_stage_that_is_complete_stays_so_whatever_its_notes_say(
    stage: Stage, edit: Callable[[dict[str, Any]], None]
) -> None:
    with Provider(stage.behave) as provider:
        stage.sick = lambda asked: asked.prompt == "What is 3?"
        stage.measure(provider)
        asked = len(provider.requests)
        stage.change(edit)
        stage.sick = lambda _: False
        again = stage.measure(provider)
        assert len(provider.requests) == asked, "the teacher was shown these failures, and no others"
    assert again.evaluation.students[0].lifts[0].pairs == 11


def test_a_record_and_the_json_of_a_result_say_why_a_run_ended_as_a_value(skill: Make, run_at: Any) -> None:
    folder = skill([(f"Question {n}?", {"contains": "x"}) for n in range(6)])
    ran, _ = run_at(folder, lambda _: Behaviour(text="x"), max_calls=5, concurrency=1)
    path = ran.run / "run.json"
    record = json.loads(path.read_text())
    assert (
        record["end"]
        == record["results"]["end"]
        == {"interrupted": False, "cap": {"kind": "calls", "amount": 5}, "outages": []}
    )
    reworded(record)
    path.write_text(json.dumps(record))
    assert read_run(ran.run).end == ran.evaluation.end
