"""What is particular to Claude Code, opencode and Qwen Code: how they are started, what they list, what they report."""

import json
from pathlib import Path
from typing import Any

import pytest

from upskill.agents.claude_code import ClaudeCode
from upskill.agents.codex import Codex
from upskill.agents.harness import AgentAdapter, Launch
from upskill.agents.opencode import CONFIG, PROMPT, OpenCode
from upskill.agents.qwen_code import PROMPT as SAID
from upskill.agents.qwen_code import SETTINGS, QwenCode
from upskill.core.trials.trial_run import AgentProgram

PROGRAM = AgentProgram(path=Path("/usr/bin/agent"), version="1.0", mounts=(), command="/opt/agent")
PROMPTS = ["-x", "--help me", "/compact", "$zebra go", "@notes.txt", "two\n\nlines", 'a "quoted" 007', ""]


def launch(prompt: str = "Greet.", *, forced: str | None = None, bundled: bool = False) -> Launch:
    return Launch(base_url="http://127.0.0.1:8799", prompt=prompt, forced=forced, bundled=bundled)


@pytest.mark.parametrize("prompt", PROMPTS)
def test_claude_code_takes_any_prompt_for_a_prompt(prompt: str) -> None:
    *options, said = ClaudeCode().argv(PROGRAM, launch(prompt))
    assert options[-1] == "--"
    assert said.removeprefix(" ") == prompt
    assert not said.startswith("/")


def test_claude_code_is_made_to_load_a_skill_by_its_command() -> None:
    assert ClaudeCode().argv(PROGRAM, launch("/compact\nnow", forced="zebra"))[-1] == "/zebra /compact\nnow"


@pytest.mark.parametrize("prompt", PROMPTS)
def test_qwen_code_reads_the_prompt_and_no_word_of_it_is_an_option_or_a_command(prompt: str) -> None:
    agent = QwenCode()
    said = agent.files(launch(prompt))[SAID].decode()
    assert said.removeprefix(" ") == prompt
    assert not said.startswith("/")
    assert agent.files(launch(prompt, forced="zebra"))[SAID].decode() == f"/zebra {prompt}"
    assert agent.argv(PROGRAM, launch(prompt)) == agent.argv(PROGRAM, launch("another", forced="zebra"))


@pytest.mark.parametrize("prompt", PROMPTS)
def test_opencode_reads_the_prompt_as_it_is_and_no_word_of_it_is_an_option(prompt: str) -> None:
    agent = OpenCode()
    assert agent.files(launch(prompt))[PROMPT] == prompt.encode()
    assert agent.argv(PROGRAM, launch(prompt)) == agent.argv(PROGRAM, launch("another"))
    assert agent.argv(PROGRAM, launch(prompt, forced="zebra"))[-2:] == ["--command", "zebra"]


@pytest.mark.parametrize("agent", [ClaudeCode(), OpenCode()], ids=lambda agent: agent.name)
def test_nothing_but_the_start_differs_where_a_skill_is_forced(agent: AgentAdapter) -> None:
    assert agent.files(launch()) == agent.files(launch(forced="zebra"))
    assert agent.environment(launch()) == agent.environment(launch(forced="zebra"))


def test_bundled_skills_are_off_unless_asked_for() -> None:
    switch = "CLAUDE_CODE_DISABLE_BUNDLED_SKILLS"
    assert switch in ClaudeCode().environment(launch())
    assert switch not in ClaudeCode().environment(launch(bundled=True))

    def denied(asked: Launch) -> dict[str, str]:
        settings = json.loads(OpenCode().files(asked)[f"{CONFIG}/opencode/opencode.json"])
        skills: dict[str, str] = settings["permission"]["skill"]
        return skills

    assert denied(launch()) == {"*": "allow", "customize-opencode": "deny"}
    assert denied(launch(bundled=True)) == {"*": "allow"}

    def disabled(asked: Launch) -> list[str]:
        names: list[str] = json.loads(QwenCode().files(asked)[SETTINGS])["skills"]["disabled"]
        return names

    assert "review" in disabled(launch())
    assert disabled(launch(bundled=True)) == []


