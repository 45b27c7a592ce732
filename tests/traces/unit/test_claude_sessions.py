"""Claude Code sessions: forks that are no rewinds, circles, lost lines, subagents, steering, commands."""

import json
from pathlib import Path
from typing import Any

import pytest

from traces.unit.claude_session import agent, boundary, call, other, read, reading, result, text, user, write
from traces.unit.counting import everything
from traces.unit.written import done, said
from upskill.traces.readers import read_traces
from upskill.traces.trace import Trace


def test_the_last_result_of_parallel_calls_is_kept_though_no_path_leads_to_it(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a1", "u", call("c1"), message="m"),
        agent("a2", "a1", call("c2"), message="m"),
        result("r2", "a2", "c2", "two", error=False),
        result("r1", "a1", "c1", "one", error=True),
    )
    assert [output for _, _, output, _ in done(trace)] == ["one", "two"]
    assert len(trace.steps) == 2
    assert trace.dropped_branches == 0


def test_work_that_hangs_below_a_late_result_is_kept(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a1", "u", call("c1"), message="m"),
        agent("a2", "a1", call("c2"), message="m"),
        result("r2", "a2", "c2", "two"),
        agent("b", "r2", text("Two is there.")),
        result("r1", "a1", "c1", "one"),
        agent("c", "r1", text("One is there.")),
    )
    assert said(trace, "agent") == ["Two is there.", "One is there."]


def test_a_rewind_to_the_very_first_prompt_drops_all_before(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u1", None, "Old."),
        agent("a1", "u1", text("Old answer.")),
        user("u2", None, "New."),
        agent("a2", "u2", text("New answer.")),
    )
    assert said(trace, "person") == ["New."]
    assert trace.dropped_branches == 1


def test_a_branch_that_was_rewound_takes_its_subagents_with_it(tmp_path: Path) -> None:
    write(tmp_path / "session" / "subagents" / "agent-1.jsonl", agent("s", None, text("REWOUND"), isSidechain=True))
    (tmp_path / "session" / "subagents" / "agent-1.meta.json").write_text('{"toolUseId": "c1"}', encoding="utf-8")
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a0", "u", text("Which way?")),
        user("u1", "a0", "Left."),
        agent("a1", "u1", call("c1", "Task", prompt="Look left.")),
        user("u2", "a0", "Right."),
        agent("a2", "u2", text("Done.")),
    )
    assert said(trace, "person") == ["Go.", "Right."]
    assert trace.subtraces == ()


@pytest.mark.parametrize(
    "metadata", [{}, {"preservedSegment": {"headUuid": "u", "tailUuid": "r1"}}, {"preservedMessages": ["r1"]}]
)
def test_a_compaction_that_names_a_record_below_itself_is_crossed_all_the_same(
    tmp_path: Path, metadata: dict[str, Any]
) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a1", "u", call("c1")),
        result("r1", "a1", "c1", "one"),
        boundary("b", "s", **metadata),
        user("s", "b", "This session is being continued from a previous conversation.", isCompactSummary=True),
        agent("a2", "s", text("Done.")),
    )
    assert said(trace, "person") == ["Go."]
    assert said(trace, "agent") == ["Done."]


def test_parents_in_a_circle_end_the_walk(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", "a2", "Go."),
        agent("a1", "u", text("One.")),
        agent("a2", "a1", text("Two.")),
        user("x", "x", "Me."),
    )
    assert "Me." in said(trace, "person")


def test_a_line_that_was_lost_does_not_cut_off_what_came_before_it(tmp_path: Path) -> None:
    found = reading(
        tmp_path,
        user("u", None, "Go."),
        agent("a1", "u", text("One.")),
        # "u2", the parent of the next, was on a line that broke.
        agent("a2", "u2", text("Two.")),
    )
    (trace,) = found.traces
    assert said(trace, "agent") == ["One.", "Two."]
    assert found.notes == (
        "session.jsonl:3: its predecessor is not in the file; read as a follow-up of the record above it",
    )


def test_a_replay_by_a_compaction_is_no_branch_that_was_left(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        {**agent("a1", "u", text("Same.")), "timestamp": "same"},
        {**agent("a1b", "u", text("Same.")), "timestamp": "same"},
        user("u2", "a1b", "On."),
    )
    assert said(trace, "agent") == ["Same."]
    assert trace.dropped_branches == 0


def test_records_of_no_known_type_are_links_of_the_chain(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        other("a-type-of-next-year", "n", "u"),
        other("progress", "p", "n", data={"type": "hook_progress"}),
        agent("a", "p", text("Done.")),
    )
    assert said(trace, "person") == ["Go."]


def test_a_hook_that_begins_a_resumed_session_does_not_hide_what_came_before(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a", "u", text("Done.")),
        other("progress", "p", None),
        user("u2", "p", "On."),
        agent("a2", "u2", text("Done again.")),
    )
    assert said(trace, "person") == ["Go.", "On."]


