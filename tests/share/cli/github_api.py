"""The part of GitHub's API that keeps comments of one pull request, on loopback; every call is recorded."""

import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

BOT = "github-actions[bot]"


@dataclass(frozen=True, kw_only=True)
class Call:
    method: str
    path: str
    authorization: str
    body: dict[str, Any] | None


@dataclass
class GitHub:
    """Serves until the block ends. `refuses` maps a method to the status that it gets instead."""

    comments: list[dict[str, Any]] = field(default_factory=list)
    refuses: dict[str, int] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)

    def add(self, body: str, *, login: str = BOT) -> int:
        self.comments.append({"id": 1000 + len(self.comments), "user": {"login": login}, "body": body})
        number: int = self.comments[-1]["id"]
        return number

    def answer(self, call: Call) -> tuple[int, Any]:
        """The status and the JSON for a call."""
        self.calls.append(call)
        if call.method in self.refuses:
            return self.refuses[call.method], {"message": "Resource not accessible by integration"}
        address = urlsplit(call.path)
        if call.method == "GET" and address.path == "/repos/team/skills/issues/7/comments":
            asked = {name: int(values[0]) for name, values in parse_qs(address.query).items()}
            first = (asked["page"] - 1) * asked["per_page"]
            return 200, self.comments[first : first + asked["per_page"]]
        if call.method == "POST" and address.path == "/repos/team/skills/issues/7/comments":
            return 201, {"id": self.add((call.body or {})["body"])}
        if call.method == "PATCH":
            number = int(address.path.removeprefix("/repos/team/skills/issues/comments/"))
            comment = next(one for one in self.comments if one["id"] == number)
            comment["body"] = (call.body or {})["body"]
            return 200, comment
        return 404, {}

    def __enter__(self) -> Self:
        api = self

        class Handler(BaseHTTPRequestHandler):
            def _serve(self) -> None:
                sent = self.rfile.read(int(self.headers.get("content-length", "0")))
                call = Call(
                    method=self.command,
                    path=self.path,
                    authorization=self.headers.get("authorization", ""),
                    body=json.loads(sent) if sent else None,
                )
                status, content = api.answer(call)
                body = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PATCH = _serve

            def log_message(self, format: str, *values: object) -> None:
                """Nothing goes to stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """What `GITHUB_API_URL` is set to."""
        return f"http://127.0.0.1:{self._server.server_port}"

    @property
    def methods(self) -> list[str]:
        """Of all calls, in order."""
        return [call.method for call in self.calls]
