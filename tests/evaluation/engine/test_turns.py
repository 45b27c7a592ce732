"""Conversations: the user's turns are put one after the other, and the arms differ by the skill alone in each."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from on_engine import CommandResult, Make, Run
from provider import Behaviour, Provider, ReceivedRequest
from tool_students import tool_call
from typing_again import typed_again
from upskill.core.nouns import Errored, Scored, Trial
from upskill.evaluation.regrade import regrade
from upskill.evaluation.resume import resume

TURNS: list[dict[str, Any]] = [
    {"input": "How is alpha pushed?", "expected": {"contains": "quux push alpha"}},
    {"input": "Only look first."},
    {"input": "It says Q7.", "checks": [{"contains": "quux key"}, {"excludes": "sudo"}]},
]
RIGHT = {
    "How is alpha pushed?": "Run quux push alpha.",
    "Only look first.": "Run quux push --dry alpha.",
    "It says Q7.": "Run quux key.",
}
TOO_LONG = {"message": "maximum context length is 10 tokens", "code": "context_length_exceeded"}
Changed = dict[int, Behaviour]
"""What the server does otherwise, by the turn of the user, from 1."""


@pytest.fixture
def talk(skill: Make) -> Path:
    """A skill with one conversation of three turns."""
    folder = skill([])
    (folder / "skill_meta.json").write_text(json.dumps({"cases": [{"id": "talk", "turns": TURNS}]}))
    return folder


def answering(changed: Changed | None = None) -> Callable[[ReceivedRequest], Behaviour]:
    """Right answers, except in some turns."""

    def behave(asked: ReceivedRequest) -> Behaviour:
        return (changed or {}).get(user_turn(asked), Behaviour(text=RIGHT[asked.prompt]))

    return behave


def user_turn(asked: ReceivedRequest) -> int:
    """How many times the user has spoken."""
    return sum(message["role"] == "user" for message in asked.body["messages"])


def trial_of(ran: CommandResult, arm: str = "with_skill") -> Trial:
    return next(trial for trial in ran.trials if trial.arm == arm)


def saw(trial: Trial) -> list[str]:
    assert isinstance(trial.outcome, Scored), trial.outcome
    return [result.saw for result in trial.outcome.grade.results]


def test_each_request_has_the_conversation_before_it_and_the_arms_differ_by_the_skill_alone(
    talk: Path, run_at: Any
) -> None:
    _, provider = run_at(talk, answering(), repeats=2, concurrency=1)
    sent: dict[bool, list[list[dict[str, Any]]]] = {True: [], False: []}
    for asked in provider.requests:
        sent[asked.has_skill].append(asked.body["messages"])
    assert len(sent[True]) == len(sent[False]) == 6
    for given, baseline in zip(sent[True], sent[False], strict=True):
        assert given[0]["role"] == baseline[0]["role"] == "system"
        assert given[0]["content"].startswith(baseline[0]["content"])
        assert "Say so." in given[0]["content"]
        assert "Say so." not in baseline[0]["content"]
        assert given[1:] == baseline[1:]
    spoken = [[(message["role"], message["content"]) for message in messages[1:]] for messages in sent[False][:3]]
    (one, a), (two, b), (three, _) = RIGHT.items()
    assert spoken == [
        [("user", one)],
        [("user", one), ("assistant", a), ("user", two)],
        [("user", one), ("assistant", a), ("user", two), ("assistant", b), ("user", three)],
    ]
    others = [{key: asked.body[key] for key in asked.body if key != "messages"} for asked in provider.requests]
    assert all(other == others[0] for other in others)


def test_answers_of_all_turns_are_kept_and_each_is_checked(talk: Path, run_at: Any) -> None:
    ran, _ = run_at(talk, answering())
    trial = trial_of(ran)
    assert trial.passed
    assert (*(trial.earlier or ()), trial.answer) == tuple(RIGHT.values())
    assert saw(trial) == [
        "turn 1 of 3: found 'quux push alpha'",
        "turn 3 of 3: found 'quux key'",
        "turn 3 of 3: none found",
    ]
    assert trial.calls == 3


@pytest.mark.parametrize(("turn", "named"), [(1, "turn 1 of 3"), (3, "turn 3 of 3")])
def test_one_wrong_turn_fails_the_case_and_is_named(turn: int, named: str, talk: Path, run_at: Any) -> None:
    ran, _ = run_at(talk, answering({turn: Behaviour(text="No idea.")}))
    trial = trial_of(ran)
    assert not trial.passed
    assert isinstance(trial.outcome, Scored)
    failed = [result.saw for result in trial.outcome.grade.results if not result.passed]
    assert len(failed) == 1
    assert failed[0].startswith(f"{named}: not found")


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_turn_that_errored_drops_the_pair(turn: int, talk: Path, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        sick = answering({turn: Behaviour(status=500)})
        return sick(asked) if asked.has_skill else answering()(asked)

    ran, _ = run_at(talk, behave, max_retries=0)
    assert isinstance(trial_of(ran).outcome, Errored)
    assert trial_of(ran, "baseline").passed
    assert ran.evaluation.students[0].verdict == "invalid", "the only pair is gone"


ENDS = {
    "cut, and right all the same": (Behaviour(text="Run quux push alpha and", finish_reason="length"), "cut", True, 3),
    "cut before the point": (Behaviour(text="Run", finish_reason="length"), "cut", False, 3),
    "no text": (Behaviour(text=""), "empty", False, 1),
    "a refusal": (Behaviour(refusal="I cannot."), "refused", False, 1),
    "the content filter": (Behaviour(text="quux push alpha", finish_reason="content_filter"), "filtered", False, 1),
    "the window overflows": (Behaviour(status=400, error=TOO_LONG), "overflow", False, 1),
}


@pytest.mark.parametrize("name", ENDS)
def test_end_of_the_first_answer_is_that_of_the_conversation(name: str, talk: Path, run_at: Any) -> None:
    behaviour, end, passes, calls = ENDS[name]
    ran, _ = run_at(talk, answering({1: behaviour}))
    trial = trial_of(ran)
    assert isinstance(trial.outcome, Scored), trial.outcome
    assert (trial.outcome.end, trial.outcome.passed, trial.calls) == (end, passes, calls)
    if calls == 1 and trial.outcome.grade.results:
        assert "turn 3 of 3: the conversation ended before it" in saw(trial)


def test_window_that_overflows_later_fails_without_an_answer_to_that_turn(talk: Path, run_at: Any) -> None:
    ran, _ = run_at(talk, answering({3: Behaviour(status=400, error=TOO_LONG)}))
    trial = trial_of(ran)
    assert isinstance(trial.outcome, Scored)
    assert (trial.outcome.end, trial.passed) == ("overflow", False)
    assert trial.earlier == tuple(RIGHT.values())[:2]
    assert saw(trial)[1].startswith("turn 3 of 3: not found"), "the answer to the turn before is not taken for it"


def test_stored_conversation_is_not_bought_again(talk: Path, run: Run) -> None:
    with Provider(answering()) as provider:
        first = run(talk, ["any"], base_url=provider.url, store=True)
        again = run(talk, ["any"], base_url=provider.url, store=True, repeats=2)
        assert len(provider.requests) == 6 + 6
    mine, theirs = trial_of(again), trial_of(first)
    assert mine.stored_at is not None
    assert (mine.earlier, mine.answer) == (theirs.earlier, theirs.answer)


def test_regrading_looks_at_every_turn(talk: Path, run_at: Any) -> None:
    ran, _ = run_at(talk, answering())
    turns = [{**TURNS[0], "expected": {"contains": "nothing like it"}}, *TURNS[1:]]
    (talk / "skill_meta.json").write_text(json.dumps({"cases": [{"id": "talk", "turns": turns}]}))
    graded: list[Trial] = []
    regrade(ran.run, graded=graded.append)
    assert [trial.passed for trial in graded] == [False, False]
    assert saw(graded[0])[0] == "turn 1 of 3: not found: 'nothing like it'"


# With tools


def working(asked: ReceivedRequest) -> Behaviour:
    """Looks into its folder and writes there in each turn of the user, then answers it."""
    turn, messages = user_turn(asked), asked.body["messages"]
    if messages[-1]["role"] == "user":
        # The ids of its calls are the same in every arm.
        again = replace(asked, number=len(messages))
        return tool_call(again, "shell", command=f"cat notes.txt; echo {turn} >> notes.txt")
    return Behaviour(text=list(RIGHT.values())[turn - 1])


def test_an_agent_goes_on_in_its_folder_and_the_arms_differ_by_the_skill_alone(talk: Path, run_at: Any) -> None:
    last = {**TURNS[2], "checks": [*TURNS[2]["checks"], {"file": {"path": "notes.txt", "matches": "1\\n2\\n3"}}]}
    (talk / "skill_meta.json").write_text(json.dumps({"cases": [{"id": "talk", "turns": [*TURNS[:2], last]}]}))
    ran, provider = run_at(talk, working, harness="agent", concurrency=1)
    assert len(provider.requests) == 3 * 6
    baseline, offered, given = (provider.requests[start : start + 6] for start in (0, 6, 12))
    frame = baseline[0].system
    for first, *others in zip(baseline, offered, given, strict=True):
        assert first.system == frame
        for other in others:
            assert other.system.startswith(frame)
            assert len(other.system) > len(frame)
            assert other.body["messages"][1:] == first.body["messages"][1:]
            assert {**other.body, "messages": []} == {**first.body, "messages": []}
    assert "Say so." in given[0].system
    assert "Say so." not in json.dumps([asked.body for asked in (*baseline, *offered)])
    roles = [message["role"] for message in given[-1].body["messages"]]
    assert roles == ["system", *["user", "assistant", "tool", "assistant"] * 2, "user", "assistant", "tool"]
    for trial in ran.trials:
        assert trial.passed, trial.outcome
        assert trial.files == {"notes.txt": b"1\n2\n3\n"}
        assert (trial.turns, trial.tool_calls, trial.calls) == (6, 3, 6)
        assert (*(trial.earlier or ()), trial.answer) == tuple(RIGHT.values())


@pytest.mark.parametrize(("limit", "put"), [({"max_turns": 3}, 2), ({"max_trial_tokens": 30}, 1)])
def test_limits_of_a_trial_hold_for_all_turns_of_its_user(
    limit: dict[str, int], put: int, talk: Path, run_at: Any
) -> None:
    ran, _ = run_at(talk, working, harness="agent", **limit)
    for trial in ran.trials:
        assert isinstance(trial.outcome, Scored), trial.outcome
        assert trial.outcome.end in ("turn limit", "token limit")
        assert not trial.passed
        assert len(trial.earlier or ()) == put - 1


@pytest.mark.parametrize("harness", ["chat", "agent"])
def test_cap_holds_within_a_conversation_and_it_is_put_again_as_a_whole(harness: str, talk: Path, run: Run) -> None:
    most, arms = (4, 2) if harness == "chat" else (8, 3)
    asked_first = int(harness == "agent")  # whether it can call tools
    with Provider(working if harness == "agent" else answering()) as provider:
        cut = run(talk, ["any"], base_url=provider.url, max_calls=most + asked_first, concurrency=1, harness=harness)
        assert len(provider.requests) == most
        whole = [trial for trial in cut.trials if isinstance(trial.outcome, Scored)]
        assert len(whole) == 1
        done = resume(cut.run, typed=typed_again(cut.run, max_calls=100))
        one = 6 if harness == "agent" else 3
        assert len(provider.requests) == most + one * (arms - 1), "what was scored is not asked again"
    assert [arm.trials for arm in done.students[0].arms] == [1] * arms
