"""Spans: agents below agents, what was not recorded, and the several ways in which messages are written."""

import json
from pathlib import Path
from typing import Any

from traces.unit.written import done, read_document, read_lines, said
from upskill.traces.readers import read_traces

TASK = "Make the tests pass."


def span(span_id: str, parent: str, kind: str, **attributes: Any) -> dict[str, Any]:
    named = {name.replace("__", "."): value for name, value in attributes.items()}
    return {
        "name": kind,
        "context": {"span_id": span_id, "trace_id": "t"},
        "parent_id": parent or None,
        "attributes": {"gen_ai.operation.name": kind, **named},
    }


def text(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": content}]}


def chat(span_id: str, parent: str, asked: list[Any], answered: list[Any]) -> dict[str, Any]:
    return span(span_id, parent, "chat", gen_ai__input__messages=json.dumps(asked), gen_ai__output__messages=answered)


def wanted(call_id: str, name: str, **arguments: Any) -> dict[str, Any]:
    part = {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}
    return {"role": "assistant", "parts": [part]}


def test_an_agent_that_a_tool_began_hangs_under_its_call(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path,
        chat("c2", "inner", [text("user", "Look.")], [text("assistant", "Found.")]),
        span("inner", "tool", "invoke_agent"),
        {**span("tool", "outer", "execute_tool", gen_ai__tool__call__id="k", gen_ai__tool__name="task"), "status": {}},
        chat("c1", "outer", [text("user", TASK)], [wanted("k", "task", prompt="Look.")]),
        span("outer", "", "invoke_agent"),
    )
    assert said(trace, "person") == [TASK]
    (below,) = trace.subtraces
    assert below.call_id == "k"
    assert said(below.trace, "agent") == ["Found."]


def test_an_export_per_line_is_read_as_one_export(tmp_path: Path) -> None:
    def export(raw: dict[str, Any]) -> dict[str, Any]:
        attributes = [
            {"key": key, "value": {"stringValue": value if isinstance(value, str) else json.dumps(value)}}
            for key, value in raw["attributes"].items()
        ]
        one = {"spanId": raw["context"]["span_id"], "parentSpanId": raw["parent_id"] or "", "attributes": attributes}
        return {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]}

    agent = span("a", "", "invoke_agent")
    first = chat("c1", "a", [text("user", TASK)], [text("assistant", "One.")])
    last = chat("c2", "a", [text("user", TASK), text("assistant", "One.")], [text("assistant", "Two.")])
    (trace,) = read_lines(tmp_path, export(first), export(last), export(agent))
    assert (said(trace, "person"), said(trace, "agent")) == ([TASK], ["One.", "Two."])


def test_where_nothing_said_was_recorded_the_tools_remain_and_the_lack_is_named(tmp_path: Path) -> None:
    tool = span(
        "t", "a", "execute_tool", gen_ai__tool__name="bash", gen_ai__tool__call__arguments='{"command": "make"}'
    )
    path = tmp_path / "spans.jsonl"
    records = [span("c", "a", "chat"), {**tool, "status": {"status_code": "ERROR"}}, span("a", "", "invoke_agent")]
    path.write_text("\n".join(map(json.dumps, records)))
    reading = read_traces(path)
    assert done(reading.traces[0]) == [("bash", "make", "", True)]
    assert "state the task yourself" in reading.notes[0]


def test_messages_may_be_flattened_over_keys(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path,
        span(
            "c",
            "",
            "chat",
            gen_ai__prompt__0__role="user",
            gen_ai__prompt__0__content=TASK,
            gen_ai__completion__0__role="assistant",
            gen_ai__completion__0__content="I build.",
            gen_ai__completion__0__tool_calls__0__id="k",
            gen_ai__completion__0__tool_calls__0__name="bash",
            gen_ai__completion__0__tool_calls__0__arguments='{"command": "make"}',
        ),
    )
    assert (said(trace, "person"), said(trace, "agent")) == ([TASK], ["I build."])
    assert done(trace) == [("bash", "make", None, None)]


def test_messages_may_be_events(tmp_path: Path) -> None:
    events = [
        {"name": "gen_ai.user.message", "attributes": {"content": TASK}},
        {"name": "gen_ai.choice", "attributes": {"message": json.dumps({"content": "Done."})}},
    ]
    (trace,) = read_lines(tmp_path, {**span("c", "", "chat"), "events": events})
    assert (said(trace, "person"), said(trace, "agent")) == ([TASK], ["Done."])


def test_agents_that_began_each_other_in_a_circle_are_both_read(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path,
        span("a", "b", "invoke_agent"),
        span("b", "a", "invoke_agent"),
        chat("c1", "a", [text("user", "One?")], [text("assistant", "One.")]),
        chat("c2", "b", [text("user", "Two?")], [text("assistant", "Two.")]),
    )
    (below,) = trace.subtraces
    assert sorted([*said(trace, "agent"), *said(below.trace, "agent")]) == ["One.", "Two."]


def test_typed_values_of_every_kind_are_unpacked(tmp_path: Path) -> None:
    part = {
        "kvlistValue": {
            "values": [
                {"key": "type", "value": {"stringValue": "text"}},
                {"key": "content", "value": {"stringValue": TASK}},
            ]
        }
    }
    message = {
        "kvlistValue": {
            "values": [
                {"key": "role", "value": {"stringValue": "user"}},
                {"key": "parts", "value": {"arrayValue": {"values": [part]}}},
            ]
        }
    }
    attributes = [
        {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
        {"key": "gen_ai.input.messages", "value": {"arrayValue": {"values": [message]}}},
    ]
    document = {"resourceSpans": [{"scopeSpans": [{"spans": [{"spanId": "c", "attributes": attributes}]}]}]}
    (trace,) = read_document(tmp_path, document)
    assert said(trace, "person") == [TASK]
