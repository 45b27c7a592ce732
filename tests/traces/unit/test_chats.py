"""Chats in the forms that people keep and exchange: messages, rows, sessions, Responses."""

from pathlib import Path
from typing import Any

from traces.unit.written import done, read_document, read_lines, said
from upskill.traces.readers import read_traces

ASK = {"role": "user", "content": "Make the tests pass."}


def call(call_id: str, command: str) -> dict[str, Any]:
    return {"id": call_id, "function": {"name": "bash", "arguments": f'{{"command": "{command}"}}'}}


def test_calls_that_share_one_id_each_keep_their_own_output(tmp_path: Path) -> None:
    (trace,) = read_document(
        tmp_path,
        [
            ASK,
            {"role": "assistant", "content": None, "tool_calls": [call("call_0", "make")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "first"},
            {"role": "assistant", "content": None, "tool_calls": [call("call_0", "make test")]},
            {"role": "tool", "tool_call_id": "call_0", "content": "second"},
        ],
    )
    assert done(trace) == [("bash", "make", "first", None), ("bash", "make test", "second", None)]
    ids = [made.id for step in trace.steps for made in step.calls]
    assert len(set(ids)) == 2


def test_outputs_without_an_id_go_to_the_oldest_call_that_waits(tmp_path: Path) -> None:
    (trace,) = read_document(
        tmp_path,
        [
            ASK,
            {"role": "assistant", "content": "", "tool_calls": [call("", "make"), call("", "make test")]},
            {"role": "tool", "content": "first"},
            {"role": "tool", "content": "second"},
        ],
    )
    assert done(trace) == [("bash", "make", "first", None), ("bash", "make test", "second", None)]


def test_an_output_of_no_call_is_left_out_and_said_so_and_a_repeated_one_is_not(tmp_path: Path) -> None:
    path = tmp_path / "chat.jsonl"
    path.write_text(
        '{"role": "tool", "tool_call_id": "gone", "content": "LOST"}\n'
        '{"role": "user", "content": "Go on."}\n'
        '{"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "ls", "arguments": "{}"}}]}\n'
        '{"role": "tool", "tool_call_id": "c", "content": "once"}\n'
        '{"role": "tool", "tool_call_id": "c", "content": "TWICE"}\n'
    )
    reading = read_traces(path)
    assert done(reading.traces[0]) == [("ls", "{}", "once", None)]
    assert reading.notes == ("chat.jsonl: an output belongs to no call, skipped",)


def test_blocks_stand_in_for_text_and_an_image_is_named_but_not_carried(tmp_path: Path) -> None:
    image = {"type": "image", "source": {"type": "base64", "data": "iVBORw0KGgo"}}
    (trace,) = read_document(
        tmp_path,
        {
            "model": "m",
            "messages": [
                {"role": "user", "content": [{"type": "text", "text": "What is this?"}, image]},
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "I look."},
                        {"type": "tool_use", "id": "t", "name": "view", "input": {"path": "a.png"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [{"type": "tool_result", "tool_use_id": "t", "content": [image], "is_error": True}],
                },
            ],
        },
    )
    assert said(trace, "person") == ["What is this?\n[an image]"]
    assert trace.steps[1].reasoning == "I look."
    assert done(trace) == [("view", '{"path": "a.png"}', "[an image]", True)]
    assert trace.model == "m"
    assert "iVBOR" not in repr(trace)


def test_the_call_of_older_chats_is_answered_by_name(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path,
        ASK,
        {"role": "assistant", "content": None, "function_call": {"name": "ls", "arguments": '{"dir": "."}'}},
        {"role": "function", "name": "ls", "content": "a b"},
    )
    assert done(trace) == [("ls", '{"dir": "."}', "a b", None)]


def test_an_output_that_is_no_text_is_kept_as_it_is_and_other_names_of_roles_are_known(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path,
        {"role": "human", "content": "Look."},
        {"role": "ai", "content": "I look.", "tool_calls": [call("c", "ls")]},
        {"role": "tool", "tool_call_id": "c", "content": {"files": ["a"], "exit": 0}},
    )
    assert (said(trace, "person"), said(trace, "agent")) == (["Look."], ["I look."])
    assert done(trace) == [("bash", "ls", '{"files": ["a"], "exit": 0}', None)]


def test_every_row_of_a_dataset_is_a_trace_and_an_empty_one_is_none(tmp_path: Path) -> None:
    rows = [{"messages": [ASK, {"role": "assistant", "content": str(number)}]} for number in range(5)]
    traces = read_lines(tmp_path, *rows, {"messages": []}, {"messages": "none"})
    assert [said(trace, "agent") for trace in traces] == [["0"], ["1"], ["2"], ["3"], ["4"]]


def test_a_call_that_follows_a_message_of_responses_directly_belongs_to_it(tmp_path: Path) -> None:
    message = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I look."}]}
    (trace,) = read_document(
        tmp_path,
        {
            "instructions": "Be brief.",
            "input": "List the files.",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Where am I?"}]},
                message,
                {"type": "function_call", "call_id": "c", "name": "bash", "arguments": '{"cmd": ["ls", "-a"]}'},
                {"type": "function_call_output", "call_id": "c", "output": "a"},
                {"type": "mcp_call", "id": "m", "name": "search", "arguments": "{}", "error": "timed out"},
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": "So be it."}]},
            ],
        },
    )
    assert said(trace, "harness") == ["Be brief."]
    assert said(trace, "person") == ["List the files."]
    assert done(trace) == [("bash", "ls -a", "a", None), ("search", "{}", "timed out", True)]
    spoken = next(step for step in trace.steps if step.text == "I look.")
    assert (spoken.reasoning, len(spoken.calls)) == ("Where am I?", 1)
    assert trace.steps[-1].reasoning == "So be it."
