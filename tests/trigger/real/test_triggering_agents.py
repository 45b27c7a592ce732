"""`upskill trigger` with Codex, Claude Code and opencode as people install them, and a scripted model on loopback."""

import json
import random
from pathlib import Path

import pytest

from agents.real import zebra
from agents.real.router import Asked, Policy, serve
from provider import Behaviour, Provider, ReceivedRequest
from tool_students import tool_call
from upskill.core.nouns.skill import read_among
from upskill.core.settings import resolve_settings
from upskill.evaluation.past_runs import trials_of
from upskill.trigger.report import TriggerResult
from upskill.trigger.trigger import TriggerOrder, trigger

SHOULD = tuple(f"Write the greeting for guest {n} of the zebra project." for n in range(16))
NEAR = tuple(f"How many stripes has a zebra of {n + 2} years?" for n in range(16))
CHANCES = {
    "How greetings are written in the zebra project.": (0.97, 0.03),
    "Helps with texts.": (0.1, 0.03),
    "Use for everything.": (1.0, 0.97),
}
"""By the description: how often the scripted model loads the skill where it should, and at a near miss."""


def chosen(asked: Asked) -> str | None:
    """The skill, by its description and what is asked; the same for the same request and the same company."""
    mine = asked.listed[zebra.NAME].description
    should, near = CHANCES[mine]
    draw = random.Random(f"{asked.prompt}/{mine}/{len(asked.listed)}").random()
    return zebra.NAME if draw < (should if asked.prompt in SHOULD else near) else None


def measured(
    agent: str, folder: Path, description: str, *, each: int, among: tuple[str, ...] = ()
) -> tuple[TriggerResult, dict[str, int]]:
    """The result, and how often each prompt really loaded the skill."""
    skill = zebra.make_skill(folder, {})
    text = (skill / "SKILL.md").read_text(encoding="utf-8")
    (skill / "SKILL.md").write_text(text.replace(zebra.DESCRIPTION, description), encoding="utf-8")
    (skill / "evals").mkdir()
    prompts = [{"prompt": one, "should_load": one in SHOULD} for one in (*SHOULD[:each], *NEAR[:each])]
    (skill / "evals" / "triggers.json").write_text(json.dumps(prompts), encoding="utf-8")
    policy = Policy(
        skill=zebra.NAME,
        mark=zebra.MARK,
        right=zebra.right,
        wrong=zebra.wrong,
        choose=chosen,
        prompts=(*SHOULD, *NEAR),
    )
    with serve(policy) as router:
        flags = {"models": ("any",), "base_url": router.url, "harness": agent, "runs_dir": str(folder / "runs")}
        order = TriggerOrder(skill=skill, among=read_among(among), agent_bin=zebra.PROGRAMS[agent])
        settings = resolve_settings(flags, environment={}, folder=folder, user_folder=folder)
        return trigger(order, settings=settings), dict(router.drawn.loaded)


SLOW = ("opencode", "pi")
QUICK = [pytest.param(agent, marks=pytest.mark.full) if agent in SLOW else agent for agent in zebra.PROGRAMS]
"""opencode takes 20 s for this, and what is tested is the same for all agents."""


@pytest.mark.parametrize("agent", QUICK)
def test_an_agent_loads_the_skill_where_it_should_and_is_stopped_there(
    agent: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zebra.settle(monkeypatch, tmp_path)
    result, loaded = measured(agent, tmp_path, next(iter(CHANCES)), each=1)
    (score,) = result.scores
    assert (score.harness, score.errored) == (agent, 0)
    assert {tally.prompt.prompt: tally.loads for tally in score.tallies} == loaded == {SHOULD[0]: 1, NEAR[0]: 0}
    ends = {
        trial.case_id: (trial.outcome.end, trial.calls)
        for trial in trials_of(tmp_path / result.run / "trials" / "alone")
        if trial.outcome.kind == "scored"
    }
    names = {tally.prompt.prompt: tally.prompt.id for tally in score.tallies}
    assert ends == {names[SHOULD[0]]: ("stopped", 1), names[NEAR[0]]: ("answered", 2)}


def test_a_load_in_the_third_turn_counts_and_no_fourth_is_bought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zebra.settle(monkeypatch, tmp_path)
    skill = zebra.make_skill(tmp_path, {})
    (skill / "evals").mkdir()
    prompts = [{"prompt": one, "should_load": one == SHOULD[0]} for one in (SHOULD[0], NEAR[0])]
    (skill / "evals" / "triggers.json").write_text(json.dumps(prompts), encoding="utf-8")

    def behave(asked: ReceivedRequest) -> Behaviour:
        turns = sum(message["role"] == "tool" for message in asked.body["messages"])
        loads = turns == 2 and SHOULD[0] in str(asked.body["messages"])
        command = f"cat /home/agent/.agents/skills/{zebra.NAME}/SKILL.md" if loads else f"echo turn {turns}"
        return tool_call(asked, "exec_command", cmd=command)

    with Provider(behave) as provider:
        flags = {"models": ("any",), "base_url": provider.url, "harness": "codex", "runs_dir": str(tmp_path / "runs")}
        settings = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path)
        result = trigger(TriggerOrder(skill=skill, agent_bin=zebra.BINARIES / "codex"), settings=settings)
    (score,) = result.scores
    assert {tally.prompt.prompt: tally.loads for tally in score.tallies} == {SHOULD[0]: 1, NEAR[0]: 0}
    ended = list(trials_of(tmp_path / result.run / "trials" / "alone"))
    assert {trial.calls for trial in ended} == {3}
    assert {trial.outcome.end for trial in ended if trial.outcome.kind == "scored"} == {"stopped", "turn limit"}


@pytest.mark.full
@pytest.mark.parametrize("description", CHANCES)
@pytest.mark.parametrize("agent", zebra.PROGRAMS)
def test_what_the_scripted_model_did_is_recovered_alone_and_among_20(
    agent: str, description: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """192 answers of each agent: a minute for Codex, half an hour for opencode on a small machine."""
    zebra.settle(monkeypatch, tmp_path)
    result, loaded = measured(agent, tmp_path, description, each=16, among=("20",))
    should, near = CHANCES[description]
    found = dict.fromkeys(loaded, 0)
    for score in result.scores:
        assert score.errored == 0
        assert score.recall is not None
        assert score.near_miss is not None
        assert score.interval is not None
        assert score.recall.interval.low <= should <= score.recall.interval.high
        assert score.near_miss.interval.low <= near <= score.near_miss.interval.high
        assert score.interval.low <= should - near <= score.interval.high
        assert score.verdict == ("triggers well" if should - near > 0.5 else "does not trigger well")
        for tally in score.tallies:
            found[tally.prompt.prompt] += tally.loads
    assert found == loaded, "precision and recall are those of what it did"