def test_the_noted_leaf_undoes_what_lies_below_it_but_not_what_was_said_later(tmp_path: Path) -> None:
    records = [
        user("u", None, "Go."),
        agent("a", "u", text("Done.")),
        user("u2", "a", "Undone."),
        agent("a2", "u2", text("Undone.")),
        {"type": "last-prompt", "leafUuid": "a3", "lastPrompt": "Go."},
    ]
    fork = agent("a3", "u", text("Other."))
    assert said(read(tmp_path, *records[:3], fork, *records[3:]), "agent") == ["Other."]
    later = user("u4", "a2", "Later.")
    assert said(read(tmp_path, *records[:3], fork, *records[3:], later), "person") == ["Go.", "Undone.", "Later."]


@pytest.mark.parametrize(
    ("content", "turn", "commands"),
    [
        ("<command-name>/clear</command-name>\n<command-args></command-args>", [], 1),
        (
            "<command-message>x</command-message>\n<command-name>/x</command-name>\n<command-args>do it</command-args>",
            ["do it"],
            0,
        ),
        ("<command-name>/model</command-name><command-args>opus</command-args>", [], 1),
        ("<local-command-stdout>Set model</local-command-stdout>", [], 0),
        ("<system-reminder>Be good.</system-reminder>", [], 0),
        ("<system-reminder>Be good.</system-reminder>\nReally do it.", ["Really do it."], 0),
        ("<bash-input>ls</bash-input>", [], 0),
        ("[Request interrupted by user for tool use]", [], 0),
        ([text("<ide_opened_file>a.py</ide_opened_file>"), text("Look at this.")], ["Look at this."], 0),
        ("   ", [], 0),
    ],
)
def test_what_the_program_wrote_under_the_persons_role_is_no_turn(
    tmp_path: Path, content: Any, turn: list[str], commands: int
) -> None:
    trace = read(tmp_path, user("u", None, "Go."), user("v", "u", content), agent("a", "v", text("Done.")))
    assert said(trace, "person") == ["Go.", *turn]
    assert trace.commands == commands


def test_an_interruption_is_told_as_the_programs_words(tmp_path: Path) -> None:
    trace = read(tmp_path, user("u", None, "Go."), user("v", "u", "[Request interrupted by user]"))
    assert said(trace, "harness") == ["[the person interrupted]"]


@pytest.mark.parametrize("newer", [True, False])
def test_steering_counts_once_in_old_and_new_sessions(tmp_path: Path, newer: bool) -> None:
    typed = {"type": "queued_command", "prompt": [text("Not that file.")]}
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a", "u", call("c")),
        {"type": "queue-operation", "operation": "enqueue", "content": "Not that file."},
        result("r", "a", "c", "ok"),
        *([other("attachment", "q", "r", attachment=typed)] if newer else []),
        {"type": "queue-operation", "operation": "remove", "content": "Not that file."},
        agent("b", "q" if newer else "r", text("Right.")),
    )
    assert said(trace, "person") == ["Go.", "Not that file."]


def test_steering_beside_the_path_is_kept(tmp_path: Path) -> None:
    typed = {"type": "queued_command", "prompt": "Not that file."}
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a1", "u", call("c1"), message="m"),
        agent("a2", "a1", call("c2"), message="m"),
        result("r1", "a1", "c1", "one"),
        other("attachment", "q", "r1", attachment=typed),
        result("r2", "a2", "c2", "two"),
        agent("b", "r2", text("Done.")),
    )
    assert said(trace, "person") == ["Go.", "Not that file."]


def test_the_answer_of_an_agent_in_the_background_takes_the_place_of_the_note_that_it_began(tmp_path: Path) -> None:
    about = "<task-id>b1</task-id>\n<status>failed</status>\n<result>no device</result>"
    note = f"<task-notification>\n{about}\n</task-notification>"
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a", "u", call("c", "Task", prompt="Measure.")),
        result("r", "a", "c", "Async agent launched successfully.", toolUseResult={"agentId": "b1"}),
        user("n", "r", note),
        agent("b", "n", text("It failed.")),
    )
    assert [(output, failed) for _, _, output, failed in done(trace)] == [("no device", True)]
    assert said(trace, "person") == ["Go."]


def test_what_no_model_said_is_left_out(tmp_path: Path) -> None:
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a", "u", text("API Error"), isApiErrorMessage=True),
        {
            **agent("b", "a", text("No response.")),
            "message": {"model": "<synthetic>", "content": [text("No response.")]},
        },
        agent("c", "b", text("Done.")),
    )
    assert said(trace, "agent") == ["Done."]


