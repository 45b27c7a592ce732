"""Models that write their tool calls as text: the calls are made, counted, and answered when wrong."""

import json
from typing import Any

import pytest

from on_engine import Make
from provider import MADE, Behave, Behaviour, ReceivedRequest
from upskill.errors import ProviderError
from upskill.report.glance import rows_of, sentences_of
from upskill.report.next_step import next_step

CASE = [("Write the port into port.txt.", {"file": {"path": "port.txt", "contains": "8003"}})]
FENCE = "```json\n{}\n```"


def call(name: str, **arguments: object) -> str:
    return FENCE.format(json.dumps({"name": name, "arguments": arguments}))


def test_a_call_in_a_fence_is_made_and_counted(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        made = any(entry["role"] == "tool" for entry in asked.body["messages"])
        return Behaviour(text="done" if made else f"I write it.\n{call('write_file', path='port.txt', content='8003')}")

    ran, _ = run_at(skill(CASE), behave, harness="agent", repeats=1, baseline=False)
    (trial,) = ran.trials
    assert trial.outcome.passed
    assert (trial.tool_calls, trial.text_calls, trial.turns) == (1, 1, 2)
    assert trial.files == {"port.txt": b"8003"}


def test_a_broken_call_is_answered_and_costs_a_turn(skill: Make, run_at: Any) -> None:
    heard: list[str] = []

    def behave(asked: ReceivedRequest) -> Behaviour:
        results = [str(entry["content"]) for entry in asked.body["messages"] if entry["role"] == "tool"]
        heard[:] = results
        if not results:
            return Behaviour(text=call("write_file", path="port.txt"))
        return Behaviour(text="done" if len(results) == 2 else call("write_file", path="port.txt", content="8003"))

    ran, _ = run_at(skill(CASE), behave, harness="agent", repeats=1, baseline=False)
    (trial,) = ran.trials
    assert trial.outcome.passed
    assert (trial.tool_calls, trial.text_calls, trial.turns) == (1, 1, 3)
    assert "'content' is a required property" in heard[0]


def test_a_model_that_writes_broken_calls_for_ever_has_failed(skill: Make, run_at: Any) -> None:
    ran, _ = run_at(
        skill(CASE), lambda _: Behaviour(text=call("write_file", path="port.txt")),
        harness="agent", repeats=1, baseline=False, max_turns=4,
    )  # fmt: skip
    (trial,) = ran.trials
    assert not trial.outcome.passed
    assert (trial.tool_calls, trial.turns) == (0, 4)


def test_a_setting_turns_it_off(skill: Make, run_at: Any) -> None:
    text = call("write_file", path="port.txt", content="8003")
    ran, _ = run_at(
        skill(CASE), lambda _: Behaviour(text=text), harness="agent", repeats=1, baseline=False, text_calls=False
    )
    (trial,) = ran.trials
    assert (trial.tool_calls, trial.text_calls, trial.turns, trial.answer) == (0, None, 1, text)


def test_calls_that_cannot_be_read_are_no_score(skill: Make, run_at: Any) -> None:
    text = "<function=write_file><parameter=path>port.txt</parameter></function>"
    ran, _ = run_at(skill(CASE), lambda _: Behaviour(text=text), harness="agent", repeats=1)
    (report,) = ran.evaluation.students
    assert report.verdict == "invalid"
    assert report.sentence == f"no verdict: none of its tool calls could be read, such as: {text}"
    first, *_ = sentences_of(ran.evaluation, rows_of(ran.evaluation))
    assert first == f"No verdict: none of its tool calls could be read, such as: {text}."
    assert next_step(ran.evaluation).command.endswith("--harness chat")
    assert not [note for note in ran.evaluation.notes if "never called a tool" in note]


def test_calls_read_from_text_are_counted_in_a_note(skill: Make, run_at: Any) -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        made = any(entry["role"] == "tool" for entry in asked.body["messages"])
        return Behaviour(text="done" if made else call("shell", command="ls"))

    ran, _ = run_at(skill(CASE), behave, harness="agent", repeats=1)
    assert "3 tool calls read from text" in ran.evaluation.notes[0]


def keeping(requests: list[ReceivedRequest], answer: Behaviour) -> Behave:
    def behave(asked: ReceivedRequest) -> Behaviour:
        requests.append(asked)
        return answer

    return behave


@pytest.mark.parametrize("status", [400, 500])
def test_a_server_that_refuses_tools_is_named_before_any_trial(skill: Make, run_at: Any, status: int) -> None:
    refusal = Behaviour(status=status, error={"message": "tools param requires --jinja flag", "type": "invalid"})
    trials: list[ReceivedRequest] = []
    with pytest.raises(ProviderError, match=r"refuses a request with a tool: .*requires --jinja flag") as refused:
        run_at(
            skill(CASE), keeping(trials, Behaviour()),
            harness="agent", first_call=lambda _: refusal, max_retries=0,
        )  # fmt: skip
    assert "--harness chat" in str(refused.value.hint)
    assert not trials


def test_a_model_that_makes_no_trivial_call_is_measured_and_a_note_says_what_it_wrote(skill: Make, run_at: Any) -> None:
    asked: list[ReceivedRequest] = []
    first_call = keeping(asked, Behaviour(text="I am ready."))
    ran, provider = run_at(
        skill(CASE), lambda _: Behaviour(text="done"), harness="agent", repeats=1, first_call=first_call
    )
    assert "any was asked for one tool call before the trials and made none: I am ready." in ran.evaluation.notes
    assert len(asked) == 1, "once, whatever the number of arms"
    assert ran.evaluation.bought.calls == len(provider.requests) + 1


def test_a_trivial_call_that_is_written_as_text_is_one(skill: Make, run_at: Any) -> None:
    ran, _ = run_at(
        skill(CASE), lambda _: Behaviour(text="done"), harness="agent", repeats=1,
        first_call=lambda _: Behaviour(text=call("ready", word="yes")),
    )  # fmt: skip
    assert not any("before the trials" in note for note in ran.evaluation.notes)


def test_an_outage_during_the_trivial_call_is_left_to_the_trials(skill: Make, run_at: Any) -> None:
    ran, provider = run_at(
        skill(CASE), lambda _: Behaviour(text="done"), harness="agent", repeats=1, max_retries=0,
        first_call=lambda _: Behaviour(fault="reset"),
    )  # fmt: skip
    assert provider.requests
    assert not any("before the trials" in note for note in ran.evaluation.notes)


def test_without_tools_no_call_is_asked_for(skill: Make, run_at: Any) -> None:
    asked: list[ReceivedRequest] = []
    case = [("Which port?", {"contains": "8003"})]
    run_at(skill(case), lambda _: Behaviour(text="8003"), repeats=1, first_call=keeping(asked, MADE))
    assert not asked
