"""The ceiling arm: a student without the skill that has the passage of its case in the prompt."""

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from on_engine import Make, Run
from provider import Behaviour, Provider, ReceivedRequest
from typing_again import typed_again
from upskill.core.nouns import Trial
from upskill.core.runs.look_ledger import LookLedger
from upskill.core.settings import resolve_settings
from upskill.errors import UsageError
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import prepare
from upskill.evaluation.regrade import regrade
from upskill.evaluation.resume import resume

PORTS = {name: str(7400 + number) for number, name in enumerate("abcdefghij")}
CASES = [(f"Which port has {name}?", {"contains": port}) for name, port in PORTS.items()]
HALF = "\n".join(f"{name} has port {port}." for name, port in list(PORTS.items())[:5])


def _reader(asked: ReceivedRequest) -> Behaviour:
    """Knows nothing but what its system message says of the service it is asked about."""
    name = asked.prompt.removesuffix("?")[-1]
    found = re.search(rf"\b{name} has port (\d+)", asked.system)
    return Behaviour(text=f"{found[1] if found else 'unknown'} ({asked.number:04d})")


@pytest.fixture
def services(skill: Make) -> Make:
    """A skill that holds half of what is asked, with passages for all cases, or for the first so many."""

    def make(*, passages: int = len(PORTS), name: str = "thing") -> Path:
        folder = skill(CASES, body=HALF, name=name)
        meta = json.loads((folder / "skill_meta.json").read_text())
        for case, (service, port) in list(zip(meta["cases"], PORTS.items(), strict=True))[:passages]:
            case["passage"] = f"{service} has port {port}."
            case["reference"] = {"text": f"The secret answer is {port}"}
        (folder / "skill_meta.json").write_text(json.dumps(meta))
        return folder

    return make


def _arms(trials: list[Trial]) -> dict[str, int]:
    arms = [trial.arm for trial in trials]
    return {arm: arms.count(arm) for arm in dict.fromkeys(arms)}


def test_a_student_that_reads_has_its_ceiling_above_a_skill_that_holds_half(services: Make, run_at: Any) -> None:
    ran, provider = run_at(services(), _reader, ceiling="beside")
    report = ran.evaluation.students[0]
    assert report.compared == ("with_skill", "baseline")
    assert [(lift.arm, lift.against, lift.mean) for lift in report.lifts] == [
        ("with_skill", "baseline", 0.5),
        ("ceiling", "baseline", 1.0),
    ]
    assert [(arm.arm, arm.passed, arm.trials) for arm in report.arms] == [
        ("baseline", 0, 10),
        ("with_skill", 5, 10),
        ("ceiling", 10, 10),
    ]
    frames = {asked.system for asked in provider.requests if "port" not in asked.system}
    given = next(asked for asked in provider.requests if "<passage>" in asked.system and " a?" in asked.prompt)
    assert given.system == (
        f"{frames.pop()}\n\nYou can use this passage for what the user asks.\n\n<passage>\na has port 7400.\n</passage>"
    )
    assert "secret answer" not in json.dumps([asked.body for asked in provider.requests])


def test_a_ceiling_changes_nothing_of_a_verdict(services: Make, run_at: Any) -> None:
    plain, _ = run_at(services(name="thing"), _reader, repeats=None)
    beside, _ = run_at(services(name="other"), _reader, repeats=None, ceiling="beside", ledger="other.jsonl")
    one, other = plain.evaluation.students[0], beside.evaluation.students[0]
    assert (one.verdict, one.claim, one.sentence, one.end) == (other.verdict, other.claim, other.sentence, other.end)
    assert one.lifts == other.lifts[:1]
    assert one.arms == other.arms[:2]
    assert other.lifts[1].pairs == other.lifts[0].pairs


def test_only_cases_with_a_passage_have_a_ceiling(services: Make, run_at: Any) -> None:
    ran, _ = run_at(services(passages=4), _reader, ceiling="beside")
    assert _arms(ran.trials) == {"baseline": 10, "with_skill": 10, "ceiling": 4}
    assert ran.evaluation.planned == 24
    report = ran.evaluation.students[0]
    assert report.end == "plan finished"
    assert report.lifts[1].pairs == 4
    assert any(
        "6 of 10 cases have no passage; the ceiling is measured on the other 4" in note for note in ran.evaluation.notes
    )


def test_alone_no_skill_is_shown_and_cases_without_a_passage_are_not_asked(services: Make, run_at: Any) -> None:
    ran, provider = run_at(services(passages=7), _reader, repeats=2, ceiling="alone")
    assert _arms(ran.trials) == {"baseline": 14, "ceiling": 14}
    assert not any(asked.has_skill or "thing" in asked.system for asked in provider.requests)
    report = ran.evaluation.students[0]
    assert report.compared == ("ceiling", "baseline")
    assert report.lifts[0].mean == 1.0


