"""Other skills beside the measured one, in the real agents: listed in every arm, and seen when one is loaded.

The model is a router on loopback; the agents are the ones people install. `make agents` fetches them.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from agents.real import zebra
from agents.real.router import DONE, Answer, Policy, Router, read_listing, serve
from upskill.core.nouns import Errored, Evaluation, Scored, Trial
from upskill.core.nouns.skill import Among
from upskill.core.settings import resolve_settings
from upskill.core.skills.skills import shipped_skills
from upskill.evaluation.evaluate import evaluate
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.past_runs import trials_of

BUNDLED = {
    "codex": {"skill-creator"},
    "claude-code": {"code-review"},
    "opencode": {"customize-opencode"},
    "qwen-code": {"review"},
    "pi": set[str](),
}
"""One of the skills that each agent brings, if it brings any."""
RIVAL = "log-analysis"
OTHERS = {skill.name for skill, _ in shipped_skills(20)}
MARK = "Ask the harbour master of the tarn before every departure."
PROMPT = "Write the port of the tarn into port.txt."


class Ran(NamedTuple):
    """What an evaluation gave, and what the model was asked."""

    evaluation: Evaluation
    trials: dict[str, Trial]
    router: Router


Run = Callable[..., Ran]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Evaluates a skill in an agent, whose model loads the rival wherever it is listed."""
    zebra.settle(monkeypatch, tmp_path)

    def start(
        agent: str, *, name: str, among: Among, baseline: bool = True, description: str = "Knows the tarn."
    ) -> Ran:
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: {description}\n---\n{MARK}\n")
        case = {"id": "c", "input": PROMPT, "expected": {"contains": DONE}}
        (folder / "skill_meta.json").write_text(json.dumps({"cases": [case]}))
        answer = Answer("Writing.", "echo 7413 > port.txt")
        policy = Policy(
            skill=name,
            mark=MARK,
            right=lambda _: answer,
            wrong=lambda _: answer,
            choose=lambda asked: RIVAL if RIVAL in asked.listed else None,
            prompts=(PROMPT,),
        )
        with serve(policy) as router:
            flags = {
                "models": ("local",),
                "base_url": router.url,
                "harness": agent,
                "store": False,
                "report": False,
                "runs_dir": str(tmp_path / "runs"),
            }
            evaluation = evaluate(
                EvaluationOrder(
                    skill=folder, repeats=1, baseline=baseline, among=among, agent_bin=zebra.PROGRAMS[agent]
                ),
                settings=resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path),
            )
        return Ran(evaluation, {trial.arm: trial for trial in trials_of(tmp_path / evaluation.run)}, router)

    return start


QUICK = [pytest.param(agent, marks=pytest.mark.full) if agent == "opencode" else agent for agent in zebra.PROGRAMS]
"""opencode takes 20 s for this, and what is tested is the same for all agents."""


@pytest.mark.parametrize("agent", QUICK)
def test_twenty_others_and_the_bundled_skills_are_listed_and_a_loaded_one_is_seen(agent: str, run: Run) -> None:
    every_arm = agent == "codex"  # the fastest; the arms are made in the same way for all
    ran = run(agent, name="tarn", among=Among(shipped=20, bundled=True), baseline=every_arm)
    assert [trial.outcome for trial in ran.trials.values() if not isinstance(trial.outcome, Scored)] == []
    listings = [
        set(read_listing("\n".join(_texts(request.body["messages"]))))
        for request in ran.router.requests
        if request.body.get("tools")
    ]
    assert all(listing >= OTHERS | BUNDLED[agent] for listing in listings)
    assert {"tarn" in listing for listing in listings} == ({True, False} if every_arm else {True})

    uses = {arm: trial.skill_use for arm, trial in ran.trials.items()}
    seen = {arm: (use.loaded, use.others, use.others_listed) for arm, use in uses.items() if use is not None}
    assert seen.pop("offered") == (False, (RIVAL,), 20)
    if every_arm:
        assert seen == {"baseline": (False, (RIVAL,), 20), "with_skill": (True, (), 20)}
    assert ran.trials["offered"].files == {"port.txt": b"7413\n"}
    assert ran.evaluation.others is not None
    assert ran.evaluation.others.words == "among 20 other skills and the agent's bundled skills"


def test_a_skill_that_a_cut_listing_names_without_its_description_errors_and_the_message_says_where_it_was_cut(
    run: Run, tmp_path: Path
) -> None:
    long = "Knows the port of the tarn. Use when a boat is to leave. " * 16
    for number in range(20):
        other = tmp_path / "others" / f"other-{number:02}"
        other.mkdir(parents=True)
        (other / "SKILL.md").write_text(f"---\nname: {other.name}\ndescription: {number} {long}\n---\nBody.\n")
    among = Among(folders=(str(tmp_path / "others"),))
    ran = run("claude-code", name="zz-tarn", description=long, among=among, baseline=False)
    outcome = ran.trials["offered"].outcome
    assert isinstance(outcome, Errored)
    assert outcome.fault == "agent"
    assert outcome.message.endswith(
        "did not list the skill zz-tarn, although it was there; its list was cut: 8 of 21 skills have a description "
        "in it, and number 9 by name is the first without; offer fewer with --among"
    )


def _texts(value: object) -> list[str]:
    """Every text in a request."""
    if isinstance(value, str):
        return [value]
    inside = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in inside for text in _texts(one)]
