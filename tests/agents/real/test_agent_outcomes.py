"""How trials with coding agents end: what measured nothing is errored, what the model did is scored; nobody is left."""

import json
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from on_engine import CommandResult, Make, Run, run, run_at, skill  # noqa: F401 - fixtures
from provider import Behaviour, Provider, ReceivedRequest
from tool_students import tool_call
from upskill.core.nouns import Errored, Scored, Trial
from upskill.core.settings import resolve_settings
from upskill.core.trials import schedule
from upskill.errors import UsageError, WindowExceeded
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.past_runs import trials_of
from upskill.evaluation.prepare import prepare
from upskill.evaluation.resume import TypedAgain, resume
from upskill.sandbox.profile import find_interpreter

CODEX = Path(__file__).parents[3] / "build" / "agents" / "node_modules" / ".bin" / "codex"

FAKE = """\
#!/bin/sh
[ "$1" = --version ] && { echo codex-cli 0.166.0; exit 0; }
exec PYTHON -c '
import json, os, signal, sys, time, urllib.request

prompt = sys.argv[-1]
listing = "<skills_instructions> thing: Does a thing. </skills_instructions>"
calls = {"type": "function", "name": "exec_command", "parameters": {"type": "object", "properties": {}}}

def ask(listing=listing):
    said = [("developer", listing), ("user", prompt)]
    items = [{"role": role, "content": [{"type": "input_text", "text": text}]} for role, text in said]
    body = json.dumps({"model": "inspect", "input": items, "tools": [dict(calls, description="x", strict=False)]})
    request = urllib.request.Request("http://127.0.0.1:8799/v1/responses", body.encode())
    answer = json.load(urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request))
    print(json.dumps({"type": "item.completed", "item": answer["output"][-1]}), flush=True)

word = prompt.split()[0]
if word == "crash":
    sys.exit("something broke inside")
if word == "killed":
    ask()
    os.kill(os.getpid(), signal.SIGKILL)
if word == "hang":
    time.sleep(600)
if word in ("linger", "sleep"):
    ask()
    time.sleep(600)
if word == "unlisted":
    ask(listing="no skills")
if word == "early":
    ask()
if word == "right":
    ask()
    open("left.txt", "w").write("mine")
' "$@"
"""


def fake_agent(folder: Path) -> Path:
    """A program that passes for Codex, and does what the first word of its prompt says."""
    agent = folder / "agent"
    agent.write_text(FAKE.replace("PYTHON", find_interpreter().program))
    agent.chmod(0o755)
    return agent


def ended(ran: CommandResult, words: Sequence[str]) -> dict[str, str]:
    """How each trial ended, by the first word of its case."""
    return {words[int(trial.case_id.removeprefix("c"))]: _outcome(trial) for trial in ran.trials}


def by_word(ran: CommandResult, words: Sequence[str]) -> dict[str, Trial]:
    return {words[int(trial.case_id.removeprefix("c"))]: trial for trial in ran.trials}


def _outcome(trial: Trial) -> str:
    match trial.outcome:
        case Errored(fault=fault):
            return f"errored: {fault}"
        case Scored(end=end):
            return f"scored: {end}"


def nobody_left(mark: str) -> bool:
    """Whether no process has this mark in its command line, after those that were killed have been reaped."""
    for _ in range(50):
        lines = [_command_line(process) for process in Path("/proc").glob("[0-9]*")]
        if not any(mark.encode() in line for line in lines):
            return True
        time.sleep(0.1)
    return False


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def cases(words: Sequence[str], mark: str) -> list[tuple[str, object]]:
    return [(f"{word} {mark}: write a greeting.", {"contains": "done"}) for word in words]


def word_of(asked: ReceivedRequest, words: Sequence[str]) -> str:
    """Which case a request is about."""
    text = str(asked.body["messages"])
    return next(word for word in words if f"{word} mark" in text)


@pytest.fixture(autouse=True)
def one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """What errored is not run again: here that shows nothing, and takes three times as long."""
    monkeypatch.setattr(schedule, "MOST_TRIES", 1)


