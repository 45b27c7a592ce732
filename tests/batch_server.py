"""A stand-in for the batch interfaces of OpenAI and Anthropic on loopback, written from the requests of their clients.

It is neither: it keeps batches in memory, knows two kinds of question, and answers only what the tests ask for. It
answers single questions too, the same to the same question, so that a run without batches can be compared.
"""

import json
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

Fate = Callable[[int, int], str]
"""What becomes of a question, by the number of its batch and of its line, from 1 and 0 on: `ok`, `error`, `expired`."""
Answer = Callable[[str, bool, int], str]
"""What is said to a prompt, with or without the skill, when it is put for the so manieth time, from 0 on."""


def all_ok(batch: int, line: int) -> str:
    return "ok"


class BatchServer:
    """Serves until the block ends. Batches stay out until `release` is called, unless they are `quick`."""

    def __init__(self, answer: Answer, *, fate: Fate = all_ok, quick: bool = True) -> None:
        self._answer, self._fate, self.quick = answer, fate, quick
        self.batches: dict[str, dict[str, Any]] = {}
        self.lines: dict[str, list[dict[str, Any]]] = {}
        self.single: list[dict[str, Any]] = []
        """Questions that were asked by themselves."""
        self.answered: Counter[str] = Counter()
        """How often each question was answered in a batch, by its custom_id: each time is charged."""
        self.deaf = 0
        """Batches whose making is not confirmed: the connection is cut instead."""
        self.downloads_cut = 0
        """Downloads of results that are cut."""
        self._files: dict[str, bytes] = {}
        self._asked: Counter[tuple[str, bool]] = Counter()
        self._lock = threading.RLock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with server._lock:
                    self._reply(*server._get(self.path))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                with server._lock:
                    self._reply(*server._post(self.path, body))

            def _reply(self, status: int, value: Any) -> None:
                if status == 0:
                    self.close_connection = True
                    return
                data = value if isinstance(value, bytes) else json.dumps(value).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                """Nothing is printed."""

        self._listener = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._listener.daemon_threads = True
        self._thread = threading.Thread(
            target=self._listener.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
        )
        self.url = f"http://127.0.0.1:{self._listener.server_port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.shutdown()
        self._thread.join()
        self._listener.server_close()

    @property
    def environment(self) -> dict[str, str]:
        """What makes the clients ask here."""
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": "sk-standin-openai-standin-openai-standin",
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": "sk-ant-standin-anthropic-standin-anthropic",
        }

    def wait_for_batch(self, number: int, *, seconds: float = 60) -> str:
        """The name of the batch with this number, once it is there."""
        until = time.monotonic() + seconds
        while len(self.batches) < number:
            assert time.monotonic() < until, f"there is no batch {number}"
            time.sleep(0.05)
        return list(self.batches)[number - 1]

    def release(self) -> None:
        """Let every batch that is out come to its end."""
        with self._lock:
            for name in self.batches:
                self._end(name)

    # The provider's side.

    def _post(self, path: str, body: bytes) -> tuple[int, Any]:
        if path == "/v1/files":
            start = body.index(b'{"custom_id"')
            name = f"file-{len(self._files)}"
            self._files[name] = body[start : body.rindex(b"\r\n--")]
            return 200, {
                "id": name,
                "object": "file",
                "bytes": len(body),
                "created_at": int(time.time()),
                "filename": "batch.jsonl",
                "purpose": "batch",
                "status": "processed",
            }
        asked = json.loads(body)
        if path == "/v1/batches":
            lines = [json.loads(line) for line in self._files[asked["input_file_id"]].splitlines() if line.strip()]
            made = {
                "object": "batch",
                "endpoint": asked["endpoint"],
                "input_file_id": asked["input_file_id"],
                "completion_window": asked["completion_window"],
                "created_at": int(time.time()),
                "status": "in_progress",
            }
            return self._make([{"custom_id": one["custom_id"], "body": one["body"]} for one in lines], made)
        if path == "/v1/messages/batches":
            made = {
                "type": "message_batch",
                "processing_status": "in_progress",
                "created_at": _moment(time.time()),
                "expires_at": _moment(time.time() + 86_400),
                "request_counts": {"processing": len(asked["requests"]), **_none()},
            }
            return self._make(
                [{"custom_id": one["custom_id"], "body": one["params"]} for one in asked["requests"]], made
            )
        if path in ("/v1/chat/completions", "/v1/messages"):
            self.single.append(asked)
            return 200, self._said(asked)
        return 404, {"error": {"message": f"there is no {path}"}}

    def _make(self, lines: list[dict[str, Any]], made: dict[str, Any]) -> tuple[int, Any]:
        name = f"batch_{len(self.batches) + 1}"
        assert len({line["custom_id"] for line in lines}) == len(lines), "a provider refuses a name that is there twice"
        self.batches[name] = {"id": name, **made}
        self.lines[name] = lines
        if self.quick:
            self._end(name)
        if self.deaf:
            self.deaf -= 1
            return 0, None
        return 200, self.batches[name]

    def _end(self, name: str) -> None:
        batch = self.batches[name]
        if name in self._files or batch.get("status") == "completed":
            return
        number = list(self.batches).index(name) + 1
        results: list[dict[str, Any]] = []
        errors: list[dict[str, Any]] = []
        for position, line in enumerate(self.lines[name]):
            fate, body = self._fate(number, position), line["body"]
            if fate == "ok":
                self.answered[line["custom_id"]] += 1
            said = self._said(body) if fate == "ok" else {}
            write = _openai_line if batch.get("object") == "batch" else _anthropic_line
            (results if fate == "ok" else errors).append(write(line["custom_id"], fate, said))
        random.Random(number).shuffle(results)
        fates = {self._fate(number, position) for position in range(len(self.lines[name]))}
        if batch.get("object") == "batch":
            batch["status"] = "expired" if "expired" in fates else "completed"
            for key, lines in (("output_file_id", results), ("error_file_id", errors)):
                if lines:
                    batch[key] = f"{name}-{key}"
                    self._files[batch[key]] = "\n".join(map(json.dumps, lines)).encode()
            self._files[name] = b""
        else:
            both = results + errors
            random.Random(number).shuffle(both)
            self._files[name] = "\n".join(map(json.dumps, both)).encode()
            counts = {"succeeded": len(results), "errored": len(errors)}
            batch["request_counts"] = {"processing": 0, **_none(), **counts}
            batch["processing_status"], batch["results_url"] = "ended", f"{self.url}/v1/messages/batches/{name}/results"

    def _get(self, path: str) -> tuple[int, Any]:
        path, _, query = path.partition("?")
        if path in ("/v1/batches", "/v1/messages/batches"):
            listed = [] if "after" in query else list(reversed(self.batches.values()))
            return 200, {"object": "list", "data": listed, "has_more": False, "first_id": None, "last_id": None}
        if found := re.fullmatch(r"/v1/(?:messages/)?batches/(\w+)", path):
            return 200, self.batches[found[1]]
        found = re.fullmatch(r"/v1/files/([\w-]+)/content|/v1/messages/batches/(\w+)/results", path)
        if found is None:
            return 404, {"error": {"message": f"there is no {path}"}}
        if self.downloads_cut:
            self.downloads_cut -= 1
            return 0, None
        return 200, self._files[found[1] or found[2]]

    def _said(self, body: dict[str, Any]) -> dict[str, Any]:
        """The answer to one question, in the form of the interface that it came by."""
        system, messages = body.get("system"), body["messages"]
        texts = [_text(one["content"]) for one in messages]
        prompt, has_skill = texts[-1], "<skill" in (_text(system) if system else texts[0])
        text = self._answer(prompt, has_skill, self._asked[prompt, has_skill])
        self._asked[prompt, has_skill] += 1
        if system is not None:
            return {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "model": body["model"],
                "content": [{"type": "text", "text": text}],
                "stop_reason": "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": 100, "output_tokens": 10},
            }
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _openai_line(identity: str, fate: str, said: dict[str, Any]) -> dict[str, Any]:
    line: dict[str, Any] = {"id": f"batch_req_{identity}", "custom_id": identity, "response": None, "error": None}
    if fate == "expired":
        message = "This request could not be executed before the completion window expired."
        return {**line, "error": {"code": "batch_expired", "message": message}}
    if fate == "error":
        error = {"error": {"message": "The server had an error", "type": "server_error", "param": None, "code": None}}
        return {**line, "response": {"status_code": 500, "request_id": "r", "body": error}}
    return {**line, "response": {"status_code": 200, "request_id": "r", "body": said}}


def _anthropic_line(identity: str, fate: str, said: dict[str, Any]) -> dict[str, Any]:
    if fate == "expired":
        return {"custom_id": identity, "result": {"type": "expired"}}
    if fate == "error":
        error = {"type": "error", "error": {"type": "api_error", "message": "Internal server error"}}
        return {"custom_id": identity, "result": {"type": "errored", "error": error}}
    return {"custom_id": identity, "result": {"type": "succeeded", "message": said}}


def _none() -> dict[str, int]:
    return {"succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}


def _moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat()
