"""Codex, Gemini CLI, opencode, Cursor and Claude's stream and export: what the samples do not hold."""

import json
from pathlib import Path
from typing import Any

import pytest

from traces.unit.counting import everything
from traces.unit.written import done, read_document, read_lines, said
from upskill.traces.readers import read_traces


def item(**payload: Any) -> dict[str, Any]:
    return {"type": "response_item", "payload": payload}


def event(**payload: Any) -> dict[str, Any]:
    return {"type": "event_msg", "payload": payload}


def spoken(role: str, *texts: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return item(type="message", role=role, content=[{"type": kind, "text": text} for text in texts])


def shell(call_id: str, output: Any) -> list[dict[str, Any]]:
    arguments = json.dumps({"command": ["bash", "-lc", f"run {call_id}"]})
    return [
        item(type="function_call", name="shell", arguments=arguments, call_id=call_id),
        item(type="function_call_output", call_id=call_id, output=output),
    ]


@pytest.mark.parametrize(("turns", "left"), [(1, ["One."]), (2, []), (99, []), (0, ["One.", "Two."])])
def test_codex_turns_that_were_rolled_back_are_dropped(tmp_path: Path, turns: int, left: list[str]) -> None:
    (trace,) = read_lines(
        tmp_path,
        spoken("user", "<environment_context>x</environment_context>"),
        spoken("user", "One."),
        spoken("assistant", "Done."),
        spoken("user", "Two."),
        spoken("user", "<turn_aborted>x</turn_aborted>"),
        spoken("assistant", "Done."),
        event(type="thread_rolled_back", num_turns=turns),
        spoken("assistant", "Last."),
    )
    assert said(trace, "person") == left
    assert said(trace, "agent")[-1] == "Last."
    assert trace.dropped_branches == 2 - len(left)


@pytest.mark.parametrize(
    ("output", "content", "exit_code"),
    [
        ("Chunk ID: 1\nWall time: 1 s\nProcess exited with code 3\nOutput:\nno", "no", 3),
        ("Exit code: 0\nWall time: 1 seconds\nOutput:\nyes", "yes", 0),
        (json.dumps({"output": "no", "metadata": {"exit_code": 7}}), "no", 7),
        ({"content": "no", "success": False}, "no", None),
        ([{"type": "input_text", "text": "some"}], "some", None),
        ("Output:\nProcess exited with code 9\n", "Output:\nProcess exited with code 9\n", None),
        ('{"metadata": [', '{"metadata": [', None),
    ],
)
def test_codex_says_the_exit_code_in_its_own_head_and_nowhere_else(
    tmp_path: Path, output: Any, content: str, exit_code: int | None
) -> None:
    (trace,) = read_lines(tmp_path, spoken("user", "Go."), *shell("c", output))
    (observation,) = trace.steps[1].observations
    assert (observation.content, observation.exit_code) == (content, exit_code)
    assert trace.steps[1].calls[0].arguments == "run c"
    if exit_code is not None:
        assert observation.failed is (exit_code != 0)


@pytest.mark.parametrize("before", [True, False])
def test_codex_exit_codes_of_completed_items_count_whether_they_come_before_or_after(
    tmp_path: Path, before: bool
) -> None:
    made, output = shell("c", "some text")
    ended = event(
        type="item_completed", item={"type": "CommandExecution", "id": "c", "status": "failed", "exit_code": 5}
    )
    records = [made, ended, output] if before else [made, output, ended]
    (trace,) = read_lines(tmp_path, spoken("user", "Go."), *records)
    (observation,) = trace.steps[1].observations
    assert (observation.failed, observation.exit_code, observation.content) == (True, 5, "some text")


def test_codex_parts_that_were_put_in_are_taken_out_of_a_message(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path, spoken("user", "# AGENTS.md instructions for /x", "Do it."), spoken("developer", "x")
    )
    assert said(trace, "person") == ["Do it."]


def test_codex_a_turn_that_the_person_stopped_is_told(tmp_path: Path) -> None:
    (trace,) = read_lines(tmp_path, spoken("user", "Go."), event(type="turn_aborted", reason="interrupted"))
    assert said(trace, "harness") == ["[the person stopped the turn]"]


GEMINI = {"sessionId": "s", "projectHash": "p"}


def gemini(message_id: str, kind: str, content: Any, **more: Any) -> dict[str, Any]:
    return {"id": message_id, "type": kind, "content": content, **more}


def test_gemini_a_rewind_to_no_known_message_clears_everything(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path, GEMINI, gemini("1", "user", "Old."), {"$rewindTo": "none"}, gemini("2", "user", [{"text": "New."}])
    )
    assert said(trace, "person") == ["New."]
    assert trace.dropped_branches == 1


def test_gemini_messages_that_are_set_replace_all_before(tmp_path: Path) -> None:
    (trace,) = read_lines(
        tmp_path, GEMINI, gemini("1", "user", "Old."), {"$set": {"messages": [gemini("2", "user", "New.")]}}
    )
    assert said(trace, "person") == ["New."]


def test_gemini_shell_exit_codes_count_though_the_call_is_marked_as_a_success(tmp_path: Path) -> None:
    response = {"functionResponse": {"response": {"output": "Output: no\nExit Code: 2\nSignal: 0"}}}
    tool = {"id": "c", "name": "run_shell_command", "args": {"command": "x"}, "status": "success", "result": [response]}
    (trace,) = read_lines(tmp_path, GEMINI, gemini("1", "user", "Go."), gemini("2", "gemini", "", toolCalls=[tool]))
    (observation,) = trace.steps[1].observations
    assert (observation.failed, observation.exit_code) == (True, 2)


def opencode(message_id: str, role: str, *parts: dict[str, Any], **info: Any) -> dict[str, Any]:
    return {"info": {"id": message_id, "role": role, **info}, "parts": list(parts)}


def test_opencode_messages_after_a_revert_summaries_and_synthetic_text_are_left_out(tmp_path: Path) -> None:
    text = {"type": "text", "text": "Kept."}
    messages = [
        opencode("m1", "user", text, {"type": "text", "text": "PUT IN", "synthetic": True}),
        opencode("m2", "assistant", {"type": "text", "text": "SUMMARY"}, summary=True),
        opencode("m3", "assistant", text),
        opencode("m4", "user", {"type": "text", "text": "UNDONE"}),
    ]
    (trace,) = read_document(tmp_path, {"info": {"id": "ses_1", "revert": {"messageID": "m4"}}, "messages": messages})
    assert [step.text for step in trace.steps] == ["Kept.", "Kept."]
    assert trace.dropped_branches == 1


@pytest.mark.parametrize(
    ("state", "failed", "exit_code"),
    [
        ({"status": "completed", "output": "x", "metadata": {"exit": 4}}, True, 4),
        ({"status": "completed", "output": "x", "metadata": {"exit": 0}}, False, 0),
        ({"status": "error", "error": "x"}, True, None),
    ],
)
def test_opencode_outputs_carry_their_exit_code(
    tmp_path: Path, state: dict[str, Any], failed: bool, exit_code: int | None
) -> None:
    part = {"id": "p", "type": "tool", "callID": "c", "tool": "bash", "state": {"input": {"command": "make"}, **state}}
    (trace,) = read_lines(tmp_path, {"type": "tool_use", "sessionID": "ses_1", "part": part})
    (observation,) = trace.steps[0].observations
    assert (observation.content, observation.failed, observation.exit_code) == ("x", failed, exit_code)
    assert trace.steps[0].calls[0].arguments == "make"


def cursor(**more: Any) -> dict[str, Any]:
    return {"session_id": "s", **more}


def test_cursor_a_call_that_never_ended_and_one_that_succeeded(tmp_path: Path) -> None:
    started = {"shellToolCall": {"args": {"command": "sleep 1000"}}}
    wrote = {"writeToolCall": {"args": {"path": "a.py"}, "result": {"success": {"linesCreated": 3}}}}
    (trace,) = read_lines(
        tmp_path,
        cursor(type="system", subtype="init", apiKeySource="login", model="m", cwd="/home/dev"),
        cursor(type="tool_call", subtype="started", call_id="1", model_call_id="m", tool_call=started),
        cursor(type="tool_call", subtype="completed", call_id="2", model_call_id="m", tool_call=wrote),
    )
    assert done(trace) == [
        ("shell", "sleep 1000", None, None),
        ("write", '{"path": "a.py"}', '{"linesCreated": 3}', False),
    ]


def test_the_stream_of_claude_hangs_subagents_under_their_calls(tmp_path: Path) -> None:
    def record(kind: str, under: str | None, message_id: str, *content: dict[str, Any]) -> dict[str, Any]:
        message = {"id": message_id, "content": list(content)}
        return {"type": kind, "session_id": "s", "parent_tool_use_id": under, "message": message}

    task = {"type": "tool_use", "id": "c1", "name": "Task", "input": {"prompt": "Look."}}
    (trace,) = read_lines(
        tmp_path,
        {"type": "system", "subtype": "init", "session_id": "s", "apiKeySource": "none"},
        record("assistant", None, "m1", {"type": "text", "text": "I look."}),
        record("assistant", None, "m1", task),
        record("user", "c1", "", {"type": "text", "text": "Look."}),
        record("assistant", "c1", "m2", {"type": "text", "text": "Found."}),
        record("user", None, "", {"type": "tool_result", "tool_use_id": "c1", "content": "Found."}),
        record("assistant", None, "m1", {"type": "text", "text": "Done."}),
    )
    assert said(trace, "agent") == ["I look.", "Done."], "an id that comes again after an output is a new message"
    assert [(part.call_id, said(part.trace, "agent")) for part in trace.subtraces] == [("c1", ["Found."])]


@pytest.mark.parametrize("secret", ["sk-proj-hidden0000"])
def test_every_text_of_every_reader_goes_through_clean(tmp_path: Path, secret: str) -> None:
    """A secret wherever a text can stand: what is not cleaned shows it."""
    sessions = [
        [
            {"type": "session_meta", "payload": {"cwd": f"/{secret}"}},
            {"type": "turn_context", "payload": {"model": secret}},
            spoken("user", secret),
            item(type="reasoning", summary=[{"text": secret}]),
            item(type="function_call", name=secret, arguments=json.dumps({"a": secret}), call_id="c"),
            item(type="function_call_output", call_id="c", output=secret),
            item(type="custom_tool_call", name="x", input=secret, call_id="d"),
            spoken("assistant", secret),
        ],
        [
            GEMINI,
            gemini("1", "user", secret),
            gemini(
                "2",
                "gemini",
                secret,
                model=secret,
                thoughts=[{"subject": secret, "description": secret}],
                toolCalls=[{"id": "c", "name": secret, "args": {secret: secret}, "result": secret, "status": "error"}],
            ),
        ],
    ]
    for number, records in enumerate(sessions):
        path = tmp_path / f"{number}.jsonl"
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        reading = read_traces(path, clean=lambda text: text.replace(secret, "[gone]"))
        whole = "\n".join(everything(trace) for trace in reading.traces) + "\n".join(reading.notes)
        assert secret not in whole
        assert "[gone]" in whole
