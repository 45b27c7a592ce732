"""Sessions of the real Codex, Claude Code and opencode, recorded here and now, are read as they happened.

The model is a script on loopback; the agents are the ones people install. `make agents` fetches them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_socket

from agents.real.recording import Place, Record, Recorded, record_claude_code, record_codex, record_opencode
from agents.real.scripted_model import Script, scripted_model
from upskill.traces.readers import Reading, read_traces
from upskill.traces.trace import Trace

BINARIES = Path(__file__).parents[3] / "build" / "agents" / "node_modules" / ".bin"
PROMPT = "Write hello into hello.txt."
FAILING, PASSING = "cat notes.txt", "echo hello > hello.txt && cat hello.txt"
SCRIPT = Script(
    commands=[("I look for the notes first.", FAILING), ("There are none, so I write the file.", PASSING)],
    end="hello.txt is written.",
)
INJECTED = ("system-reminder", "environment_context", "permissions instructions", "skills_instructions")


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """One agent: how it is run, and what its two recordings are called."""

    record: Record
    session: str
    stream: str
    exit_codes: bool
    """Whether it records them; Claude Code only marks what failed."""


AGENTS = {
    "claude-code": Agent(record=record_claude_code, session="claude-code", stream="claude-stream", exit_codes=False),
    "codex": Agent(record=record_codex, session="codex", stream="codex-exec", exit_codes=True),
    "opencode": Agent(record=record_opencode, session="opencode", stream="opencode-run", exit_codes=True),
}


QUICK = [pytest.param(agent, marks=pytest.mark.full) if agent == "opencode" else agent for agent in AGENTS]
"""opencode takes 20 s for this; sessions that it kept are among the samples that unit tests read."""


@pytest.fixture(scope="module", params=QUICK)
def recorded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Agent, Recorded]]:
    """An agent that has done the work, in a home of its own."""
    pytest_socket.enable_socket()  # the fixture outlives the test whose marker opened loopback
    agent = AGENTS[request.param]
    folder = tmp_path_factory.mktemp(request.param)
    place = Place(home=folder / "home", workspace=folder / "work", stream=folder / "stream.jsonl", binaries=BINARIES)
    place.home.mkdir()
    place.workspace.mkdir()
    with scripted_model(SCRIPT) as model:
        yield agent, agent.record(place, model=model, prompt=PROMPT)


def test_the_session_that_an_agent_keeps_is_read_as_it_happened(recorded: tuple[Agent, Recorded]) -> None:
    agent, files = recorded
    assert (files.workspace / "hello.txt").read_text() == "hello\n"
    reading = read_traces(files.session)
    trace = _read_rightly(reading, agent, recorder=agent.session)
    # opencode puts quotes around a prompt of several words.
    assert [step.text.strip('"') for step in trace.steps if step.source == "person"] == [PROMPT]
    assert trace.folder == str(files.workspace)
    assert reading.notes == ()


def test_the_stream_that_an_agent_prints_is_read_as_it_happened(recorded: tuple[Agent, Recorded]) -> None:
    agent, files = recorded
    reading = read_traces(files.stream)
    trace = _read_rightly(reading, agent, recorder=agent.stream)
    assert [step for step in trace.steps if step.source == "person"] == []
    assert any("does not contain the prompt" in note for note in reading.notes)


def _read_rightly(reading: Reading, agent: Agent, *, recorder: str) -> Trace:
    assert reading.recorder == recorder
    assert reading.bad_lines == 0
    (trace,) = reading.traces
    assert trace.subtraces == ()
    assert trace.dropped_branches == 0
    steps = [step for step in trace.steps if step.source == "agent"]
    assert [step.text for step in steps if step.text] == [*(said for said, _ in SCRIPT.commands), SCRIPT.end]
    calls = [call for step in steps for call in step.calls]
    assert [FAILING in calls[0].arguments, PASSING in calls[1].arguments, len(calls)] == [True, True, 2]
    outputs = [output for step in steps for output in step.observations]
    assert [output.call_id for output in outputs] == [call.id for call in calls]
    assert [output.failed for output in outputs] == [True, False]
    if agent.exit_codes:
        assert [output.exit_code for output in outputs] == [1, 0]
    assert "No such file or directory" in outputs[0].content
    assert "hello" in outputs[1].content
    assert [text for text in INJECTED if text in repr(trace)] == []
    return trace