def test_the_listing_of_claude_code_is_in_a_reminder_or_in_a_system_message() -> None:
    listed = "The following skills are available for use with the Skill tool:\n\n- zebra: Stripes.\n"
    reminder = f"<system-reminder>\n{listed}</system-reminder>\n"
    parts = [{"type": "text", "text": reminder}, {"type": "text", "text": "Greet."}]
    in_reminder = {"tools": [{}], "messages": [{"role": "user", "content": parts}]}
    in_system = {"tools": [{}], "messages": [{"role": "system", "content": f"Agents.\n\n{listed}"}]}
    assert ClaudeCode().listing(in_reminder) == listed
    assert ClaudeCode().listing(in_system) == listed
    assert ClaudeCode().listing({**in_reminder, "tools": []}) == ""
    assert ClaudeCode().listing({"tools": [{}], "messages": "none"}) == ""


def test_the_listing_of_opencode_is_in_the_system_message() -> None:
    listed = "<available_skills>\n  <skill>\n    <name>zebra</name>\n  </skill>\n</available_skills>"
    messages = [{"role": "system", "content": f"You are.\n{listed}\n"}, {"role": "user", "content": f"{listed} Greet."}]
    assert OpenCode().listing({"tools": [{}], "messages": messages}) == listed
    assert OpenCode().listing({"messages": messages}) == ""


def test_the_listing_of_qwen_code_is_in_a_reminder() -> None:
    listed = "<available_skills>\n<skill>\n<name>\nzebra\n</name>\nA zebra's stripes\n</skill>\n</available_skills>"
    reminder = f"<system-reminder>\nThe following skills are available.\n\n{listed}\n</system-reminder>".replace(
        "'", "&apos;"
    )
    parts = [{"type": "text", "text": reminder}, {"type": "text", "text": "Greet."}]
    request = {"tools": [{}], "messages": [{"role": "user", "content": parts}]}
    assert QwenCode().listing(request) == listed
    assert QwenCode().listing({**request, "tools": []}) == ""


@pytest.mark.parametrize(("agent", "tool"), [(ClaudeCode(), "Skill"), (QwenCode(), "skill")])
def test_what_an_agent_reports(agent: AgentAdapter, tool: str) -> None:
    use = {"type": "tool_use", "name": tool, "input": {"skill": "zebra"}}
    loaded = agent.loads(
        _lines(
            {"type": "system", "subtype": "init", "skills": ["zebra"]},
            {"type": "assistant", "message": {"content": [{"type": "text", "text": "I load it."}, use]}},
            {"type": "assistant", "message": {"content": "odd"}},
            {"type": "result", "result": "Done."},
        )
    )
    assert loaded == ("zebra",)


def test_what_opencode_reports() -> None:
    state = {"status": "completed", "input": {"name": "zebra"}}
    step = {"type": "step_finish", "part": {"tokens": {"input": 10}}}
    loaded = OpenCode().loads(
        _lines(
            {"type": "text", "part": {"text": "I load it."}},
            {"type": "tool_use", "part": {"tool": "skill", "state": state}},
            step,
            {"type": "text", "part": {"text": "Done."}},
            step,
        )
    )
    assert loaded == ("zebra",)


@pytest.mark.parametrize("agent", [ClaudeCode(), OpenCode(), Codex(), QwenCode()], ids=lambda agent: agent.name)
def test_what_an_agent_prints_is_read_without_trust(agent: AgentAdapter) -> None:
    odd = [b"\xff\xfe", b"[1]", b"{", b"null", b'{"type": "result"}', b'{"type": "step_finish", "part": []}']
    odd += [
        b"[" * 100_000,
        b'{"type": "turn.completed", "usage": {"input_tokens": "9"}}',
        b'{"type": "item.completed"}',
    ]
    odd.append(b'{"type": "assistant", "message": {"content": [1, {"input": 2}]}}')
    assert agent.loads(b"\n".join(odd)) == ()


def _lines(*events: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()
