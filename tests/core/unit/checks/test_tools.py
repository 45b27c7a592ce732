"""`tools`, `turns` and `tokens`: what a model used on the way to its answer."""

import pytest

from upskill.core.checks import KINDS, NotRecorded
from upskill.core.nouns.answer import ToolCall
from upskill.core.nouns.case import Json

from .run_check import read, run_check, shell

WRITE = ToolCall(turn=2, tool="Write", kind="write_file", arguments="a.txt")
CALLS = (read("notes.txt", tool="Read"), WRITE, shell("make", turn=3, tool="Bash"))


@pytest.mark.parametrize(
    ("spec", "passed", "saw"),
    [
        ("shell", True, "Read once, Write once, Bash once"),
        (["read_file", "Bash"], True, ""),
        ("web", False, "`web` was not used"),
        ({"forbidden": "web"}, True, ""),
        ({"forbidden": "bash"}, False, "`bash` was used: Bash in turn 3"),
        ({"forbidden": "Shell"}, False, "`Shell` was used: Bash in turn 3"),
        ({"forbidden": ["web", "write_file"]}, False, "`write_file` was used: Write in turn 2: 'a.txt'"),
        ({"order": ["read_file", "shell"]}, True, ""),
        ({"order": ["shell", "read_file"]}, False, "`read_file` was not used after `shell`"),
        ({"order": ["shell", "shell"]}, False, "`shell` was not used after `shell`"),
        ({"at_most": 3}, True, ""),
        ({"at_most": 2}, False, "3 tool calls; at most 2"),
        ({"at_most": {"shell": 1, "Read": 0}}, False, "`Read` was called once; at most 0 times"),
    ],
)
def test_tools_are_named_by_their_kind_or_as_the_agent_names_them(spec: Json, passed: bool, saw: str) -> None:
    assert KINDS["tools"].problems(spec) == []
    seen = run_check("tools", spec, calls=CALLS)
    assert (seen.passed, saw in seen.saw) == (passed, True), seen


def test_a_call_that_failed_is_no_use_and_is_still_forbidden() -> None:
    forged = ToolCall(turn=1, tool="pytest", arguments="{}", failed=True)
    assert not run_check("tools", "pytest", calls=[forged]).passed
    assert not run_check("tools", {"forbidden": "pytest"}, calls=[forged]).passed
    assert not run_check("tools", {"at_most": 0}, calls=[forged]).passed


@pytest.mark.parametrize(
    "call", [shell("make; cat a.txt", turn=4, subagent=True), read("a.txt", turn=4, subagent=True)]
)
def test_a_subagent_is_no_way_around_what_is_forbidden_and_shows_nothing(call: ToolCall) -> None:
    assert call.kind is not None
    seen = run_check("tools", {"forbidden": call.kind}, calls=[call])
    assert (seen.passed, f"{call.tool} in turn 4 by a subagent" in seen.saw) == (False, True)
    assert not run_check("files_read", {"not_read": "a.txt"}, calls=[call]).passed
    # Any program can ask the model for such calls, and nobody carries them out.
    assert not run_check("tools", call.kind, calls=[call]).passed
    assert not run_check("files_read", "a.txt", calls=[call]).passed
    assert not run_check("commands", "make", calls=[call]).passed
    if call.kind == "shell":
        assert not run_check("commands", {"not_ran": "make"}, calls=[call]).passed


def test_calls_that_were_not_kept_hide_nothing() -> None:
    assert not run_check("tools", {"forbidden": "web"}, calls=CALLS, left_out=9).passed
    assert not run_check("tools", {"at_most": 11}, calls=CALLS, left_out=9).passed
    assert run_check("tools", "shell", calls=CALLS, left_out=9).passed


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        ({}, "checks nothing"),
        ({"used": []}, "empty list"),
        ({"use": "shell"}, "did you mean `used`"),
        ({"forbidden": "read_files"}, "did you mean `read_file`"),
        ({"at_most": "3"}, "must be a whole number"),
        ({"at_most": -1}, "must not be negative"),
        ({"at_most": {}}, "checks nothing"),
    ],
)
def test_what_is_wrong_with_a_spec_is_said(spec: Json, problem: str) -> None:
    assert problem in "; ".join(KINDS["tools"].problems(spec))


@pytest.mark.parametrize("kind", ["turns", "tokens"])
def test_a_limit_is_the_most_that_passes(kind: str) -> None:
    assert [run_check(kind, 5, turns=used, tokens=used).passed for used in (4, 5, 6)] == [True, True, False]
    assert run_check(kind, 5, turns=6, tokens=6).saw == f"6 {kind}; at most 5"
    assert [bool(KINDS[kind].problems(spec)) for spec in (1, 0, True, 2.0, "5", None)] == [False, *[True] * 5]


@pytest.mark.parametrize(
    ("kind", "spec"), [("tools", "shell"), ("commands", "ls"), ("files_read", "a"), ("turns", 1), ("tokens", 1)]
)
def test_what_was_not_recorded_is_never_a_failed_answer(kind: str, spec: Json) -> None:
    with pytest.raises(NotRecorded):
        run_check(kind, spec, calls=None, turns=None, tokens=None)
