"""Codex, Claude Code, opencode, Qwen Code and pi as people install them, in the sandbox, with a scripted model.

One evaluation of each agent has one answer without the skill, one with it offered and one with it forced. Everything
below is asked of these answers. `make agents` fetches the programs.
"""

import difflib
import json
import logging
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import pytest
import pytest_socket

import upskill
from agents.real import zebra
from agents.real.router import DONE, Asked, serve
from golden.held import hold, hold_entry
from provider import ReceivedRequest
from upskill.agents import bridge

PROMPT = 'Greet "Ada" \\ in two lines:\n\n- read @names.txt, which has $5 and 007 and -x --help\n- write greeting.txt'
PROMPTS = {"greeting": f"/{PROMPT}"}
"""It begins as a command of an agent does, and has whatever a shell or a parser of options might take for its own."""
ADDED = {
    "codex": [],
    "claude-code": [
        "<system-reminder>",
        "</system-reminder>",
        " - When the user types `/<skill-name>`, invoke it via Skill. Only use skills listed in the user-invocable "
        "skills section — don't guess.",
    ],
    "opencode": [],
    "qwen-code": ["<name>", "</name>", "<description>", "</description>", "<location>", "user", "</location>"],
    "pi": [],
}
"""What an agent says besides the list itself as soon as there is a skill."""
IDS = ("prompt_cache_key",)
"""Codex makes one for every conversation."""
PORT = 18_474
"""Always the same: the server is part of who a model is, and so of the ids of its trials."""
LONG = 1_500
"""Longer texts are an agent's own; they are compared by their digests."""
DAY = re.compile(
    r"\b(?:\d{4}-\d\d-\d\d|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) [A-Z][a-z]{2} \d\d \d{4}"
    r"|[A-Z][a-z]+day, [A-Z][a-z]+ \d+, \d{4})\b"
)
KERNEL = re.compile(r"\bLinux \d[\w.+-]*")
NO_SKILLS = (
    "No skills are currently available. Skills can be added by creating directories with SKILL.md files or by "
    "configuring MCP servers with model-invocable prompts."
)
REMOVED = {
    "codex": [],
    "claude-code": [],
    "opencode": ["No skills are currently available."],
    "qwen-code": [NO_SKILLS],
    "pi": [],
}
LOADS_BY = {"codex": "shell", "pi": "read_file"}
"""The kind of the tool by which an agent without a tool for skills loads one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluated:
    """One evaluation of one agent."""

    agent: str
    trials: dict[str, dict[str, Any]]
    """As they are stored, by arm."""
    firsts: dict[str, ReceivedRequest]
    """The first request of each, as the provider of the model got it."""
    warnings: list[str]


@pytest.fixture(scope="module", params=zebra.PROGRAMS)
def evaluated(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    """An agent that has answered once in every arm, loading the skill where it could."""
    pytest_socket.enable_socket()  # the fixture outlives the test whose marker opened loopback
    folder = tmp_path_factory.mktemp(request.param)
    warned = Warned()
    policy = zebra.policy(PROMPTS, load=1, if_loaded=1, if_not=0, latency=slow_once_loaded)
    with pytest.MonkeyPatch.context() as patch, serve(policy, port=PORT) as router:
        zebra.settle(patch, folder)
        patch.setattr(bridge, "QUIET_SECONDS", 0.1)
        logging.getLogger("upskill").addHandler(warned)
        try:
            upskill.evaluate(
                zebra.make_skill(folder, PROMPTS),
                models="local",
                base_url=router.url,
                harness=request.param,
                agent_bin=zebra.PROGRAMS[request.param],
                runs=1,
                yes=True,
            )
        finally:
            logging.getLogger("upskill").removeHandler(warned)
        requests = list(router.requests)
    (run,) = (folder / "runs").glob("*-zebra-greeting-*")
    trials = [json.loads(line) for line in (run / "trials.jsonl").read_text(encoding="utf-8").splitlines()]
    return Evaluated(
        agent=request.param,
        trials={trial["arm"]: trial for trial in trials},
        firsts=_firsts(requests),
        warnings=warned.said,
    )


def slow_once_loaded(asked: Asked) -> float:
    """So slow that an agent is told to wait, with the skill in the conversation; else as quick as can be."""
    return 0.4 if asked.marked else 0.0


class Warned(logging.Handler):
    """Keeps what is warned of."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())


def _firsts(requests: list[ReceivedRequest]) -> dict[str, ReceivedRequest]:
    found: dict[str, ReceivedRequest] = {}
    for request in requests:
        said = json.dumps(request.body["messages"], ensure_ascii=False)
        if any(message["role"] in ("assistant", "tool") for message in request.body["messages"]):
            continue
        arm = "with_skill" if zebra.MARK in said else "offered" if zebra.DESCRIPTION in said else "baseline"
        assert arm not in found, "one first request for each answer, and no request besides"
        found[arm] = request
    return found


