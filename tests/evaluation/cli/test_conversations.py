"""Conversations as people type them: killed in the middle and resumed, shown, and written as rows to train on."""

import json
import os
import signal
from collections import Counter
from pathlib import Path
from threading import Event
from typing import Any

from forking import COMMAND, started
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill

CASES, TURNS = 4, 3
SKILL = "---\nname: codes\ndescription: Knows codes.\n---\n"


def said(case: int, turn: int) -> str:
    return f"Of item {case}, what is code {turn}? Only the code."


def answer(case: int, turn: int) -> str:
    return f"X{case}-{turn}"


def _talk(number: int) -> dict[str, Any]:
    turns = [
        {
            "input": said(number, turn),
            "expected": {"regex": rf"(?s)\A(?=.*\b{answer(number, turn)}\b)(?:(?!\bidea\b).)*\Z"},
        }
        for turn in range(1, TURNS + 1)
    ]
    return {"id": f"c{number}", "use": "learn", "turns": turns}


def _skill(here: Path) -> None:
    """Knows all but the last code of the last item."""
    known = [(case, turn) for case in range(CASES) for turn in range(1, TURNS + 1)][:-1]
    (here / "codes").mkdir()
    facts = "".join(f"{said(case, turn)} {answer(case, turn)}\n" for case, turn in known)
    (here / "codes" / "SKILL.md").write_text(SKILL + facts)
    (here / "codes" / "skill_meta.json").write_text(json.dumps({"cases": [_talk(number) for number in range(CASES)]}))


def _answer(asked: ReceivedRequest) -> Behaviour:
    known = asked.system.partition(asked.prompt)[2].split()
    return Behaviour(text=known[0] if known else "no idea")


def _put(asked: ReceivedRequest) -> tuple[bool, str, int]:
    """Arm, case and turn of a request."""
    spoken = [message["content"] for message in asked.body["messages"] if message["role"] == "user"]
    return asked.has_skill, spoken[0], len(spoken)


def test_killed_conversation_is_put_again_and_what_was_finished_is_not(
    upskill: Upskill, here: Path, environment: dict[str, str]
) -> None:
    _skill(here)
    stuck, healthy = Event(), Event()

    def behave(asked: ReceivedRequest) -> Behaviour:
        if len(provider.requests) < 2 * TURNS + 2 or healthy.is_set():
            return _answer(asked)
        stuck.set()
        return Behaviour(latency=60)

    with Provider(behave) as provider:
        typed = ["eval", "codes", "-m", "any", "--base-url", provider.url, "--runs", "1", "--concurrency", "1", "--yes"]
        with started([COMMAND, *typed], cwd=here, env=environment) as process:
            assert stuck.wait(120)
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
        before = [_put(asked) for asked in provider.requests]
        finished = {one[:2] for one in before if one[2] == TURNS}
        assert len(finished) == 2, "the third conversation is cut in its second turn"
        healthy.set()
        (run,) = (path.parent for path in (here / "runs").glob("*/run.json"))
        done = upskill("eval", "--resume", f"runs/{run.name}", "--yes", "-v")
        assert done.returncode == 0, done.stderr
        again = [_put(asked) for asked in provider.requests[len(before) :]]
        assert not finished & {one[:2] for one in again}
        assert set(Counter(again).values()) == {1}
        assert len(again) == 2 * CASES * TURNS - len(finished) * TURNS

        # Results name the turn that failed, and a long pattern has one row.
        table = done.stdout
        assert "turn 3 of 3: no match for" in table
        assert "answer to turn 1: X3-1" in table
        assert "answer to turn 3: no idea" in table
        upskill("report", f"runs/{run.name}")
        page = (run / "report.html").read_text()
        assert f"Turn 1: {said(3, 1)}\\n\\nTurn 2: {said(3, 2)}" in page
        assert "Turn 1: X3-1\\n\\nTurn 2: X3-2\\n\\nTurn 3: no idea" in page
        assert "turn 3 of 3: no match for" in page

        asked_before = len(provider.requests)
        practised = upskill("eval", "codes", "--practice", "-m", "any", "--base-url", provider.url)
        assert practised.returncode == 0, practised.stderr
        assert len(provider.requests) == asked_before, "practice finds all of it in the cache"
        rows = upskill("report", "--export", "trl", "rows.jsonl")
        assert rows.stdout.startswith("3 rows in rows.jsonl"), rows.stderr
        bare = [asked.body["messages"] for asked in provider.requests if not asked.has_skill]
    written = [json.loads(line)["messages"] for line in (here / "rows.jsonl").read_text().splitlines()]
    for number, row in enumerate(written):
        assert row[0] == bare[0][0], "the system message of a model without the skill"
        assert [message["role"] for message in row] == ["system", *["user", "assistant"] * TURNS]
        assert [message["content"] for message in row[1::2]] == [said(number, turn) for turn in (1, 2, 3)]
        assert [message["content"] for message in row[2::2]] == [answer(number, turn) for turn in (1, 2, 3)]
