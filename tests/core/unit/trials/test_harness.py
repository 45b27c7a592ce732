"""What every harness promises, and that nobody else knows one by its name."""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import upskill
from upskill.core.nouns import Case, Skill, harness_info
from upskill.core.nouns.harness import choose_harness, harness_names
from upskill.core.trials.harness import Requests, load_harness
from upskill.core.trials.trial_run import TrialLimits
from upskill.errors import UsageError

SKILL = Skill(name="thing", description="Does a thing.", body="The port is 7413.", digest="d1")
CASE = Case(id="port", prompt="Which port?", checks=(), files={"in.txt": b"12"})
SRC = Path(upskill.__file__).parent
OTHER_MEANINGS = (
    *("traces/", "agents/", "generation/draft.py"),
    *("core/nouns/trial.py", "core/trials/sample_source.py", "core/trials/trial_run.py", "core/runs/own_runs.py"),
    *(
        "trigger/command.py",
        "share/evidence.py",
        "lint/specification.py",
        "lint/disguise.py",
        "share/install.py",
        "mining/episodes.py",
    ),
)
"""There `chat` is a kind of recording, and `agent` is who speaks in one, a fault, a key, or a word for people.
Skills are installed for coding agents, whether or not a harness runs them."""


INFOS = {name: harness_info(name) for name in harness_names()}


@pytest.mark.parametrize("name", harness_names())
def test_a_harness_keeps_what_every_harness_promises(name: str) -> None:
    harness, info = load_harness(name), harness_info(name)
    assert harness.version.partition("/")[0] == info.name == name
    assert info.description
    arms = harness.arms(SKILL, previous=SKILL, trial_limits=TrialLimits())
    assert {*info.arms, "previous"} == arms.keys()
    assert all(arm.system.startswith(harness.frame) for arm in arms.values())
    other = harness.arms(replace(SKILL, name="other", body="Else."), previous=None, trial_limits=TrialLimits())
    assert other["baseline"] == arms["baseline"]
    assert (harness.show(CASE).prompt == CASE.prompt) == info.with_tools, "files lie in the sandbox, or in the prompt"
    usual, most = (
        estimate(3, prompt_tokens=100, answer_tokens=10, trial_limits=TrialLimits())
        for estimate in (harness.expected, harness.at_most)
    )
    assert all(least <= greatest for least, greatest in zip(usual, most, strict=True))


@pytest.mark.parametrize(
    ("asked", "arms"),
    [
        ((True, False), {"chat": ("baseline", "with_skill"), "agent": ("baseline", "offered", "with_skill")}),
        ((False, False), {"chat": ("with_skill",), "agent": ("offered",)}),
        ((True, True), {"chat": ("previous", "with_skill"), "agent": ("previous", "offered")}),
    ],
)
def test_the_second_arm_is_what_the_verdict_is_about(
    asked: tuple[bool, bool], arms: dict[str, tuple[str, ...]]
) -> None:
    baseline, previous = asked
    planned = {name: info.planned_arms(baseline=baseline, previous=previous) for name, info in INFOS.items()}
    assert planned == {name: arms["agent" if info.program else name] for name, info in INFOS.items()}


def test_auto_gives_tools_only_where_they_are_needed() -> None:
    assert [choose_harness("auto", tools=tools) for tools in (False, True)] == ["chat", "agent"]
    assert choose_harness("chat", tools=True) == "chat"


def test_a_record_of_an_unknown_harness_can_be_read_and_not_run() -> None:
    info = harness_info("telepathy/3")
    assert (info.name, info.arm_name("offered"), info.arm_name("previous")) == (
        "telepathy",
        "skill offered",
        "old version",
    )
    with pytest.raises(UsageError, match="no harness telepathy"):
        Requests(SKILL, harness="telepathy")


def test_only_the_table_of_harnesses_names_one() -> None:
    places = [*_named()]
    assert [place for place in places if not place.startswith("core/nouns/harness.py")] == []
    assert len(places) >= 2, "so the search finds something"


def _named() -> Iterator[str]:
    """Places where a string is the name of a harness: compared, looked up or handed on."""
    for path in sorted(SRC.rglob("*.py")):
        place = path.relative_to(SRC).as_posix()
        text = path.read_text(encoding="utf-8")
        if not place.startswith((*OTHER_MEANINGS, "trials/harnesses/")) and any(name in text for name in INFOS):
            for node in ast.walk(ast.parse(text)):
                if isinstance(node, ast.Constant) and node.value in INFOS:
                    yield f"{place}:{node.lineno}"
