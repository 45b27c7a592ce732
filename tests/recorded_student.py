"""A student's server on loopback that records what a real one answers, or plays a recording back.

    with RecordedStudent(file, upstream="http://127.0.0.1:8080") as student: ...   records what is not in the file
    with RecordedStudent(file) as student: ...                                    plays back, needs no model

A recording has a JSON object per line: the request by method, path and digest of its body, and the response. Prompts
are not kept. The nth same request gets the nth answer; one that was never recorded, or not so often, is a 500. What is
not sampled (`GET`, `/tokenize`) is recorded once and answered as often as it is asked. In the outputs of tools, digits,
dates and names of temporary files do not count: what programs of a model print differs by these whenever it is run.
"""

import hashlib
import json
import re
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Self

UNUSED = ("chat_template", "media_marker", "model_path", "params", "timings", "__verbose")
"""Parts of llama.cpp's answers that nobody reads: left out, at any depth."""

_PASSING = re.compile(
    r"\b0x[0-9a-f]+"
    r"|\b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun|Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)\b"
    r"|\btmp[.\w]+"
    r"|\d[\d.,]*\s?(?:ns|us|µs|ms|s)\b"
    r"|\d[\d.,]*(?:e[+-]?\d+)?"
)
_BLANKS = re.compile(r" {2,}")


class RecordedStudent:
    """Serves until the block ends; `unknown` has the requests that the recording could not answer."""

    def __init__(self, file: Path, *, upstream: str | None = None, port: int = 0) -> None:
        self._file = file
        self._upstream = upstream
        self._lock = threading.Lock()
        self._asked: dict[str, int] = {}
        self._answers: dict[str, list[dict[str, Any]]] = {}
        self.unknown: list[str] = []
        lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
        for entry in map(json.loads, lines):
            self._answers.setdefault(entry["request"], []).append(entry)
        student = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                student._exchange(self)

            do_POST = do_GET

            def log_message(self, format: str, *args: object) -> None:
                """Quiet: stderr belongs to the test."""

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    @property
    def url(self) -> str:
        """The base URL to hand to `--eval-base-url`."""
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    @property
    def sampled(self) -> int:
        """How many answers the recording holds."""
        return sum(len(answers) for key, answers in self._answers.items() if _is_sampled(key))

    @property
    def unasked(self) -> list[str]:
        """The requests of the recording for which nobody came, each as often as it was left."""
        with self._lock:
            return [
                key
                for key, answers in self._answers.items()
                for _ in range(self._asked.get(key, 0), len(answers) if _is_sampled(key) else 1)
            ]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _exchange(self, handler: BaseHTTPRequestHandler) -> None:
        body = handler.rfile.read(int(handler.headers.get("Content-Length", "0")))
        key = f"{handler.command} {handler.path} {digest(body)}"
        entry = self._replay(key)
        if entry is None and self._upstream is not None:
            entry = self._record(key, handler, body)
        elif entry is None:
            entry = self._unknown(key)
        sent = json.dumps(_expanded(entry["body"])).encode()
        handler.send_response(entry["status"])
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(sent)))
        handler.end_headers()
        handler.wfile.write(sent)

    def _replay(self, key: str) -> dict[str, Any] | None:
        with self._lock:
            times = self._asked[key] = self._asked.get(key, 0) + 1
            answers = self._answers.get(key, [])
            if answers and (times <= len(answers) or not _is_sampled(key)):
                return answers[min(times, len(answers)) - 1]
        return None

    def _unknown(self, key: str) -> dict[str, Any]:
        with self._lock:
            times, had = self._asked[key], len(self._answers.get(key, []))
            self.unknown.append(key)
        known = f"{had} time(s)" if had else "never"
        message = (
            f"request {times} of `{key}` is not in {self._file.name}, where it was recorded {known}; record it anew"
        )
        return {"status": 500, "body": {"error": {"message": message}}}

    def _record(self, key: str, handler: BaseHTTPRequestHandler, body: bytes) -> dict[str, Any]:
        headers = {"Content-Type": handler.headers.get("Content-Type", "application/json")}
        request = urllib.request.Request(
            f"{self._upstream}{handler.path}", data=body or None, headers=headers, method=handler.command
        )
        try:
            with urllib.request.urlopen(request, timeout=600) as response:
                status, answer = response.status, response.read()
        except urllib.error.HTTPError as refused:
            status, answer = refused.code, refused.read()
        entry = {"request": key, "status": status, "body": _compact(json.loads(answer))}
        with self._lock:
            self._answers.setdefault(key, []).append(entry)
            with self._file.open("a", encoding="utf-8") as out:
                out.write(json.dumps(entry, ensure_ascii=False) + "\n")
        return entry


def _is_sampled(key: str) -> bool:
    method, path, _ = key.split(" ")
    return method == "POST" and not path.endswith("/tokenize")


def digest(body: bytes) -> str:
    """The same for bodies that say the same, whatever the order of their keys."""
    said = json.dumps(_lasting(json.loads(body)), sort_keys=True).encode() if body else b""
    return hashlib.sha256(said).hexdigest()[:24]


def _lasting(body: Any) -> Any:
    """A request without what differs in the outputs of tools whenever the same program is run."""
    if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
        return body
    messages = [
        {**one, "content": _without_passing(one.get("content"))} if one.get("role") == "tool" else one
        for one in body["messages"]
    ]
    return {**body, "messages": messages}


def _without_passing(content: Any) -> Any:
    if isinstance(content, list):
        return [{**part, "text": _without_passing(part["text"])} if "text" in part else part for part in content]
    # Columns are as wide as their widest figure.
    return _BLANKS.sub(" ", _PASSING.sub("0", content)) if isinstance(content, str) else content


def _compact(body: Any) -> Any:
    """The answer without what nobody reads; of a list of tokens only their number is kept."""
    if isinstance(body, list):
        return [_compact(one) for one in body]
    if not isinstance(body, dict):
        return body
    kept = {name: _compact(value) for name, value in body.items() if name not in UNUSED}
    if isinstance(body.get("tokens"), list):
        kept["tokens"] = len(body["tokens"])
    return kept


def _expanded(body: Any) -> Any:
    if isinstance(body, dict) and isinstance(body.get("tokens"), int):
        return {**body, "tokens": [0] * body["tokens"]}
    return body
