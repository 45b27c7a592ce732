"""Cline and Roo: Anthropic's messages, in old versions with the tools as XML in the text."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from upskill.domain.trace import Trace
from upskill.errors import UsageError
from upskill.traces.chat_messages import add_outputs, call_blocks, is_message, reasoning_of, visible
from upskill.traces.conversation import Conversation, ToolUse, split_tags
from upskill.traces.fields import at, items, mapping, objects, string
from upskill.traces.recording import Reader, Record, Recording

RECORDER = "cline"
HISTORY = "api_conversation_history.json"
SPEAKING = ("attempt_completion", "plan_mode_respond", "ask_followup_question")
"""Tools that speak to the person: what they say is a message, and no call."""
USED = (
    "attempt_completion|plan_mode_respond|ask_followup_question|execute_command|read_file|write_to_file|replace_in_file"
    "|apply_diff|insert_content|search_and_replace|search_files|list_files|list_code_definition_names|codebase_search"
    "|browser_action|use_mcp_tool|access_mcp_resource|fetch_instructions|web_fetch|update_todo_list|switch_mode|new_task"
)
PARAMETER = r"\w{1,40}"
TYPED = "task|feedback|answer|user_message"
"""Around what a person wrote."""
FEEDBACK = "the following feedback:"
RESULT = re.compile(r"\s*\[(\w{1,60})\b")
RESULT_END = "] Result:"
LONGEST_HEAD = 20_000


def read(recording: Recording) -> Iterator[Trace]:
    """A list of messages, as the editor keeps it, or a session of the command line with its messages."""
    document = recording.document()
    messages = items(document) or items(mapping(document).get("messages"))
    conversation = Conversation(recording)
    for message in objects(messages):
        conversation.add_details(model=string(at(message, "modelInfo", "id")))
        if message.get("role") == "user":
            _add_user(conversation, message)
        elif message.get("role") == "assistant":
            _add_agent(conversation, message)
    yield conversation.trace(RECORDER)


def _add_user(conversation: Conversation, message: dict[str, Any]) -> None:
    content = message.get("content")
    add_outputs(conversation, content)
    text = split_tags(visible(content), "environment_details", open_end=True).rest
    name, output = _result(text)
    if name:
        if name not in SPEAKING:
            conversation.output(output, name=name)
        conversation.person(_pieces(output, TYPED) if name in SPEAKING else _feedback(output))
    elif typed := _pieces(text, TYPED):
        conversation.person(typed)
    elif not conversation.has_person or isinstance(content, str):
        conversation.person(text)
    else:
        conversation.harness(text)
    for block in objects(content):
        if block.get("type") == "tool_result":
            conversation.person(_feedback(visible(block.get("content"))))


def _pieces(text: str, names: str) -> str:
    return "\n".join(piece.strip() for _, piece in split_tags(text, names).pieces)


def _feedback(output: str) -> str:
    """What a person said to a call. Only where Cline announces it: an output may hold any tags."""
    _, announced, rest = output.partition(FEEDBACK)
    return _pieces(rest, "feedback") if announced else ""


def _result(text: str) -> tuple[str, str]:
    """The tool and its output, of a text such as `[execute_command for 'make'] Result:` and what follows."""
    begun = RESULT.match(text)
    end = text.find(RESULT_END, begun.end(), begun.end() + LONGEST_HEAD) if begun else -1
    if begun is None or end < 0:
        return "", ""
    return begun.group(1), text[end + len(RESULT_END) :].strip()


def _add_agent(conversation: Conversation, message: dict[str, Any]) -> None:
    content = message.get("content")
    thoughts = split_tags(visible(content), "thinking")
    used = split_tags(thoughts.rest, USED)
    calls = [*(_tool_use(name, inside) for name, inside in used.pieces), *call_blocks(content)]
    messages = [used.rest.strip(), *(_first_value(call) for call in calls if call.name in SPEAKING)]
    reasoning = [reasoning_of(message), *(thought for _, thought in thoughts.pieces)]
    conversation.agent(
        "\n".join(filter(None, messages)),
        reasoning="\n".join(filter(None, reasoning)),
        calls=[call for call in calls if call.name not in SPEAKING],
    )
    for call in calls:
        if call.id and call.name in SPEAKING:
            conversation.no_call(call.id)


def _tool_use(name: str, inside: str) -> ToolUse:
    given = {key: value.strip() for key, value in split_tags(inside, PARAMETER).pieces}
    return ToolUse(name=name, arguments=given or inside.strip())


def _first_value(call: ToolUse) -> str:
    """What a speaking tool says: `result`, `response` or `question`, always the first of its parameters."""
    values = map(string, mapping(call.arguments).values())
    return next(filter(None, values), string(call.arguments))


def _is_history(parts: Sequence[Record], path: Path) -> bool:
    """Its messages are those of any chat: the name of the file tells them apart."""
    if any(map(is_message, parts)):
        return path.name == HISTORY
    if any(string(part.get("type")) in ("say", "ask") and "ts" in part for part in parts):
        raise UsageError(
            f"{path}: is what Cline displayed, not the conversation", hint=f"name `{HISTORY}` in the same folder"
        )
    return False


READER = Reader(
    name=RECORDER,
    title="Cline",
    read=read,
    in_document=lambda top: "sessionId" in top and isinstance(top.get("messages"), list),
    in_list=_is_history,
)
