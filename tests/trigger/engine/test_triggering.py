"""`upskill trigger` on the real engine: what a router with known probabilities did is recovered."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from generation.engine.trigger_router import Chances, TriggerRouter
from provider import Behaviour, Provider
from tool_students import tool_call
from upskill.core.nouns.skill import read_among
from upskill.core.runs.run_summaries import past_runs
from upskill.core.settings import resolve_settings
from upskill.evaluation.past_runs import trials_of
from upskill.trigger.trigger import TriggerOrder, read_trigger_run, trigger

DESCRIPTIONS = {
    "good": "Calibrates tide gauges. Use when a gauge drifts, and not for tide tables.",
    "vague": "Helps with water.",
    "catch-all": "Use for everything.",
}
CHANCES = {
    "tide gauges": Chances(should=0.97, near=0.03),
    "water": Chances(should=0.1, near=0.03),
    "everything": Chances(should=1.0, near=0.97),
}
SHOULD = tuple(f"Gauge {n} shows {n + 3} cm too much; put it right." for n in range(16))
NEAR = tuple(f"When is the tide highest at harbour {n}?" for n in range(16))

Trigger = Callable[..., Any]


@pytest.fixture
def start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trigger:
    """Measures a skill with one of the descriptions."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def run(
        description: str, behave: Any, *, among: tuple[str, ...] = (), each: int = 6, times: int = 1, **settings: Any
    ) -> Any:
        folder = tmp_path / "skills" / "gauge-care"
        (folder / "evals").mkdir(parents=True, exist_ok=True)
        body = "Turn the brass screw by a quarter for every two centimetres.\n"
        (folder / "SKILL.md").write_text(f"---\nname: gauge-care\ndescription: {description}\n---\n{body}")
        prompts = [
            *({"id": f"s{n}", "prompt": text, "should_load": True} for n, text in enumerate(SHOULD[:each])),
            *({"id": f"n{n}", "prompt": text, "should_load": False} for n, text in enumerate(NEAR[:each])),
        ]
        (folder / "evals" / "triggers.json").write_text(json.dumps(prompts))
        with Provider(behave) as provider:
            flags = {"models": ("any",), "base_url": provider.url, "runs_dir": str(tmp_path / "runs"), **settings}
            chosen = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path)
            order = TriggerOrder(skill=folder, among=read_among(among))
            results = [trigger(order, settings=chosen) for _ in range(times)]
        return results[0] if times == 1 else results

    return run


@pytest.mark.parametrize(
    ("kind", "each", "verdict"),
    [("good", 16, "triggers well"), ("vague", 10, "does not trigger well"), ("catch-all", 10, "does not trigger well")],
)
def test_what_the_router_did_is_recovered_alone_and_among_others(
    kind: str, each: int, verdict: str, start: Trigger, tmp_path: Path
) -> None:
    router = TriggerRouter(skill="gauge-care", chances=CHANCES, should=frozenset(SHOULD), rivals=0.25)
    result = start(DESCRIPTIONS[kind], router, among=("20",), each=each)
    chances = next(one for phrase, one in CHANCES.items() if phrase in DESCRIPTIONS[kind])
    alone, among = result.scores
    assert (alone.company, alone.others, among.company, among.others) == ("alone", 0, "among", 20)
    for score, listed in ((alone, 1), (among, 21)):
        right, wrong = (sum(router.loaded[prompt, listed] for prompt in asked[:each]) for asked in (SHOULD, NEAR))
        assert score.recall is not None
        assert score.near_miss is not None
        assert score.precision is not None
        assert score.interval is not None
        assert (score.recall.rate, score.near_miss.rate) == (right / each, wrong / each)
        assert score.precision.rate == pytest.approx(right / (right + wrong))
        assert score.recall.interval.low <= chances.should <= score.recall.interval.high
        assert score.near_miss.interval.low <= chances.near <= score.near_miss.interval.high
        assert score.interval.low <= chances.should - chances.near <= score.interval.high
        assert score.errored == 0
        assert score.verdict == verdict
    assert result.triggers_well == (kind == "good")
    others = {name for tally in among.tallies for name in tally.others}
    assert len(others) == 1, "the rival that was read first"
    folder = tmp_path / result.run
    trials = list(trials_of(folder / "trials" / "alone"))
    assert {trial.arm for trial in trials} == {"offered"}
    ends = {trial.outcome.end for trial in trials if trial.outcome.kind == "scored" and trial.skill_use.loaded}  # type: ignore[union-attr]
    assert ends == {"stopped"}
    assert max(trial.calls for trial in trials) <= 2, "it ends at the load or at the answer"
    assert read_trigger_run(folder).status == "finished"
    (listed_run,) = past_runs(tmp_path / "runs")
    assert listed_run.sentence is not None
    assert verdict in listed_run.sentence


def test_a_company_that_a_cap_left_out_has_shown_nothing(start: Trigger) -> None:
    router = TriggerRouter(skill="gauge-care", chances={"": Chances(should=1, near=0)}, should=frozenset(SHOULD))
    result = start(DESCRIPTIONS["good"], router, among=("2",), each=1, max_calls=1)
    assert [score.company for score in result.scores] == ["alone", "among"]
    assert (result.scores[1].recall, result.scores[1].verdict, result.triggers_well) == (None, "invalid", False)


def test_a_description_that_is_measured_again_on_the_same_prompts_is_judged_more_strictly(start: Trigger) -> None:
    router = TriggerRouter(skill="gauge-care", chances=CHANCES, should=frozenset(SHOULD))
    runs = start(DESCRIPTIONS["vague"], router, each=8, store=False, times=2)
    runs += start(DESCRIPTIONS["good"], router, each=8, times=2)
    said = [[note for note in one.notes if "look at this skill" in note] for one in runs]
    assert said[0] == []
    stricter = "look at this skill with this model: a claim that it helps needs stronger evidence than in the first"
    assert said[1:3] == [[f"2nd {stricter}"], [f"3rd {stricter}"]]
    assert said[3] == [], "the same answers are the same look"
    levels = [1 - 0.025 - one.scores[0].confidence for one in runs]
    assert levels == pytest.approx([0.025, 0.0025, 0.00225, 0.00225])


def test_who_works_on_without_the_skill_is_stopped_after_the_third_turn(start: Trigger, tmp_path: Path) -> None:
    result = start(DESCRIPTIONS["good"], lambda asked: tool_call(asked, "shell", command="date"))
    (score,) = result.scores
    assert score.recall is not None
    assert score.recall.rate == 0
    assert {trial.calls for trial in trials_of(tmp_path / result.run / "trials" / "alone")} == {3}


def test_faults_are_not_answers_and_too_many_leave_no_verdict(start: Trigger) -> None:
    def behave(asked: Any) -> Behaviour:
        return Behaviour(status=400) if "harbour" in asked.prompt else Behaviour(text="No.")

    result = start(DESCRIPTIONS["good"], behave, max_retries=0)
    (score,) = result.scores
    assert score.near_miss is None
    assert score.verdict == "invalid"
    assert score.errored == 6
    assert any("6 answers errored and not counted" in note for note in result.notes), result.notes
    assert any("called no tool in 6 answers" in note for note in result.notes), result.notes


def test_answers_are_taken_from_the_cache_when_the_same_is_asked_again(start: Trigger) -> None:
    router = TriggerRouter(skill="gauge-care", chances=CHANCES, should=frozenset(SHOULD))
    first, again = start(DESCRIPTIONS["good"], router, times=2)
    assert (first.bought.calls > 0, again.bought.calls, again.bought.reused) == (True, 0, 12)
    assert first.scores[0].j == again.scores[0].j
