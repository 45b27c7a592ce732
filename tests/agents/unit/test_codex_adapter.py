"""Codex, without starting it: how its words are read, and how it is started."""

import json
import tomllib
from pathlib import Path

from upskill.agents.codex import Codex
from upskill.agents.harness import Launch
from upskill.core.trials.trial_run import AgentProgram

PROGRAM = AgentProgram(path=Path("/bin/codex"), version="1", mounts=(), command="/opt/codex/bin/codex")


def test_a_prompt_stays_one_word_and_a_forced_skill_is_named_before_it() -> None:
    launch = Launch(base_url="http://127.0.0.1:1", prompt="--help\n$x")
    assert list(Codex().argv(PROGRAM, launch))[-2:] == ["--", "--help\n$x"]
    forced = Launch(base_url="http://127.0.0.1:1", prompt="--help", forced="thing")
    assert list(Codex().argv(PROGRAM, forced))[-2:] == ["--", "$thing --help"]


def test_its_configuration_is_valid_and_says_whether_bundled_skills_are_listed() -> None:
    for bundled in (True, False):
        (text,) = Codex().files(Launch(base_url="http://127.0.0.1:1", prompt="", bundled=bundled)).values()
        config = tomllib.loads(text.decode())
        assert config["skills"]["bundled"]["enabled"] is bundled
        assert config["model_providers"]["bridge"]["base_url"] == "http://127.0.0.1:1/v1"


def test_its_events_are_read_and_other_lines_are_skipped() -> None:
    command = {"type": "command_execution", "command": "cat /home/agent/.agents/skills/thing/SKILL.md"}
    lines = [
        "not json",
        json.dumps([1]),
        json.dumps({"type": "item.completed", "item": command}),
        json.dumps({"type": "item.completed", "item": {"type": "agent_message", "text": "done"}}),
        json.dumps({"type": "turn.completed", "usage": {"input_tokens": 9, "output_tokens": 2}}),
    ]
    assert Codex().loads("\n".join(lines).encode()) == ("thing",)


def test_the_listing_is_the_part_about_skills() -> None:
    parts = [{"type": "input_text", "text": text} for text in ("rules", "<skills_instructions>thing: x")]
    assert Codex().listing({"input": [{"role": "developer", "content": parts}]}) == "<skills_instructions>thing: x"
    assert Codex().listing({"input": "text"}) == ""
