"""What other agents keep of their work: SWE-agent, mini-swe-agent, OpenHands, Cline, aider, ATIF."""

from pathlib import Path
from typing import Any

import pytest

from unit.traces.written import done, read_document, read_text, said
from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces import read_traces

TASK = "Make the tests pass."


def agent_step(number: int, **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "agent", "message": "", **more}


def test_a_step_copied_from_another_context_is_not_read_twice_and_a_continuation_is_named(tmp_path: Path) -> None:
    path = tmp_path / "trajectory.json"
    path.write_text(
        '{"schema_version": "ATIF-v1.8", "continued_trajectory_ref": "more.json", "steps": ['
        '{"source": "user", "message": "COPIED", "is_copied_context": true},'
        '{"source": "user", "message": "Go on."}]}'
    )
    reading = read_traces(path)
    assert said(reading.traces[0], "person") == ["Go on."]
    assert reading.notes == ("trajectory.json: the session continues in another file, which was not read",)


def test_subagents_hang_under_their_calls_and_their_prompt_is_no_turn(tmp_path: Path) -> None:
    below = {
        "trajectory_id": "inner",
        "steps": [
            {"source": "user", "message": "The prompt of the call."},
            {"source": "agent", "message": "Found."},
            {"source": "user", "message": "A person steps in."},
        ],
    }
    began = {"tool_call_id": "c", "function_name": "Task", "arguments": {"prompt": "Look."}}
    result = {"source_call_id": "c", "content": "Found.", "subagent_trajectory_ref": [{"trajectory_id": "inner"}]}
    (trace,) = read_document(
        tmp_path,
        {
            "schema_version": "ATIF-v1.7",
            "steps": [
                {"source": "user", "message": TASK},
                agent_step(2, tool_calls=[began], observation={"results": [result]}),
            ],
            "subagent_trajectories": [below, {"trajectory_id": "nobody's", "steps": below["steps"]}],
        },
    )
    assert [part.call_id for part in trace.subtraces] == ["c", None]
    assert said(trace.subtraces[0].trace, "person") == ["A person steps in."]


def test_subagents_below_subagents_end_at_a_depth(tmp_path: Path) -> None:
    trajectory: dict[str, Any] = {"steps": [agent_step(1, message="deepest")]}
    for _ in range(150):
        trajectory = {"steps": [agent_step(1, message="above")], "subagent_trajectories": [trajectory]}
    (trace,) = read_document(tmp_path, {"schema_version": "ATIF-v1.8", **trajectory})
    depth = 0
    while trace.subtraces:
        (part,) = trace.subtraces
        trace, depth = part.trace, depth + 1
    assert depth == 100


def test_a_demonstration_is_no_turn_and_the_task_may_be_in_the_history_only(tmp_path: Path) -> None:
    history = [
        {"role": "system", "content": "S"},
        {"role": "user", "content": "DEMONSTRATION", "is_demo": True},
        {"role": "user", "content": TASK},
        {"role": "assistant", "content": "I list."},
        {"role": "user", "content": "OBSERVED"},
    ]
    steps = [
        {"action": "ls", "observation": "a", "thought": "I list."},
        {"action": "", "observation": "no command", "thought": "Hm."},
        {"action": "exit_cost", "observation": "", "thought": "", "response": "Out of money."},
    ]
    (trace,) = read_document(tmp_path, {"trajectory": steps, "history": history, "info": {}})
    assert said(trace, "person") == [TASK]
    assert done(trace) == [("bash", "ls", "a", None)]
    assert said(trace, "agent") == ["I list.", "Hm.", "Out of money."]