def test_an_agent_that_crashes_is_killed_or_hides_the_skill_has_measured_nothing(
    skill: Make,  # noqa: F811
    run_at: Callable[..., tuple[CommandResult, Provider]],  # noqa: F811
    tmp_path: Path,
) -> None:
    words = ("crash", "killed", "unlisted", "early", "silent", "right")
    mark = f"mark{uuid.uuid4().hex}"

    def behave(asked: ReceivedRequest) -> Behaviour:
        return (
            tool_call(asked, "exec_command", cmd="true") if word_of(asked, words) == "early" else Behaviour(text="done")
        )

    ran, _ = run_at(
        skill(cases(words, mark), body="This body is only for the agents that look for a line of it.\n"),
        behave,
        harness="codex",
        agent_bin=fake_agent(tmp_path),
        baseline=False,
    )
    assert ended(ran, words) == {**dict.fromkeys(words, "errored: agent"), "right": "scored: answered"}
    said = {word: trial.outcome.message for word, trial in by_word(ran, words).items() if word != "right"}  # type: ignore[union-attr]
    assert "exit code 1: something broke inside" in said["crash"]
    assert "exit code 137" in said["killed"]
    assert "did not list the skill thing" in said["unlisted"]
    assert "tool call of its model had no result" in said["early"]
    assert "without asking its model" in said["silent"]
    right = by_word(ran, words)["right"]
    assert (right.answer, dict(right.files), right.turns, right.tool_calls) == ("done", {"left.txt": b"mine"}, 1, 0)
    assert nobody_left(mark)


def test_an_agent_that_hangs_has_measured_nothing_and_a_model_whose_command_does_has_failed(
    skill: Make,  # noqa: F811
    run_at: Callable[..., tuple[CommandResult, Provider]],  # noqa: F811
    tmp_path: Path,
) -> None:
    words = ("hang", "linger", "sleep")
    mark = f"mark{uuid.uuid4().hex}"

    def behave(asked: ReceivedRequest) -> Behaviour:
        command = tool_call(asked, "exec_command", cmd="sleep 100")
        return command if word_of(asked, words) == "sleep" else Behaviour(text="done")

    ran, _ = run_at(
        skill(cases(words, mark)),
        behave,
        harness="codex",
        agent_bin=fake_agent(tmp_path),
        baseline=False,
        max_trial_minutes=0.1,
    )
    assert ended(ran, words) == {"hang": "errored: agent", "linger": "errored: agent", "sleep": "scored: time limit"}
    trials = by_word(ran, words)
    assert "did not ask its model anything within" in str(trials["hang"].outcome)
    assert "did not exit within" in str(trials["linger"].outcome)
    assert nobody_left(mark)


def test_what_the_provider_did_is_errored_and_what_the_model_did_is_scored(
    skill: Make,  # noqa: F811
    run_at: Callable[..., tuple[CommandResult, Provider]],  # noqa: F811
) -> None:
    words = ("busy", "down", "half", "late", "tokens", "turns", "hog", "cut", "filtered", "right")
    mark = f"mark{uuid.uuid4().hex}"

    def behave(asked: ReceivedRequest) -> Behaviour:
        hog = "import time\na = []\nwhile True: a.append(b'x' * (1 << 25)); time.sleep(0.02)"
        work = {
            "hog": f'python3 -c "{hog}"',
            "tokens": "true",
            "turns": "true",
            "right": "echo hello > hello.txt",
        }
        word = word_of(asked, words)
        first = not any(message["role"] == "tool" for message in asked.body["messages"])
        match word:
            case "busy":
                return Behaviour(status=429)
            case "down":
                return Behaviour(status=500)
            case "half":
                return Behaviour(fault="cut")
            case "late":
                return Behaviour(fault="stall")
            case "cut":
                return Behaviour(text="done, but", finish_reason="length")
            case "filtered":
                return Behaviour(text="done, but", finish_reason="content_filter")
            case "right" if not first:
                return Behaviour(text="done")
        called = tool_call(asked, "exec_command", cmd=work[word])
        usage = {"prompt_tokens": 10**7, "completion_tokens": 1, "total_tokens": 10**7 + 1}
        return Behaviour(body={**called.body, "usage": usage}) if word == "tokens" else called

    ran, provider = run_at(
        skill(cases(words, mark)),
        behave,
        harness="codex",
        agent_bin=CODEX,
        baseline=False,
        max_turns=3,
        max_retries=0,
        attempt_timeout_seconds=3,
    )
    assert ended(ran, words) == {
        "busy": "errored: rate limit",
        "down": "errored: provider",
        "half": "errored: transport",
        "late": "errored: timeout",
        "tokens": "scored: token limit",
        "turns": "scored: turn limit",
        "hog": "scored: memory limit",
        "cut": "scored: cut",
        "filtered": "scored: filtered",
        "right": "scored: answered",
    }
    trials = by_word(ran, words)
    assert trials["turns"].turns == 3
    assert trials["tokens"].turns == 1
    right = trials["right"]
    assert dict(right.files) == {"hello.txt": b"hello\n"}
    assert (right.turns, right.tool_calls, right.calls) == (2, 1, 2)
    assert right.skill_use is not None
    assert right.skill_use.listed
    # The agent does not ask again what was answered with an error: retries belong to the metered client.
    asked = [word_of(one, words) for one in provider.requests]
    assert all(asked.count(word) == 1 for word in ("busy", "down", "half", "late"))
    assert nobody_left(mark)


