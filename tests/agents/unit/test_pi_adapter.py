"""The plug-in for pi, a package of a stranger: what it may import, how pi is started, what it lists and reports."""

import ast
import json
from pathlib import Path
from typing import Any

import pytest

from strangers import install
from upskill.agents.adapter import AgentAdapter, AgentProgram, Launch
from upskill.agents.harness import find_agent
from upskill.core.nouns import harness_info
from upskill.core.trials.harness import load_harness
from upskill.errors import UsageError
from upskill_pi import harness as pi
from upskill_pi.harness import MODULES, PACKAGE, PROMPT, Pi

STABLE = {"upskill.plugin", "upskill.agents.adapter", "upskill.errors"}
PROGRAM = AgentProgram(path=Path("/usr/bin/pi"), version="1.0", mounts=(), command="/opt/node/node")
PROMPTS = ["-x", "--help me", "/compact", "$zebra go", "@notes.txt", "two\n\nlines", 'a "quoted" 007', ""]
BRINGS_PI = "from upskill_pi.plugin import PLUGIN\n"


def launch(prompt: str = "Greet.", *, forced: str | None = None) -> Launch:
    return Launch(base_url="http://127.0.0.1:8799", prompt=prompt, forced=forced)


def _lines(*events: dict[str, Any]) -> bytes:
    return "".join(f"{json.dumps(event)}\n" for event in events).encode()


def test_the_package_imports_the_stable_modules_alone_and_is_short() -> None:
    texts = [path.read_text(encoding="utf-8") for path in Path(pi.__file__).parent.glob("*.py")]
    nodes = [node for text in texts for node in ast.walk(ast.parse(text))]
    modules = {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
    modules |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    assert {name for name in modules if name.partition(".")[0] == "upskill"} == STABLE
    assert sum(len(text.splitlines()) for text in texts) <= 250


def test_it_is_a_harness_like_ours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, module="pi_for_tests", text=BRINGS_PI)
    assert load_harness("pi").version == "pi/1"
    assert harness_info("pi").arms == harness_info("codex").arms


@pytest.mark.parametrize("prompt", PROMPTS)
def test_it_reads_the_prompt_and_no_word_of_it_is_an_option_or_a_file(prompt: str) -> None:
    assert Pi().files(launch(prompt))[PROMPT].decode() == prompt
    assert Pi().files(launch(prompt, forced="zebra"))[PROMPT].decode() == f"/skill:zebra {prompt}"
    assert Pi().argv(PROGRAM, launch(prompt)) == Pi().argv(PROGRAM, launch("another", forced="zebra"))


def test_a_prompt_that_is_written_as_its_command_is_a_text_behind_a_space() -> None:
    asked = launch("/skill:zebra now")
    assert Pi().files(asked)[PROMPT] == b""
    assert Pi().argv(PROGRAM, asked) == [*Pi().argv(PROGRAM, launch()), " /skill:zebra now"]


def test_the_listing_is_in_the_system_message() -> None:
    listed = "<available_skills>\n  <skill>\n    <name>zebra</name>\n    A zebra's\n  </skill>\n</available_skills>"
    messages = [
        {"role": "system", "content": f"You are.\n{listed}\n".replace("'", "&apos;")},
        {"role": "user", "content": f"{listed} Greet."},
    ]
    assert Pi().listing({"tools": [{}], "messages": messages}) == listed
    assert Pi().listing({"messages": messages}) == ""


def test_a_load_is_a_call_with_the_path_of_a_skill_that_went_well() -> None:
    def call(id_: str, path: str, *, failed: bool) -> tuple[dict[str, Any], dict[str, Any]]:
        begin = {"type": "tool_execution_start", "toolCallId": id_, "toolName": "read", "args": {"path": path}}
        return begin, {"type": "tool_execution_end", "toolCallId": id_, "toolName": "read", "isError": failed}

    went_well = call("a", f"{Pi.skills_folder}/zebra/SKILL.md", failed=False)
    failed = call("b", f"{Pi.skills_folder}/gnu/SKILL.md", failed=True)
    assert Pi().loads(_lines({"type": "session"}, *went_well, *failed)) == ("zebra",)


@pytest.mark.parametrize("line", [b"\xff\xfe", b"[1]", b"{", b"[" * 100_000, b'{"type": "tool_execution_start"}'])
def test_what_it_prints_is_read_without_trust(line: bytes) -> None:
    agent: AgentAdapter = Pi()
    assert agent.loads(line + b'\n{"type": "tool_execution_end", "toolCallId": []}') == ()


def _installed(folder: Path, *, with_packages: bool) -> Path:
    package = folder / "node_modules" / PACKAGE
    (package / "dist").mkdir(parents=True)
    (package / "package.json").write_text('{"version": "0.73.1"}')
    (package / "dist" / "cli.js").write_text("")
    if with_packages:
        (package.parent / "pi-ai").mkdir()
    return package / "dist" / "cli.js"


def test_a_missing_or_broken_pi_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch, module="pi_for_tests", text=BRINGS_PI)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"^the harness pi needs the program `pi`, which is not installed$") as caught:
        find_agent(Pi())
    assert f"npm install -g {PACKAGE}@0.73.1" in str(caught.value.hint)
    other = tmp_path / "pi"
    other.write_text("#!/bin/sh\n")
    with pytest.raises(UsageError, match=r"there is no package of pi behind it$"):
        find_agent(Pi(), named=other)
    with pytest.raises(UsageError, match=r"the packages that pi needs are not there$"):
        find_agent(Pi(), named=_installed(tmp_path / "broken", with_packages=False))
    with pytest.raises(UsageError, match=r"^pi needs Node 20 or newer on the search path$"):
        find_agent(Pi(), named=_installed(tmp_path / "whole", with_packages=True))


def test_it_lies_at_one_place_inside_however_it_was_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    node = tmp_path / "bin" / "node"
    monkeypatch.setattr(pi, "node_on_path", lambda name, oldest: node)
    beside = _installed(tmp_path / "project", with_packages=True)
    files, interpreter = Pi().program(beside).mounts
    assert (files.source, files.target, interpreter.source) == (beside.parents[3], MODULES, node)
    alone = _installed(tmp_path / "global", with_packages=False)
    (alone.parents[1] / "node_modules").mkdir()
    files, _ = Pi().program(alone).mounts
    assert (files.source, files.target) == (alone.parents[1], f"{MODULES}/{PACKAGE}")
