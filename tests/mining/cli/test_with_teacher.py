"""`upskill mine --with-teacher`: candidates are named, merged and judged by a model, from excerpts and nothing else."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from handoff_server import HandoffServer
from mining.made_sessions import Turn, edited, ordinary, ran, write_session
from provider import Behaviour, Provider, ReceivedRequest
from typed import Upskill
from upskill.core.models.handoff import HandoffQuestion

SECRET = "ghp_" + "a1B2" * 9
OF_UV = (
    "No pip here, dependencies are added with uv.",
    "We use uv in this project, please take uv add.",
    f"pip again? The lockfile is uv's. My token is {SECRET}",
    "You used pip, it has to be uv.",
)
OF_CHANGES = (
    "You forgot changes.d, every fix needs a note there.",
    "The note is missing, it must be in changes.d.",
    "We always write a note below changes.d.",
    "That is wrong, the note belongs in changes.d, not in README.",
)


@pytest.fixture
def sessions(here: Path) -> Path:
    for number in range(24):
        turns: list[Turn] = ordinary(number)
        if number < 12:
            turns += ["A report.", ran("pip install rich", output="x" * 40), OF_UV[number % 4], ran("uv add rich")]
        if 8 <= number < 20:
            note = f"changes.d/{number}.md"
            turns += ["Fix it.", edited("README.md", "fixed"), OF_CHANGES[number % 4], edited(note, "fixed")]
        write_session(here / "sessions", number, turns)
    return here / "sessions"


def listed(text: str) -> dict[str, int]:
    """The number of each finding in a question."""
    findings = re.split(r"\n\n(?=\d+\. )", text)[1:]
    return {what: at for at, one in enumerate(findings, 1) for what in ("uv", "changes.d") if what in one}


def group(*numbers: int, name: str, teach: bool = True) -> dict[str, Any]:
    return {"numbers": [*numbers], "name": name, "lesson": f"{name}.", "teach": teach, "why": "it is a rule"}


def judged(asked: ReceivedRequest) -> Behaviour:
    found = listed(asked.prompt)
    groups = [group(found["uv"], name="Add packages with uv"), group(found["changes.d"], name="Notes", teach=False)]
    return Behaviour(text=json.dumps({"groups": groups}))


def test_candidates_are_named_and_set_aside(upskill: Upskill, here: Path, sessions: Path) -> None:
    with Provider(judged) as provider:
        done = upskill("mine", "sessions", "--with-teacher", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 0, done.stderr
    assert "1. Add packages with uv\n   12 sessions on 12 days" in done.stdout
    assert "a skill would say: Add packages with uv.\n" in done.stdout
    assert "left out by the teacher: Notes (it is a rule)\nany judged 2 candidates: 1 call" in done.stdout
    assert "any judges 2 candidates; about 1 call, at most 3; price unknown" in done.stderr
    assert json.loads((here / "mined" / "mined.json").read_text())["candidates"][0]["task"].endswith("uv")
    (asked,) = provider.requests
    assert SECRET not in json.dumps(asked.body)
    assert "xxxx" not in json.dumps(asked.body)  # what a command printed stays here
    assert len(re.findall(r'^"', asked.prompt, re.M)) == 6


def test_nothing_invisible_that_a_teacher_writes_is_kept(upskill: Upskill, here: Path, sessions: Path) -> None:
    hidden = "House \u202erules\U000e0041\u200b"
    one = {"groups": [group(1, 2, name=hidden)]}
    with Provider(lambda _: Behaviour(text=json.dumps(one))) as provider:
        done = upskill("mine", "sessions", "--with-teacher", "-m", "any", "--base-url", provider.url, "--json")
    assert json.loads(done.stdout)["candidates"][0]["title"] == "House rules"
    written = "".join(path.read_text() for path in (here / "mined").iterdir())
    assert "House rules" in written
    assert [mark for mark in ("\u202e", "\\u202e", "\U000e0041", "\u200b", "\\u200b") if mark in written] == []


def test_merged_candidates_are_one(upskill: Upskill, sessions: Path) -> None:
    one = {"groups": [group(1, 2, name="House rules")]}
    with Provider(lambda _: Behaviour(text=json.dumps(one))) as provider:
        done = upskill("mine", "sessions", "--with-teacher", "-m", "any", "--base-url", provider.url, "--json")
    found = json.loads(done.stdout)
    (candidate,) = found["candidates"]
    assert (candidate["title"], candidate["times"], len(candidate["sessions"])) == ("House rules", 24, 20)
    assert candidate["sessions"] == sorted(candidate["sessions"])
    assert (len(candidate["practice"]), len(candidate["later"])) == (10, 10)
    assert found["teacher"]["name"] == "any"
    assert found["teacher"]["bought"]["calls"] == 1


def test_answer_that_leaves_one_out_is_asked_for_again(upskill: Upskill, sessions: Path) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        mended = "is in no group" in asked.prompt
        groups = [group(1, name="One"), group(2, name="Two")] if mended else [group(1, 3, name="One")]
        return Behaviour(text=json.dumps({"groups": groups}))

    with Provider(behave) as provider:
        done = upskill("mine", "sessions", "--with-teacher", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 0, done.stderr
    assert "there is no finding 3\n- finding 2 is in no group" in provider.requests[1].prompt
    assert "2 calls" in done.stdout


def test_teacher_can_be_asked_by_hand_off(upskill: Upskill, here: Path, sessions: Path) -> None:
    def answer(question: HandoffQuestion, text: str) -> str:
        found = listed(text)
        return json.dumps({"groups": [group(found["uv"], name="Uv"), group(found["changes.d"], name="Notes")]})

    with HandoffServer(here, answer):
        done = upskill("mine", "sessions", "--with-teacher", "-m", "handoff/asked")
    assert done.returncode == 0, done.stderr
    assert "1. Uv\n" in done.stdout or "2. Uv\n" in done.stdout


def test_failures_are_explained(upskill: Upskill, here: Path, sessions: Path) -> None:
    with Provider(lambda _: Behaviour(status=401)) as provider:
        done = upskill("mine", "sessions", "--with-teacher", "-m", "any", "--base-url", provider.url)
    assert done.returncode == 3
    assert "any did not answer: " in done.stderr
    assert "without --with-teacher no model is asked" in done.stderr
    assert not (here / "mined").exists()
    done = upskill("mine", "sessions", "-m", "any")
    assert done.returncode == 2
    assert "only --with-teacher asks a model; remove --model" in done.stderr