def test_a_cap_of_the_run_ends_a_trial_unmeasured_and_the_run_is_resumed_with_the_agent_that_is_typed(
    skill: Make,  # noqa: F811
    run: Run,  # noqa: F811
    tmp_path: Path,
) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        first = not any(message["role"] == "tool" for message in asked.body["messages"])
        return tool_call(asked, "exec_command", cmd="true") if first else Behaviour(text="done")

    with Provider(behave) as provider:
        ran = run(
            skill(cases(["capped"], "mark")),
            ["any"],
            base_url=provider.url,
            harness="codex",
            agent_bin=CODEX,
            baseline=False,
            max_calls=2,  # one is the call for which the model is asked first
        )
        assert ended(ran, ["capped"]) == {"capped": "errored: budget"}
        assert len(provider.requests) == 1
        flags = {"base_url": provider.url, "max_calls": 10}
        today = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path)
        today = replace(today, origins={**today.origins, "max_calls": "--max-calls"})
        record = json.loads((ran.run / "run.json").read_text())
        (ran.run / "run.json").write_text(json.dumps({**record, "seal": None}))
        with pytest.raises(UsageError) as caught:
            resume(ran.run, typed=TypedAgain(settings=today))
        assert any("UPSKILL_AGENT_BIN" in problem for problem in caught.value.problems)
        assert str(CODEX) not in str(caught.value.hint)
        (ran.run / "run.json").write_text(json.dumps(record))
        resume(ran.run, typed=TypedAgain(settings=today))
    assert [_outcome(trial) for trial in trials_of(ran.run)][-1] == "scored: answered"


def test_an_answer_that_is_not_whole_is_scored_although_the_agent_takes_it_for_an_error(
    skill: Make,  # noqa: F811
    run_at: Callable[..., tuple[CommandResult, Provider]],  # noqa: F811
) -> None:
    """Claude Code exits with 1 then. Longer answers may come with the skill: lost, they would be lost on one side."""
    words = ("cut", "filtered", "over")
    too_long = {"message": "This model's maximum context length is 8192 tokens.", "code": "context_length_exceeded"}
    does = {
        "cut": Behaviour(text="done, but", finish_reason="length"),
        "filtered": Behaviour(text="done, but", finish_reason="content_filter"),
        "over": Behaviour(status=400, error=too_long),
    }
    ran, _ = run_at(
        skill(cases(words, "mark")),
        lambda asked: does[word_of(asked, words)],
        harness="claude-code",
        agent_bin=CODEX.parent / "claude",
        baseline=False,
        max_retries=0,
    )
    assert ended(ran, words) == {"cut": "scored: cut", "filtered": "scored: filtered", "over": "scored: overflow"}


def test_a_model_whose_window_does_not_hold_what_the_agent_says_itself_is_not_asked(
    skill: Make,  # noqa: F811
    tmp_path: Path,
) -> None:
    with Provider(lambda _: Behaviour(text="done"), window=4_000) as provider:
        flags = {"models": ("any",), "base_url": provider.url, "harness": "codex"}
        settings = resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path)
        order = EvaluationOrder(skill=skill(cases(("right",), "mark")), agent_bin=CODEX)
        with pytest.raises(WindowExceeded, match="the harness codex does not fit"):
            prepare(order, settings.values)
        assert provider.requests == []