def test_a_case_file_without_a_passage_is_refused_before_a_call(services: Make, run_at: Any) -> None:
    with pytest.raises(UsageError, match="no case names a passage") as refused:
        run_at(services(passages=0), _reader, ceiling="beside")
    assert "passage" in (refused.value.hint or "")


def test_a_ceiling_needs_the_baseline(services: Make, run_at: Any) -> None:
    with pytest.raises(UsageError, match="the ceiling needs answers without the skill"):
        run_at(services(), _reader, ceiling="beside", baseline=False)


@pytest.mark.parametrize("ceiling", ["beside", "alone"])
def test_a_run_with_a_ceiling_is_resumed_and_regraded(ceiling: str, services: Make, run: Run) -> None:
    with Provider(_reader) as provider:
        ran = run(services(passages=6), ["any"], base_url=provider.url, ceiling=ceiling)
        asked = len(provider.requests)
        assert asked == len(ran.trials)
        assert regrade(ran.run).students == ran.evaluation.students
        lines = (ran.run / "trials.jsonl").read_text().splitlines(keepends=True)
        for cut in (0, 4, len(lines)):
            (ran.run / "trials.jsonl").write_text("".join(lines[:cut]))
            assert resume(ran.run, typed=typed_again(ran.run)).students == ran.evaluation.students
            asked += len(lines) - cut
        assert len(provider.requests) == asked, "nothing is bought twice"


def test_a_run_whose_passages_have_changed_is_not_resumed(services: Make, run: Run) -> None:
    folder = services()
    with Provider(_reader) as provider:
        ran = run(folder, ["any"], base_url=provider.url, ceiling="beside")
        meta = (folder / "skill_meta.json").read_text()
        (folder / "skill_meta.json").write_text(meta.replace("a has port", "the service a has port"))
        with pytest.raises(UsageError) as refused:
            resume(ran.run, typed=typed_again(ran.run))
    assert any("passages have changed" in problem for problem in refused.value.problems)


def test_a_ceiling_added_to_a_verdict_is_no_second_look(services: Make, run: Run) -> None:
    folder = services()
    with Provider(_reader) as provider:
        options = {"base_url": provider.url, "repeats": None, "ledger": "looks.jsonl", "store": True}
        first = run(folder, ["any"], **options)
        asked = len(provider.requests)
        added = run(folder, ["any"], ceiling="beside", **options)
        new = provider.requests[asked:]
        again = run(folder, ["any"], ceiling="beside", **options)
        assert len(provider.requests) == asked + len(new), "a ceiling is bought once"
    pairs = first.evaluation.students[0].lifts[0].pairs
    assert len(new) == pairs
    assert all("<passage>" in one.system for one in new), "answers of the verdict come from the store"
    for ran in (added, again):
        report = ran.evaluation.students[0]
        assert report.sentence == first.evaluation.students[0].sentence
        assert report.lifts[:1] == first.evaluation.students[0].lifts
        assert report.ceiling is not None
        assert report.ceiling.pairs == pairs
    assert len(LookLedger(Path("looks.jsonl")).read()) == 1


def test_the_estimate_counts_the_ceiling_of_cases_that_have_one(
    services: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "not-used")
    folder = services(passages=4)
    settings = resolve_settings({"models": ("haiku",)}, environment={}, folder=tmp_path, user_folder=tmp_path)
    order = EvaluationOrder(skill=folder, repeats=2)
    plain, beside = (prepare(one, settings.values) for one in (order, replace(order, ceiling="beside")))
    assert (plain.estimate.calls_at_most, beside.estimate.calls_at_most) == (40, 48)
    assert (plain.estimate.price_at_most or 0) < (beside.estimate.price_at_most or 0)


def test_what_a_cap_ends_in_the_ceiling_takes_no_pair_away(services: Make, run_at: Any) -> None:
    # Three calls a turn: the cap leaves the last turn its pair, and not its ceiling.
    ran, _ = run_at(services(), _reader, ceiling="beside", concurrency=1, max_calls=29)
    report = ran.evaluation.students[0]
    assert [lift.pairs for lift in report.lifts] == [10, 9]
    assert report.end == "plan finished"


def test_a_student_with_tools_gets_the_passage_and_no_skill_folder(services: Make, run: Run, script: Any) -> None:
    looks = [{"tool": "shell", "arguments": {"command": "ls -d /skills || echo no folder"}}]
    student = script(
        {"arm": "ceiling", "turn": 1, "replies": looks},
        {"arm": "ceiling", "when": "no folder", "replies": list(PORTS.values())[:1]},
        {"replies": ["unknown"]},
    )
    ran = run(services(passages=1), [student], ceiling="beside", harness="agent")
    report = ran.evaluation.students[0]
    assert [arm.arm for arm in report.arms] == ["baseline", "offered", "with_skill", "ceiling"]
    assert [(arm.passed, arm.trials) for arm in report.arms] == [(0, 10), (0, 10), (0, 10), (1, 1)]
    assert report.compared == ("offered", "baseline")
    assert report.ceiling is not None
    assert report.ceiling.mean == 1.0