def test_commands_in_fences_are_calls_and_a_complaint_of_the_program_is_no_turn(tmp_path: Path) -> None:
    (trace,) = read_document(
        tmp_path,
        {
            "trajectory_format": "mini-swe-agent-1",
            "messages": [
                {"role": "user", "content": TASK},
                {"role": "assistant", "content": "No command."},
                {"role": "user", "content": "Please give one action."},
                {"role": "assistant", "content": "I try.\n```bash\nls\n```\nThen more."},
                {"role": "user", "content": "<returncode>0</returncode>\n<output>\na\n</output>"},
                {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": "c", "content": "x", "extra": {"returncode": 7}},
                {"role": "exit", "content": "AFTER THE END"},
            ],
        },
    )
    assert said(trace, "person") == [TASK]
    assert said(trace, "agent") == ["No command.", "I try.\n\nThen more."]
    assert done(trace) == [("bash", "ls", "a", False), ("bash", "{}", "x", True)]
    assert [output.exit_code for step in trace.steps for output in step.observations] == [0, 7]


def openhands(*events: dict[str, Any], folder: Path) -> Trace:
    first = {"id": 0, "source": "user", "action": "message", "args": {"content": TASK}}
    (trace,) = read_document(folder, [first, *events])
    return trace


def action(number: int, command: str, *, response: str = "r") -> dict[str, Any]:
    made = {"function_name": "execute_bash", "tool_call_id": f"c{number}", "model_response": {"id": response}}
    arguments = {"command": command, "thought": "", "blocking": False}
    return {"id": number, "source": "agent", "action": "run", "args": arguments, "tool_call_metadata": made}


def outcome(cause: int, code: int, content: str) -> dict[str, Any]:
    metadata = {"metadata": {"exit_code": code, "working_dir": "/project"}}
    return {"source": "agent", "observation": "run", "cause": cause, "content": content, "extras": metadata}


def test_calls_of_one_answer_are_one_message_and_an_event_written_twice_is_one(tmp_path: Path) -> None:
    trace = openhands(
        action(1, "ls"), action(2, "make"), action(2, "make"), outcome(1, 0, "a"), outcome(2, 2, "bad"), folder=tmp_path
    )
    assert [len(step.calls) for step in trace.steps] == [0, 2]
    assert done(trace) == [("execute_bash", "ls", "a", False), ("execute_bash", "make", "bad", True)]
    assert trace.folder == "/project"


def test_a_command_that_still_runs_has_neither_failed_nor_passed(tmp_path: Path) -> None:
    trace = openhands(action(1, "sleep 999"), outcome(1, -1, "no output yet"), folder=tmp_path)
    assert done(trace) == [("execute_bash", "sleep 999", "no output yet", None)]
    assert trace.steps[-1].observations[0].exit_code is None


def test_an_error_event_marks_its_call_and_thoughts_are_reasoning(tmp_path: Path) -> None:
    error = {"source": "agent", "observation": "error", "cause": 1, "content": "refused"}
    thought = {"id": 3, "source": "agent", "action": "think", "args": {"thought": "Then otherwise."}}
    recalled = {"id": 4, "source": "user", "action": "recall", "args": {"query": "RECALLED"}}
    trace = openhands(action(1, "ls"), error, thought, recalled, folder=tmp_path)
    assert done(trace) == [("execute_bash", "ls", "refused", True)]
    assert trace.steps[-1].reasoning == "Then otherwise."
    assert "RECALLED" not in repr(trace)


def test_feedback_and_answers_in_cline_are_the_persons_turns(tmp_path: Path) -> None:
    def text(role: str, *parts: str) -> dict[str, Any]:
        return {"role": role, "content": [{"type": "text", "text": part} for part in parts]}

    said_so = "The user provided the following feedback:\n<feedback>Not so.</feedback>"
    command = "<execute_command><command>make\nmake test</command></execute_command>"
    (trace,) = read_document(
        tmp_path,
        [
            text("user", f"<task>{TASK}</task>"),
            text("assistant", f"I build.\n{command}"),
            text("user", "[execute_command for 'make\nmake test'] Result:", "done", said_so),
            text("assistant", "<ask_followup_question><question>How?</question></ask_followup_question>"),
            text("user", "[ask_followup_question for 'How?'] Result:", "<answer>Like this.</answer>"),
            text("user", "[ERROR] You did not use a tool."),
        ],
        name="api_conversation_history.json",
    )
    assert said(trace, "person") == [TASK, "Not so.", "Like this."]
    assert said(trace, "agent") == ["I build.", "How?"]
    ((name, arguments, output, failed),) = done(trace)
    assert (name, arguments, failed) == ("execute_command", "make\nmake test", None)
    assert output is not None
    assert output.startswith("done")
    assert said(trace, "harness") == ["[ERROR] You did not use a tool."]


def test_tags_in_an_output_are_not_the_persons_words_but_announced_feedback_is(tmp_path: Path) -> None:
    def result(call_id: str, content: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": call_id, "content": content}

    used = [{"type": "tool_use", "id": name, "name": "read_file", "input": {"path": "a.xml"}} for name in ("a", "b")]
    denied = (
        "The user denied this operation and provided the following feedback:\n<feedback>\nAsk me first.\n</feedback>"
    )
    (trace,) = read_document(
        tmp_path,
        {
            "sessionId": "s",
            "messages": [
                {"role": "user", "content": TASK},
                {"role": "assistant", "content": used},
                {"role": "user", "content": [result("a", "<task>IN A FILE</task>"), result("b", denied)]},
                {"role": "assistant", "content": "<read_file><path>b.xml</path></read_file>"},
                {"role": "user", "content": "[read_file for 'b.xml'] Result:\n<answer>IN A FILE</answer>"},
            ],
        },
    )
    assert said(trace, "person") == [TASK, "Ask me first."]
    assert [name for name, *_ in done(trace)] == ["read_file"] * 3


def test_what_cline_showed_points_to_what_was_said(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as refusal:
        read_document(tmp_path, [{"ts": 1, "type": "say", "say": "task", "text": TASK}], name="ui_messages.json")
    assert "api_conversation_history.json" in str(refusal.value.hint)


def test_headings_and_quotations_of_a_model_are_not_turns_in_aider(tmp_path: Path) -> None:
    (trace,) = read_text(
        tmp_path,
        "# aider chat started at 2026-09-01 10:00:00\n\n"
        "> Main model: sonnet with diff edit format  \n\n"
        "#### /add a.py  \n#### /ask why is it slow?  \n\n"
        "#### A heading\n> a quotation\n\nBecause.\n",
    )
    assert said(trace, "person") == []
    (trace,) = read_text(
        tmp_path,
        "# aider chat started at 2026-09-01 10:00:00\n\n"
        "> Main model: sonnet with diff edit format  \n\n"
        "#### /add a.py  \n\n"
        "#### /ask why is it slow?  \n\n"
        "#### A heading\n> a quotation\n\nBecause.\n",
    )
    assert said(trace, "person") == ["why is it slow?"]
    assert said(trace, "agent") == ["#### A heading\n> a quotation\n\nBecause."]
    assert (trace.commands, trace.model) == (1, "sonnet")


def test_a_history_whose_spaces_were_stripped_is_still_read(tmp_path: Path) -> None:
    (trace,) = read_text(tmp_path, "# aider chat started at 1\n\n#### Go on.\n\nDone.\n> Tokens: 1\n")
    assert (said(trace, "person"), said(trace, "agent")) == (["Go on."], ["Done."])