def test_every_arm_runs_to_the_end_and_leaves_its_work_alone(evaluated: Evaluated) -> None:
    """No file but the work, nothing asked outside, the skill seen where it was, and both accounts of it agree."""
    work = {"baseline": "Hello Ada\n", "offered": "Hello Ada\nSTRIPES\n", "with_skill": "Hello Ada\nSTRIPES\n"}
    assert {arm: trial["files"] for arm, trial in evaluated.trials.items()} == {
        arm: {"greeting.txt": text} for arm, text in work.items()
    }
    assert {arm: trial["answer"] for arm, trial in evaluated.trials.items()} == dict.fromkeys(work, DONE)
    assert {arm: (trial["turns"], trial["tool_calls"]) for arm, trial in evaluated.trials.items()} == {
        "baseline": (2, 1),
        "offered": (3, 2),
        "with_skill": (2, 1),
    }
    assert {arm: _use(trial) for arm, trial in evaluated.trials.items()} == {
        "baseline": None,
        "offered": (True, True, 1, []),
        "with_skill": (True, True, 0, []),
    }
    assert [trial["outside"] for trial in evaluated.trials.values() if trial.get("outside")] == []
    assert evaluated.warnings == []


def _use(trial: dict[str, Any]) -> tuple[bool, bool, int, list[str]] | None:
    use = trial.get("skill_use")
    return use and (use["listed"], use["loaded"], use["turn"], use["others"])


def test_what_was_done_is_recorded_under_kinds_that_all_agents_share(evaluated: Evaluated) -> None:
    load = LOADS_BY.get(evaluated.agent, "skill")
    done = {
        arm: [
            (call.get("kind"), call["turn"], call["failed"], call["subagent"]) for call in trial["trajectory"]["calls"]
        ]
        for arm, trial in evaluated.trials.items()
    }
    assert done == {
        "baseline": [("shell", 1, False, False)],
        "offered": [(load, 1, False, False), ("shell", 2, False, False)],
        "with_skill": [("shell", 1, False, False)],
    }


def test_the_first_requests_differ_in_the_listing_alone(evaluated: Evaluated) -> None:
    bodies = {arm: request.body for arm, request in evaluated.firsts.items()}
    assert bodies.keys() == {"baseline", "offered", "with_skill"}
    for name in {name for body in bodies.values() for name in body} - {"messages", *IDS}:
        assert bodies["baseline"].get(name) == bodies["offered"].get(name) == bodies["with_skill"].get(name), name
    added, removed = _difference(bodies["baseline"], bodies["offered"])
    listed = [line for line in added if line not in ADDED[evaluated.agent]]
    assert removed == REMOVED[evaluated.agent]
    assert zebra.DESCRIPTION in "\n".join(listed)
    assert [line for line in listed if not _is_of_the_listing(line)] == []
    assert sorted(line for line in added if line in ADDED[evaluated.agent]) == sorted(ADDED[evaluated.agent])


def test_a_forced_skill_changes_what_the_person_said_and_nothing_else(evaluated: Evaluated) -> None:
    offered, forced = (evaluated.firsts[arm].body["messages"] for arm in ("offered", "with_skill"))
    spoken = {"offered": _of_the_user(offered), "with_skill": _of_the_user(forced)}
    assert PROMPT in spoken["offered"]
    assert PROMPT in spoken["with_skill"]
    assert zebra.MARK in spoken["with_skill"]
    assert [each for each in offered if each["role"] != "user"] == [each for each in forced if each["role"] != "user"]


def test_the_first_requests_and_the_ids_of_trials_are_those_they_were(evaluated: Evaluated) -> None:
    """Recorded with the versions of the agents that `make agents` fetches."""
    bodies = {arm: request.body for arm, request in sorted(evaluated.firsts.items())}
    firsts = {arm: _shortened(body["messages"]) for arm, body in bodies.items()}
    # The test above holds that all arms have the same of it.
    besides = {**bodies["baseline"], "messages": "…"}
    besides["tools"] = {tool["function"]["name"]: _digest(json.dumps(tool)) for tool in besides["tools"]}
    hold(f"requests/{evaluated.agent}", {"besides": _shortened(besides), **firsts}, in_order=True)
    ids = {arm: trial["id"] for arm, trial in sorted(evaluated.trials.items())}
    hold_entry("values/trial-ids", evaluated.agent, ids)


def _shortened(value: Any) -> Any:
    """The value without the day, the kernel and the ids that an agent draws, and with digests of its long texts."""
    if isinstance(value, dict):
        return {key: "…" if key in IDS else _shortened(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [_shortened(entry) for entry in value]
    if not isinstance(value, str):
        return value
    text = KERNEL.sub("Linux", DAY.sub("DAY", value))
    return text if len(text) < LONG else _digest(text)


def _digest(text: str) -> str:
    return f"{len(text)} characters, {sha256(text.encode()).hexdigest()}"


def _difference(one: dict[str, Any], other: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The lines that only the other has, and those that only the one has; without blank ones."""
    compared = [line for line in difflib.ndiff(_lines(one["messages"]), _lines(other["messages"])) if line[2:].strip()]
    return [line[2:] for line in compared if line[0] == "+"], [line[2:] for line in compared if line[0] == "-"]


def _lines(messages: list[dict[str, Any]]) -> list[str]:
    return [line for message in messages for part in _parts(message) for line in part.splitlines()]


def _parts(message: dict[str, Any]) -> list[str]:
    content = message.get("content") or ""
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def _of_the_user(messages: list[dict[str, Any]]) -> str:
    return "\n".join(part for message in messages if message["role"] == "user" for part in _parts(message))


def _is_of_the_listing(line: str) -> bool:
    """Whether a line names the skill or is of the words around a list of skills."""
    return zebra.NAME in line or zebra.DESCRIPTION in line or "skill" in line.lower()
