"""Answers as models write them: which hold tool calls, which are answered with what is wrong, which are final."""

import json
import time
from typing import Any

import pytest

from upskill.core.models.text_calls import MOST_CHARACTERS, looks_like_a_call, text_calls

SCHEMAS: dict[str, dict[str, Any]] = {
    "write_file": {
        "type": "object",
        "properties": {"path": {"type": "string"}, "content": {"type": "string"}},
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    "bash": {
        "type": "object",
        "properties": {"command": {"type": "string"}, "seconds": {"type": "integer"}},
        "required": ["command"],
        "additionalProperties": False,
    },
    "finish": {"type": "object", "properties": {}, "additionalProperties": False},
}
LS = ("bash", {"command": "ls"})
PWD = ("bash", {"command": "pwd"})
CALL = '{"name": "bash", "arguments": {"command": "ls"}}'
SECOND = '{"name": "bash", "arguments": {"command": "pwd"}}'
WRITE = '{"name": "write_file", "arguments": {"path": "tarn.conf", "content": "#tarn 3\\nberth: 8003"}}'
WRITTEN = ("write_file", {"path": "tarn.conf", "content": "#tarn 3\nberth: 8003"})
README = '{"name": "write_file", "arguments": {"path": "a.md", "content": "```sh\\nls\\n```\\n"}}'
README_WRITTEN = ("write_file", {"path": "a.md", "content": "```sh\nls\n```\n"})

READ: dict[str, tuple[str, list[tuple[str, dict[str, str]]]]] = {
    "a fence with a label": (f"```json\n{WRITE}\n```", [WRITTEN]),
    "a fence without a label": (f"```\n{CALL}\n```", [LS]),
    "a fence with another label": (f"```tool_call\n{CALL}\n```", [LS]),
    "a fence on one line": (f"```{CALL}```", [LS]),
    "a fence on one line with a label": (f"```json {CALL} ```", [LS]),
    "a fence that is not closed": (f"```json\n{CALL}", [LS]),
    "a fence after prose": (f"I will list the files.\n\n```json\n{CALL}\n```", [LS]),
    "a fence after code in another": (f"Like this:\n```sh\nls\n```\nSo:\n```json\n{CALL}\n```", [LS]),
    "a fence with white space after it": (f"```json\n{CALL}\n```\n\n  ", [LS]),
    "tags": (f"<tool_call>\n{CALL}\n</tool_call>", [LS]),
    "tags on one line": (f"<tool_call>{CALL}</tool_call>", [LS]),
    "tags after prose": (f"Let me look.\n<tool_call>{CALL}</tool_call>", [LS]),
    "a tag that is not closed": (f"<tool_call>\n{CALL}", [LS]),
    "the tag of the list of tools": (f"<tools>\n{CALL}\n</tools>", [LS]),
    "tags of another template": (f"<function_call>{CALL}</function_call>", [LS]),
    "tags with bars": (f"<|tool_call|>{CALL}<|/tool_call|>", [LS]),
    "a fence in tags": (f"<tool_call>\n```json\n{CALL}\n```\n</tool_call>", [LS]),
    "tags in a fence": (f"```xml\n<tool_call>\n{CALL}\n</tool_call>\n```", [LS]),
    "a mark and a list": (f"[TOOL_CALLS][{CALL}]", [LS]),
    "a mark of a token": (f"<|python_tag|>{CALL}<|eom_id|>", [LS]),
    "the whole answer": (CALL, [LS]),
    "the whole answer as a list": (f"[{CALL}, {SECOND}]", [LS, PWD]),
    "the whole answer with white space": (f"\n  {CALL}\n", [LS]),
    "two fences": (f"```json\n{CALL}\n```\n\n```json\n{SECOND}\n```", [LS, PWD]),
    "two tags": (f"<tool_call>{CALL}</tool_call>\n<tool_call>{SECOND}</tool_call>", [LS, PWD]),
    "two in one fence": (f"```json\n{CALL}\n{SECOND}\n```", [LS, PWD]),
    "two with a comma": (f"```json\n{CALL},\n{SECOND}\n```", [LS, PWD]),
    "two in a list": (f"```json\n[{CALL}, {SECOND}]\n```", [LS, PWD]),
    "two on two lines": (f"{CALL}\n{SECOND}", [LS, PWD]),
    "parameters": ('```json\n{"name": "bash", "parameters": {"command": "ls"}}\n```', [LS]),
    "a function in an object": (f'```json\n{{"type": "function", "function": {CALL}}}\n```', [LS]),
    "a function as a name": ('<tool_call>{"function": "bash", "arguments": {"command": "ls"}}</tool_call>', [LS]),
    "a tool and its input": ('```json\n{"tool": "bash", "tool_input": {"command": "ls"}}\n```', [LS]),
    "arguments as a string": ('```json\n{"name": "bash", "arguments": "{\\"command\\": \\"ls\\"}"}\n```', [LS]),
    "more keys": ('```json\n{"type": "function", "name": "bash", "arguments": {"command": "ls"}}\n```', [LS]),
    "a line break in a string": (WRITE.replace("\\n", "\n"), [WRITTEN]),
    "a fence in a string": (f"```json\n{README}\n```", [README_WRITTEN]),
    "a tag in a string": (f"<tool_call>{CALL.replace('ls', 'echo </tool_call>')}</tool_call>",
                          [("bash", {"command": "echo </tool_call>"})]),
    "a tool that takes nothing": ('```json\n{"name": "finish"}\n```', [("finish", {})]),
    "a tool with empty arguments": ('```json\n{"name": "finish", "arguments": {}}\n```', [("finish", {})]),
}  # fmt: skip

WRONG = {
    "a brace too few": (f"```json\n{CALL[:-1]}\n```", "not valid JSON"),
    "cut off": (WRITE[:60], "not valid JSON"),
    "single quotes": (
        '```json\n{\'name\': "bash", "name": "bash", \'arguments\': {}, "arguments": {}}\n```',
        "not valid JSON",
    ),
    "a comment": ('```json\n{"name": "bash", "arguments": {"command": "ls" /* all */}}\n```', "not valid JSON"),
    "an unknown tool": (
        '```json\n{"name": "read", "arguments": {"path": "a"}}\n```',
        "there is no tool read; there are",
    ),
    "a missing argument": (
        '```json\n{"name": "write_file", "arguments": {"path": "a"}}\n```',
        "'content' is a required",
    ),
    "a wrong type": (
        '```json\n{"name": "bash", "arguments": {"command": ["ls"]}}\n```',
        "command: ['ls'] is not of type",
    ),
    "a number as text": (
        '```json\n{"name": "bash", "arguments": {"command": "ls", "seconds": "5"}}\n```',
        "seconds: '5' is not of type",
    ),
    "an argument too many": ('```json\n{"name": "finish", "arguments": {"why": "done"}}\n```', "'why' was unexpected"),
    "arguments in a list": ('```json\n{"name": "bash", "arguments": ["ls"]}\n```', "no object"),
    "arguments as plain text": ('```json\n{"name": "bash", "arguments": "ls"}\n```', "no object"),
    "prose after it": (f"```json\n{CALL}\n```\nThis lists the files.", "nothing may follow a call"),
    "an imagined result": (f"```json\n{CALL}\n```\nOutput:\n```\na.txt\n```", "nothing may follow a call"),
    "prose between two": (f"```json\n{CALL}\n```\nThen:\n```json\n{SECOND}\n```", "no text between"),
    "an imagined result between two": (
        f"<tool_call>{CALL}</tool_call>\n<tool_response>a.txt</tool_response>\n<tool_call>{SECOND}</tool_call>",
        "no text between",
    ),
    "the same call for ever": (f"{CALL}\n" * 40, "40 calls"),
}

FINAL = {
    "prose": "The file is written.",
    "nothing": "",
    "code": "```sh\nls\n```",
    "JSON that is no call": '```json\n{"name": "north", "berth": 8003}\n```',
    "a list that is no call": "```json\n[1, 2]\n```",
    "a mark of a list in prose": "[1] says so.",
    "a call in a sentence": f"I would call {CALL} here.",
    "a call between single backticks": f"`{CALL}`",
    "the schema of a tool": json.dumps({"name": "bash", "description": "Runs", "inputSchema": {"type": "object"}}),
    "a package": '```json\n{"name": "bash", "version": "5.2", "dependencies": {}}\n```',
}


@pytest.mark.parametrize("name", READ)
def test_calls_at_the_end_of_an_answer_are_read(name: str) -> None:
    text, expected = READ[name]
    before, calls = text_calls(text, SCHEMAS)
    assert [(call.name, call.arguments, call.error) for call in calls] == [(*one, None) for one in expected]
    assert "arguments" not in before


@pytest.mark.parametrize("name", WRONG)
def test_what_is_meant_as_a_call_and_cannot_be_carried_out_is_answered(name: str) -> None:
    text, why = WRONG[name]
    _, [call] = text_calls(text, SCHEMAS)
    assert call.error is not None
    assert why in call.error
    assert looks_like_a_call(text)


@pytest.mark.parametrize("name", FINAL)
def test_other_answers_are_final(name: str) -> None:
    assert text_calls(FINAL[name], SCHEMAS) == (FINAL[name], ())


@pytest.mark.parametrize("before", ["Let me look.", "Like this:\n```sh\nls\n```\nSo:"])
def test_prose_before_a_call_stays_as_it_is(before: str) -> None:
    assert text_calls(f"{before}\n\n<tool_call>\n```json\n{CALL}\n```\n</tool_call>", SCHEMAS)[0] == before


@pytest.mark.parametrize(
    "piece", ["```{", "```[", '"name":"', '<tool_call>{"name": "bash", "arguments"', "``` ", '{"name":"bash"}', "["]
)
def test_a_hostile_answer_takes_no_time_and_breaks_nothing(piece: str) -> None:
    for most in (MOST_CHARACTERS, 2_000_000):
        text = piece * (most // len(piece))
        began = time.process_time()
        text_calls(text, SCHEMAS)
        looks_like_a_call(text)
        assert time.process_time() - began < 2


def test_arguments_that_are_nested_too_deeply_are_answered() -> None:
    deep = json.dumps({"name": "bash", "arguments": "[" * 50_000})
    _, [call] = text_calls(f"```json\n{deep}\n```", SCHEMAS)
    assert call.error == "its arguments are no object"