def test_a_chain_of_subagents_hangs_in_a_chain(tmp_path: Path) -> None:
    depth = 79
    folder = tmp_path / "session" / "subagents"
    for level in range(1, depth + 1):
        records = [
            user(f"u{level}", None, f"Level {level}.", isSidechain=True, agentId=f"a{level}"),
            agent(
                f"a{level}",
                f"u{level}",
                call(f"c{level + 1}", "Task", prompt="x"),
                isSidechain=True,
                agentId=f"a{level}",
            ),
        ]
        write(folder / f"agent-a{level}.jsonl", *records)
        (folder / f"agent-a{level}.meta.json").write_text(json.dumps({"toolUseId": f"c{level}"}), encoding="utf-8")
    trace = read(tmp_path, user("u", None, "Go."), agent("a", "u", call("c1", "Task", prompt="Level 1.")))
    found = 0
    at: Trace | None = trace
    while at is not None:
        at = at.subtraces[0].trace if at.subtraces else None
        found += 1
    assert found == depth + 1
    assert "Level 5." not in everything(trace), "what a subagent is asked is in the call that began it"


def test_subagents_that_began_each_other_hang_at_the_top(tmp_path: Path) -> None:
    folder = tmp_path / "session" / "subagents"
    for name, began in (("x", "y"), ("y", "x")):
        write(folder / f"agent-{name}.jsonl", agent("a", None, call(f"c{name}", "Task"), isSidechain=True))
        (folder / f"agent-{name}.meta.json").write_text(json.dumps({"toolUseId": f"c{began}"}), encoding="utf-8")
    trace = read(tmp_path, user("u", None, "Go."), agent("a", "u", text("Done.")))
    assert len(trace.subtraces) == 2


def test_an_agent_id_that_is_a_path_leads_nowhere(tmp_path: Path) -> None:
    write(tmp_path / "agent-x.jsonl", agent("s", None, text("ELSEWHERE"), isSidechain=True))
    trace = read(
        tmp_path / "project",
        user("u", None, "Go."),
        agent("a", "u", call("c", "Task", prompt="Look.")),
        result("r", "a", "c", "ok", toolUseResult={"agentId": "/../../agent-x"}),
    )
    assert trace.subtraces == ()


def test_the_file_of_a_subagent_can_be_read_by_itself(tmp_path: Path) -> None:
    path = write(
        tmp_path / "agent-1.jsonl",
        user("u", None, "Look it up.", isSidechain=True, agentId="1"),
        agent("a", "u", text("Found."), isSidechain=True, agentId="1"),
    )
    (trace,) = read_traces(path).traces
    assert said(trace, "harness") == ["Look it up."], "it was asked by an agent, not by a person"
    assert said(trace, "agent") == ["Found."]


def test_an_unreadable_file_of_a_subagent_is_noted_and_the_session_is_read(tmp_path: Path) -> None:
    (tmp_path / "session" / "subagents").mkdir(parents=True)
    (tmp_path / "session" / "subagents" / "agent-1.jsonl").write_bytes(b"\xff\xfe{\x00")
    found = reading(tmp_path, user("u", None, "Go."), agent("a", "u", text("Done.")))
    assert len(found.traces[0].steps) == 2
    assert "agent-1.jsonl was skipped" in found.notes[0]


def test_reasoning_that_a_gateway_hides_is_read(tmp_path: Path) -> None:
    hidden = {"type": "redacted_thinking", "data": "openrouter.reasoning:eyJ0ZXh0IjogIk1heCBmaXJzdC4ifQ=="}
    sealed = {"type": "redacted_thinking", "data": "EncryptedStuff"}
    trace = read(tmp_path, user("u", None, "Go."), agent("a", "u", hidden, sealed, text("Done.")))
    assert trace.steps[1].reasoning == "Max first."


def test_one_parent_with_very_many_children_takes_no_longer(tmp_path: Path) -> None:
    many = [agent(f"a{number}", "u", text("x")) for number in range(20_000)]
    trace = read(tmp_path, user("u", None, "Go."), *many)
    assert trace.dropped_branches == len(many) - 1


def test_files_that_were_only_read_are_kept_short_and_failures_at_length(tmp_path: Path) -> None:
    long = "word " * 2_000
    trace = read(
        tmp_path,
        user("u", None, "Go."),
        agent("a", "u", call("c1", "Read", file_path="a.py")),
        result("r", "a", "c1", long),
        agent("b", "r", call("c2", "Read", file_path="b.py")),
        result("s", "b", "c2", long, error=True),
    )
    read_whole, failed = (output or "" for _, _, output, _ in done(trace))
    assert len(read_whole) < 500 < 5_000 < len(failed)


def test_one_message_with_very_many_calls_takes_no_longer(tmp_path: Path) -> None:
    count = 20_000
    calls = [call(f"c{number}") for number in range(count)]
    results = [{"type": "tool_result", "tool_use_id": f"c{number}", "content": "ok"} for number in range(count)]
    trace = read(tmp_path, user("u", None, "Go."), agent("a", "u", *calls), user("r", "a", results))
    assert len(trace.steps[1].observations) == count
