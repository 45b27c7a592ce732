"""The first request of each harness in each arm, as a provider on loopback receives it, and the ids of the trials.

Those of coding agents are compared by tests/agents/real/test_agents_end_to_end.py, which has them running anyway.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from golden.held import hold, hold_entry
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

PORT = 18_473
"""Always the same: the server is part of who a model is, and so of the ids of its trials."""
MARK, OLD_MARK = "The port is 7413, the log is tarn.log.", "The port is 80."
SECOND, CORRUPTED = "The limit is 30.", "The port is 30, the log is tarn.log."
"""A second number, so that both can be exchanged."""
PASSAGE = "tarnctl listens on port 7413."
DESCRIPTION = "Knows the ports of tarnctl. Use when a port is asked for."
OLD_DESCRIPTION = "Knows ports."
HEADERS = ("accept", "authorization", "content-type")
"""Others name versions of the library that sends requests, or are drawn anew for each."""
CASES: list[dict[str, Any]] = [
    {
        "id": "port",
        "input": "Which port does tarnctl listen on? Read notes.txt.",
        "expected": {"contains": "7413"},
        "reference": "It listens on 7413.",
        "passage": PASSAGE,
        "files": {"notes.txt": "Nothing about ports.\n"},
    },
    {"id": "plain", "input": "Which file is the log?", "expected": {"contains": "tarn.log"}, "reference": "tarn.log"},
]
COMMANDS = {
    "chat": "--harness chat",
    "chat-previous": "--harness chat --compare previous:older/port",
    "chat-settings": "--harness chat --no-baseline",
    "chat-controls": "--harness chat --controls",
    "agent": "--harness agent",
    "agent-previous": "--harness agent --compare previous:older/port",
    "agent-among": "--harness agent --among beside",
}

VARIABLES = {
    "chat": {"UPSKILL_CEILING": "true"},
    "chat-settings": {"UPSKILL_TEMPERATURE": "0.5", "UPSKILL_MAX_OUTPUT_TOKENS": "77"},
    "agent": {"UPSKILL_CEILING": "true"},
}


@pytest.fixture
def skills(here: Path) -> None:
    """A skill with cases, an older version of it and another skill."""
    skill = here / "skills" / "port"
    for folder, name, description, body in (
        (skill, "port", DESCRIPTION, MARK),
        (here / "older" / "port", "port", OLD_DESCRIPTION, OLD_MARK),
        (here / "beside" / "tides", "tides", "Knows the tides. Use when a tide is asked for.", "High at noon."),
    ):
        folder.mkdir(parents=True)
        text = f"---\nname: {name}\ndescription: {description}\n---\n# {name}\n\n{body}\n"
        (folder / "SKILL.md").write_text(text, encoding="utf-8")
    (skill / "references").mkdir()
    (skill / "references" / "more.md").write_text("More about ports.\n", encoding="utf-8")
    (skill / "skill_meta.json").write_text(json.dumps({"cases": CASES}), encoding="utf-8")


@pytest.mark.usefixtures("skills")
@pytest.mark.parametrize("name", COMMANDS)
def test_the_first_requests_are_those_they_were(name: str, upskill: Upskill, here: Path) -> None:
    if name == "chat-controls":
        with (here / "skills" / "port" / "SKILL.md").open("a", encoding="utf-8") as text:
            text.write(f"{SECOND}\n")
    with Provider(lambda _: Behaviour(text="7413, tarn.log"), port=PORT) as provider:
        words = f"eval skills/port -m any --base-url {provider.url} --runs 1 --concurrency 1 --yes --json"
        done = upskill(
            *words.split(), *COMMANDS[name].split(), UPSKILL_ENDPOINT_KEY="local-key", **VARIABLES.get(name, {})
        )
    assert done.returncode == 0, done.stderr
    hold(f"requests/{name}", first_requests(provider.requests), in_order=True)
    (log,) = here.glob("runs/*/trials.jsonl")
    trials = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    ids = {f"{one['arm']}, {one['case_id']}": one["id"] for one in trials}
    assert len(ids) == len(set(ids.values())) == len(trials)
    hold_entry("values/trial-ids", name, dict(sorted(ids.items())))


def arm_of(text: str) -> str:
    """The arm that a request is of, by what is in it."""
    if OLD_MARK in text or OLD_DESCRIPTION in text:
        return "previous"
    if PASSAGE in text:
        return "ceiling"
    if CORRUPTED in text:
        return "corrupted"
    if '<skill name=\\"port\\">' in text and MARK not in text:
        return "placebo"
    return "with_skill" if MARK in text else "offered" if DESCRIPTION in text else "baseline"


def first_requests(requests: list[ReceivedRequest]) -> dict[str, Any]:
    """By arm and case, the whole body with its keys in the order in which they were sent, and the headers."""
    found: dict[str, Any] = {}
    for request in requests:
        if any(message["role"] in ("assistant", "tool") for message in request.body["messages"]):
            continue
        arm = arm_of(json.dumps(request.body["messages"]))
        prompt = next(case["id"] for case in CASES if case["input"] in request.prompt)
        assert f"{arm}, {prompt}" not in found, "one first request for each answer"
        found[f"{arm}, {prompt}"] = {
            "body": request.body,
            "headers": {name: request.headers.get(name) for name in HEADERS},
        }
    return dict(sorted(found.items()))
