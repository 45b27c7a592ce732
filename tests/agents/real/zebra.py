"""A skill about greetings, its cases, and the scripted model that works on them, for tests with real agents."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import upskill
from agents.real.router import Answer, Policy
from provider import Behave, Provider

NAME = "zebra-greeting"
DESCRIPTION = "How greetings are written in the zebra project. Use it when a greeting file is asked for."
MARK = "Every greeting of the zebra project ends with the word STRIPES, in capital letters."
BUILD = Path(__file__).parents[3] / "build"
BINARIES = BUILD / "agents" / "node_modules" / ".bin"
PROGRAMS = {
    "codex": BINARIES / "codex",
    "claude-code": BINARIES / "claude",
    "opencode": BINARIES / "opencode",
    "qwen-code": BINARIES / "qwen",
    "pi": BUILD / "pi" / "node_modules" / ".bin" / "pi",
}
"""By harness; that of pi is a plug-in of its own (`plugins/upskill-pi`)."""
AGENTS = [pytest.param(agent, marks=pytest.mark.full) if agent == "pi" else agent for agent in PROGRAMS]
"""Where the same code is tested for all agents, that of a plug-in is tried by `make full`."""


def make_skill(folder: Path, prompts: Mapping[str, str]) -> Path:
    """The skill with one case for each prompt, by id."""
    skill = folder / NAME
    skill.mkdir()
    text = f"---\nname: {NAME}\ndescription: {DESCRIPTION}\n---\n# Zebra greeting\n\n{MARK}\n"
    (skill / "SKILL.md").write_text(text, encoding="utf-8")
    cases = [
        {
            "id": id_,
            "input": prompt,
            "expected": {"file": {"path": "greeting.txt", "contains": "STRIPES"}},
            "files": {"names.txt": "Ada\n"},
        }
        for id_, prompt in prompts.items()
    ]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    return skill


def run_once(agent: str, case: Mapping[str, Any], behave: Behave, folder: Path) -> Path:
    """The run in which an agent, with the skill offered, works once on one case, with a model that behaves so."""
    skill = make_skill(folder, {})
    (skill / "skill_meta.json").write_text(json.dumps({"cases": [case]}), encoding="utf-8")
    with Provider(behave) as provider:
        upskill.evaluate(
            skill,
            models="local",
            base_url=provider.url,
            harness=agent,
            agent_bin=PROGRAMS[agent],
            runs=1,
            no_baseline=True,
            yes=True,
        )
    (made,) = (folder / "runs").glob(f"*-{NAME}-*")
    return made


def right(_: str) -> Answer:
    """What passes."""
    return Answer("I write it.", "printf 'Hello Ada\\nSTRIPES\\n' > greeting.txt")


def wrong(_: str) -> Answer:
    """What fails."""
    return Answer("I write it.", "printf 'Hello Ada\\n' > greeting.txt")


def policy(prompts: Mapping[str, str], **changes: Any) -> Policy:
    """A scripted model that knows these prompts."""
    known = {"skill": NAME, "mark": MARK, "right": right, "wrong": wrong, "prompts": tuple(prompts.values())}
    return Policy(**{**known, **changes})


def settle(patch: pytest.MonkeyPatch, folder: Path) -> None:
    """Work in this folder, with a home for what is kept between runs, with ripgrep, which opencode needs, and with the
    Node that Qwen Code and pi need."""
    patch.chdir(folder)
    patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    patch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    (node,) = BINARIES.parent.glob("node-linux-*/bin")
    (ripgrep,) = (BINARIES.parent / "@openai").glob("*/vendor/*/codex-path")
    patch.setenv("PATH", os.pathsep.join([str(node), os.environ["PATH"], str(ripgrep)]))
