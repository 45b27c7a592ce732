"""A model on loopback that follows a script, in the three dialects that coding agents speak.

The turn is counted from what the agent sends back: so many results so far, that line of the script is next.
"""

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SHELLS = ("Bash", "bash", "exec_command", "shell_command", "shell")
"""The tools that run a command, under the names that agents give them."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Script:
    """What the model does: one command after another, with a word before each, and a last word."""

    commands: Sequence[tuple[str, str]]
    end: str


@contextmanager
def scripted_model(script: Script, *, asked: list[dict[str, Any]] | None = None) -> Iterator[str]:
    """The base address of a model that follows the script, for as long as the block runs.

    Every request that it is sent is added to `asked`.
    """

    class Answering(_Answering):
        follows = script
        requests = asked

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Answering(BaseHTTPRequestHandler):
    follows: Script
    requests: list[dict[str, Any]] | None

    def do_HEAD(self) -> None:
        self.send_response(200)
        self.end_headers()

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        if self.requests is not None:
            self.requests.append(asked)
        speak = DIALECTS.get(self.path.partition("?")[0])
        if speak is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        for event in speak(asked, self.follows):
            kind = f"event: {event['type']}\n" if "type" in event else ""
            self.wfile.write(f"{kind}data: {json.dumps(event)}\n\n".encode())
        if speak is _chat_completions:
            self.wfile.write(b"data: [DONE]\n\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: what agents ask is not for the terminal."""


def _shell(tools: Sequence[dict[str, Any]]) -> tuple[str, dict[str, Any]] | None:
    """The name and the schema of the tool that runs commands; `None` for a request without one, such as for a title."""
    offered = {tool.get("name") or tool.get("function", {}).get("name"): tool for tool in tools}
    for name in SHELLS:
        if name in offered:
            tool = offered[name].get("function", offered[name])
            return name, tool.get("parameters") or tool.get("input_schema") or {}
    return None


def _arguments(schema: dict[str, Any], command: str) -> dict[str, Any]:
    properties = schema.get("properties", {})
    key = "cmd" if "cmd" in properties else "command"
    is_list = properties.get(key, {}).get("type") == "array"
    arguments: dict[str, Any] = {key: ["sh", "-c", command] if is_list else command}
    if "description" in schema.get("required", ()):
        arguments["description"] = "Runs a command"
    return arguments


@dataclass(frozen=True, slots=True)
class _Move:
    number: int
    text: str
    call: tuple[str, dict[str, Any]] | None


def _next_move(script: Script, *, results: int, tools: Sequence[dict[str, Any]]) -> _Move:
    shell = _shell(tools)
    if shell is None or results >= len(script.commands):
        return _Move(results, script.end if shell else "A title", None)
    text, command = script.commands[results]
    return _Move(results, text, (shell[0], _arguments(shell[1], command)))


def _anthropic(asked: dict[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    blocks = [
        block for message in asked["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    results = sum(1 for block in blocks if block["type"] == "tool_result")
    move = _next_move(script, results=results, tools=asked.get("tools", ()))
    usage = {"input_tokens": 100, "output_tokens": 7}
    message = {
        "id": f"msg_{move.number}",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": [],
    }
    yield {"type": "message_start", "message": {**message, "stop_reason": None, "stop_sequence": None, "usage": usage}}
    yield {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}
    yield {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": move.text}}
    yield {"type": "content_block_stop", "index": 0}
    if move.call:
        name, arguments = move.call
        block = {"type": "tool_use", "id": f"toolu_{move.number}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(arguments)}
        yield {"type": "content_block_start", "index": 1, "content_block": block}
        yield {"type": "content_block_delta", "index": 1, "delta": delta}
        yield {"type": "content_block_stop", "index": 1}
    reason = "tool_use" if move.call else "end_turn"
    yield {"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None}, "usage": usage}
    yield {"type": "message_stop"}


def _responses(asked: dict[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    results = sum(1 for item in asked["input"] if item.get("type") == "function_call_output")
    move = _next_move(script, results=results, tools=asked.get("tools", ()))
    yield {"type": "response.created", "response": {"id": f"resp_{move.number}"}}
    content = [{"type": "output_text", "text": move.text, "annotations": []}]
    message = {"type": "message", "id": f"msg_{move.number}", "role": "assistant", "content": content}
    yield {"type": "response.output_item.done", "output_index": 0, "item": message}
    if move.call:
        name, arguments = move.call
        call = {"type": "function_call", "id": f"fc_{move.number}", "call_id": f"call_{move.number}", "name": name}
        item = {**call, "arguments": json.dumps(arguments)}
        yield {"type": "response.output_item.done", "output_index": 1, "item": item}
    usage = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    response = {"id": f"resp_{move.number}", "usage": {**usage, **details}}
    yield {"type": "response.completed", "response": response}


def _chat_completions(asked: dict[str, Any], script: Script) -> Iterator[dict[str, Any]]:
    results = sum(1 for message in asked["messages"] if message["role"] == "tool")
    move = _next_move(script, results=results, tools=asked.get("tools", ()))

    def chunk(delta: dict[str, Any], reason: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": reason}
        head = {"id": f"chat_{move.number}", "object": "chat.completion.chunk", "created": 1, "model": asked["model"]}
        return {**head, "choices": [choice]}

    yield chunk({"role": "assistant", "content": move.text})
    if move.call:
        name, arguments = move.call
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"index": 0, "id": f"call_{move.number}", "type": "function", "function": function}
        yield chunk({"tool_calls": [call]})
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    yield {**chunk({}, "tool_calls" if move.call else "stop"), "usage": usage}


DIALECTS = {"/v1/messages": _anthropic, "/v1/responses": _responses, "/v1/chat/completions": _chat_completions}
