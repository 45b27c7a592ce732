"""What `upskill doctor --harness` prints."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from upskill.agents.doctor import AgentDiagnosis, AttemptResult, agent_json, agent_lines, show_agent
from upskill.sandbox import SandboxFacts

FACTS = SandboxFacts(backend="bubblewrap", version="0.8.0", profile="sha256:0", memory_by="cgroup", probes=())
HELD = AttemptResult(name="network", what="reach the network", held=True, saw="nothing got through")
FOUND = AgentDiagnosis(
    harness="codex",
    path="/usr/bin/codex",
    version="0.166.0",
    known=True,
    requests=3,
    listed=True,
    loaded_turn=1,
    wrote_file=True,
    finished=True,
    outside=(),
    home_files=("/home/agent/.codex/a", "/home/agent/.codex/b"),
    attempts=(HELD,),
    seconds=2.5,
)


def test_an_agent_that_did_everything_is_ok() -> None:
    assert FOUND.ok
    lines = agent_lines(FOUND, FACTS)
    assert lines[-1] == "codex 0.166.0: ok"
    assert "version   0.166.0, tested with upskill" in lines
    assert "requests  3 to the model; skill listed, skill loaded after turn 1, file written, finished" in lines
    assert "outside   it tried to reach nothing" in lines
    assert "files     2 outside of the workspace, gone with the sandbox: /home/agent/.codex" in lines


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (replace(FOUND, listed=False), "the skill was not listed"),
        (replace(FOUND, loaded_turn=None), "the skill was not loaded"),
        (replace(FOUND, wrote_file=False), "the command did not write its file in the workspace"),
        (replace(FOUND, finished=False), "the last words of the model did not become the answer"),
        (replace(FOUND, faults=("codex crashed",)), "codex crashed"),
        (
            replace(FOUND, attempts=(replace(HELD, held=False, saw="TCP"),)),
            "an attempt from inside succeeded: reach the network (TCP)",
        ),
    ],
)
def test_whatever_is_missing_is_said_and_is_not_ok(found: AgentDiagnosis, problem: str) -> None:
    assert not found.ok
    lines = agent_lines(found, FACTS)
    assert f"problem: {problem}" in lines
    assert lines[-1] == "codex 0.166.0: not ok"
    agent = agent_json(found, FACTS, kernel="6")["agent"]
    assert isinstance(agent, dict)
    assert (agent["ok"], agent["problems"]) == (False, [problem])


def test_what_was_refused_outside_is_named_and_a_new_version_is_no_problem_by_itself() -> None:
    found = replace(FOUND, outside=("registry.example:443",), known=False, version="9.9.9")
    assert found.ok
    text = "\n".join(agent_lines(found, FACTS))
    assert "it tried to reach registry.example:443; refused" in text
    assert "9.9.9, not tested with upskill" in text


@pytest.mark.parametrize("width", [80, 160])
def test_no_line_of_the_table_is_too_long(width: int) -> None:
    out = io.StringIO()
    show_agent(FOUND, FACTS, console=Console(file=out, width=width))
    assert max(map(len, out.getvalue().splitlines())) <= width
    assert "reach the network" in out.getvalue()
