"""Wrong servers, as a person meets them: the first line names the cause, and no case was asked."""

import json
import socketserver
import ssl
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from typed import Upskill, make_port_skill

PAGE = "<!doctype html><title>Sign in</title>"
REFUSED = {"error": {"message": "The model `x` does not exist", "code": "model_not_found"}}
CHAT = "/v1/chat/completions"
MODELS = "/v1/models"
ANSWER = {
    "id": "1",
    "object": "chat.completion",
    "created": 1,
    "model": "who-answers",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "7413"}}],
    "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
}


def listing(*names: str, **more: object) -> dict[str, Any]:
    return {"object": "list", "data": [{"id": name, **more} for name in names]}


Reply = tuple[int, object] | tuple[int, object, str]
"""A status, what is sent, and where a redirect leads."""


@dataclass(kw_only=True)
class Server:
    """What a server says at each path; all others are not found. Counts the cases that it was asked."""

    pages: Mapping[str, Reply]
    busy: int = 0
    """So many requests it has no time for."""
    cases: int = 0
    asked: list[str] = field(default_factory=list)
    expected_at_once: int = 0
    """The first case is answered when so many were there at once, or after five seconds."""
    at_once: int = 0
    most_at_once: int = 0
    """Cases that it was asked before it had answered the others."""
    _changed: threading.Condition = field(default_factory=threading.Condition)

    @contextmanager
    def asked_case(self) -> Iterator[None]:
        with self._changed:
            self.cases += 1
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.most_at_once >= self.expected_at_once, timeout=5)
        if self.expected_at_once:
            time.sleep(0.05)  # One more than expected would come now.
        yield
        with self._changed:
            self.at_once -= 1


@contextmanager
def serving(server: Server, *, tls: Path | None = None) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            server.asked.append(self.path)
            is_case = self.path.endswith("/completions") and b"Say OK." not in body
            with server.asked_case() if is_case else nullcontext():
                self._answer()

        def _answer(self) -> None:
            status, said, *to = server.pages.get(self.path, (404, {"error": {"message": "not found"}}))
            if len(server.asked) <= server.busy:
                status, said = 503, {"error": {"message": "Loading model"}}
            text = said.encode() if isinstance(said, str) else json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(text)))
            for where in to:
                self.send_header("location", str(where))
            self.end_headers()
            self.wfile.write(text)

        do_POST = do_GET

        def log_message(self, format: str, *args: object) -> None:
            """Quiet."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        if tls is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(tls / "cert.pem", tls / "key.pem")
            http.socket = context.wrap_socket(http.socket, server_side=True)
        http.handle_error = lambda *_: None  # type: ignore[method-assign]  # a client that does not speak TLS
        with _running(http):
            yield f"{'http' if tls is None else 'https'}://127.0.0.1:{http.server_address[1]}"


@contextmanager
def listening(says: bytes) -> Iterator[str]:
    """Something that takes connections, says one thing and closes them."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.sendall(says)
            self.request.recv(65_536)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server, _running(server):
        yield f"http://127.0.0.1:{server.server_address[1]}"


@contextmanager
def _running(server: socketserver.BaseServer) -> Iterator[None]:
    thread = threading.Thread(target=partial(server.serve_forever, 0.05))
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        thread.join()


@dataclass(frozen=True, kw_only=True)
class Wrong:
    """A server, the address that is typed for it, and what the first line says."""

    pages: Mapping[str, Reply] = field(default_factory=dict)
    path: str = "/v1"
    line: str
    hint: str
    code: int = 3


WRONG = {
    "a typo in the name": Wrong(
        pages={MODELS: (200, listing("corp-4b", "corp-70b")), CHAT: (404, REFUSED)},
        line="the server at URL has no model corp-4; did you mean corp-4b?",
        hint="it offers corp-4b, corp-70b",
        code=2,
    ),
    "another name altogether": Wrong(
        pages={MODELS: (200, listing("llama3:8b")), CHAT: (404, {"error": "model 'x' not found, try pulling it"})},
        line="the server at URL has no model corp-4",
        hint="it offers llama3:8b",
        code=2,
    ),
    "a gateway that refuses unknown names with 400": Wrong(
        pages={MODELS: (200, listing("corp-4b")), CHAT: (400, REFUSED)},
        line="did you mean corp-4b?",
        hint="it offers corp-4b",
        code=2,
    ),
    "no /v1": Wrong(
        pages={MODELS: (200, listing("corp-4"))},
        path="",
        line="there are no models at URL; did you mean URL/v1?",
        hint="type --base-url URL/v1",
        code=2,
    ),
    "no /v1, and a page at the root": Wrong(
        pages={MODELS: (200, listing("corp-4")), "/models": (200, PAGE)},
        path="",
        line="did you mean URL/v1?",
        hint="type --base-url URL/v1",
        code=2,
    ),
    "a web page": Wrong(
        pages={MODELS: (200, PAGE)}, line="URL answers with a web page, not as a model", hint="check the port"
    ),
    "a web page that says not found": Wrong(
        pages={MODELS: (404, PAGE)}, line="URL answers with a web page", hint="check the port"
    ),
    "a key is missing": Wrong(
        pages={MODELS: (401, {})}, line="URL rejects the key (HTTP 401)", hint="set the server's key in UPSKILL_"
    ),
    "a gateway forbids it": Wrong(
        pages={MODELS: (403, PAGE)}, line="URL rejects the key (HTTP 403)", hint="UPSKILL_ENDPOINT_KEY"
    ),
    "a list for everybody, answers with a key": Wrong(
        pages={MODELS: (200, listing("a", "b")), CHAT: (401, {})}, line="URL rejects the key (HTTP 401)", hint="set the"
    ),
    "a redirect to another place": Wrong(
        pages={MODELS: (302, "", "http://login.example/")}, line="http://login.example", hint="check --base-url"
    ),
    "an empty list": Wrong(
        pages={MODELS: (200, listing()), CHAT: (400, {"error": {"message": "no model is loaded"}})},
        line="the server at URL refuses a short question to corp-4 (HTTP 400: no model is loaded)",
        hint="check the name of the model",
    ),
    "another API": Wrong(
        pages={MODELS: (200, {"models": [{"name": "gem"}]})},
        line="URL has neither a list of models nor chat completions (HTTP 404)",
        hint="it may speak another API",
    ),
    "nothing there": Wrong(line="URL has neither a list of models nor chat completions", hint="another path"),
    "a server that breaks": Wrong(
        pages={MODELS: (500, {}), CHAT: (500, {"error": {"message": "CUDA error"}})},
        line="refuses a short question to corp-4 (HTTP 500: CUDA error)",
        hint="operator",
    ),
}  # fmt: skip


@pytest.fixture
def typed(upskill: Upskill, here: Path) -> Callable[..., tuple[int, str, str]]:
    """Types an evaluation at an address: exit code, the first line, and what follows."""
    make_port_skill(here, cases=8)

    def run(url: str, *words: str) -> tuple[int, str, str]:
        done = upskill("eval", "skills/port", "-m", "corp-4", "--base-url", url, "--yes", *words)
        first, _, rest = done.stderr.partition("\n")
        return done.returncode, first, rest

    return run


Typed = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", WRONG)
def test_the_cause_is_in_the_first_line_and_no_case_was_asked(name: str, typed: Typed) -> None:
    wrong = WRONG[name]
    server = Server(pages=wrong.pages)
    with serving(server) as root:
        url = f"{root}{wrong.path}"
        code, first, rest = typed(url)
    assert first.startswith("error: corp-4: "), first
    assert wrong.line.replace("URL", url) in first
    assert wrong.hint.replace("URL", url) in rest
    assert (code, server.cases) == (wrong.code, 0)


@pytest.mark.parametrize(
    ("says", "line"),
    [(b"SSH-2.0-OpenSSH_9.2\r\n", "what listens at URL does not speak http"), (b"", "what listens at URL does not")],
)
def test_what_is_no_web_server_is_named(says: bytes, line: str, typed: Typed) -> None:
    with listening(says) as root:
        code, first, rest = typed(f"{root}/v1")
    assert line.replace("URL", f"{root}/v1") in first
    assert (code, "check the port" in rest) == (3, True)


def test_nobody_at_the_address_and_no_such_name(typed: Typed) -> None:
    for url in ("http://127.0.0.1:9/v1", "http://no-such-host.invalid/v1"):
        code, first, rest = typed(url)
        assert f"no server answers at {url} (" in first
        assert (code, "start the server" in rest) == (3, True)


def test_https_where_there_is_http_the_other_way_round_and_a_certificate_of_ones_own(
    typed: Typed, tmp_path: Path
) -> None:
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
    files = ["-keyout", str(tmp_path / "key.pem"), "-out", str(tmp_path / "cert.pem")]
    subprocess.run([*make.split(), *files], check=True, capture_output=True)
    server = Server(pages={MODELS: (200, listing("corp-4"))})
    with serving(server) as plain:
        secure = plain.replace("http:", "https:")
        code, first, _ = typed(f"{secure}/v1")
        assert (code, f"{secure}/v1 does not speak https; did you mean {plain}/v1?" in first) == (2, True), first
    with serving(server, tls=tmp_path) as secure:
        code, first, rest = typed(f"{secure}/v1")
        assert (code, f"the certificate of {secure}/v1 is not accepted" in first) == (3, True), first
        assert "SSL_CERT_FILE" in rest
        plain = secure.replace("https:", "http:")
        code, first, rest = typed(f"{plain}/v1")
        assert (code, f"what listens at {plain}/v1 does not speak http" in first) == (3, True), first
        assert "https" in rest
    assert server.cases == 0


ROOM = {"default_generation_settings": {"n_ctx": 2_048}, "total_slots": 1, "build_info": "b1"}


def test_a_server_that_loads_its_model_is_waited_for_and_may_answer_to_any_name(typed: Typed) -> None:
    server = Server(pages={MODELS: (200, listing("who-answers")), CHAT: (200, ANSWER), "/props": (200, ROOM)}, busy=1)
    with serving(server) as root:
        code, first, rest = typed(f"{root}/v1", "--no-baseline", "--runs", "1")
    assert code == 0, rest
    assert first == f"the server at {root}/v1 is busy (Loading model); it is asked again for up to 60 s"
    assert rest.startswith(
        "the server has 1 slot, so 1 answer at a time and a window of 2,048 tokens, so answers of at most 256\n"
    )
    assert server.cases == 8


def test_a_teaching_asks_as_many_at_once_as_the_server_has_slots(upskill: Upskill) -> None:
    server = Server(pages={MODELS: (200, listing("corp-4")), "/props": (200, ROOM)})
    with serving(server) as root:
        student = ("--eval-model", "corp-4", "--eval-base-url", f"{root}/v1")
        done = upskill("generate", "Write a line", "--model", "handoff", *student, "--dry-run")
    assert "answers: at most 256, an eighth of the window, 1 at a time; skill:" in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "skills/port", "--runs", "1"),
        ("cases", "check", "skills/port", "--probe"),
        ("trigger", "skills/port", "--harness", "agent"),
    ],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("slots", [1, 3])
def test_no_command_asks_for_more_at_once_than_there_are_slots(
    words: tuple[str, ...], slots: int, upskill: Upskill, here: Path
) -> None:
    skill = make_port_skill(here, cases=8)
    prompts = [{"prompt": f"Which port has box {number}?", "should_load": number % 2 == 0} for number in range(8)]
    (skill / "evals").mkdir()
    (skill / "evals" / "triggers.json").write_text(json.dumps({"prompts": prompts}))
    room = {**ROOM, "default_generation_settings": {"n_ctx": 32_768}, "total_slots": slots}
    pages = {MODELS: (200, listing("who-answers")), CHAT: (200, ANSWER), "/props": (200, room)}
    server = Server(pages=pages, expected_at_once=slots)
    with serving(server) as root:
        done = upskill(*words, "-m", "who-answers", "--base-url", f"{root}/v1", "--yes")
    assert server.cases >= 8, done.stderr
    assert server.most_at_once == slots, done.stderr


def test_ollama_and_chosen_settings(typed: Typed, here: Path) -> None:
    loaded = {"models": [{"name": "corp-4:latest", "context_length": 4_096}]}
    pages = {MODELS: (200, listing("corp-4")), CHAT: (200, ANSWER), "/api/version": (200, {"version": "0.12.0"})}
    server = Server(pages={**pages, "/api/ps": (200, loaded)})
    with serving(server) as root:
        code, first, rest = typed(f"{root}/v1", "--no-baseline", "--runs", "1", "--concurrency", "3")
    assert code == 0, rest
    assert "a window of 4,096 tokens, so answers of at most 512" in " ".join(f"{first} {rest}".split())
    (record,) = here.glob("runs/*/run.json")
    settings = json.loads(record.read_text())["settings"]
    assert settings["concurrency"] == {"value": 3, "origin": "--concurrency"}
    assert settings["max_output_tokens"] == {"value": 512, "origin": "the server"}


def test_a_server_is_shown_with_what_follows_from_it_and_written_down(upskill: Upskill, here: Path) -> None:
    pages = {MODELS: (200, listing("corp-4b", "corp-70b")), CHAT: (200, ANSWER), "/props": (200, ROOM)}
    with serving(Server(pages=pages)) as root:
        url = f"{root}/v1"
        shown = upskill("doctor", "--base-url", url)
        named = json.loads(upskill("doctor", "--base-url", url, "-m", "who", "--json").stdout)
        written = upskill("doctor", "--base-url", url, "--write")
        again = upskill("doctor", "--base-url", url, "--write")
        make_port_skill(here, cases=8)
        measured = upskill("eval", "skills/port", "--no-baseline", "--runs", "1")
    assert shown.stdout.splitlines()[1:] == [
        "model     corp-4b",
        "others    corp-70b",
        "slots     1 slot; upskill asks for 1 at a time",
        "window    2,048 tokens for question, skill and answer; answers are cut at 256",
        f"next      upskill eval SKILL -m corp-4b --base-url {url}",
    ]
    assert (named["server"]["model"], named["server"]["concurrency"]) == ("who", 1)
    assert written.stdout.endswith("wrote     upskill.toml\nnext      upskill eval SKILL\n")
    assert (again.returncode, f'base_url = "{url}"' in again.stderr) == (2, True)
    assert measured.returncode == 0, measured.stderr
    assert upskill("doctor", "--write").returncode == 2


@pytest.mark.parametrize("name", ["scripted/evil.yaml", "handoff", 'a"\nskills_dir = "/', "a\u202eb", "-x", ""])
def test_a_server_that_lists_what_is_no_name_of_a_model_gets_nothing_written_or_trusted(
    upskill: Upskill, here: Path, home: Path, name: str
) -> None:
    (here / "evil.yaml").write_text("rules:\n  - replies: ['7413']\n")
    with serving(Server(pages={MODELS: (200, listing(name)), CHAT: (200, ANSWER)})) as root:
        done = upskill("doctor", "--base-url", f"{root}/v1", "--write")
    assert done.returncode == 2, done.stderr
    assert "hint:  name one with -m NAME" in done.stderr or "a hand-off can teach" in done.stderr
    assert "evil" not in done.stdout
    assert not (here / "upskill.toml").exists()
    assert [path for path in home.rglob("trusted.json") if "upskill.toml" in path.read_text()] == []


def test_a_name_in_any_alphabet_is_written_as_toml(upskill: Upskill, here: Path) -> None:
    name = 'qwen-\U0001f600-\u00fc\\"'
    with serving(Server(pages={MODELS: (200, listing(name)), CHAT: (200, ANSWER)})) as root:
        done = upskill("doctor", "--base-url", f"{root}/v1", "-m", name, "--write")
    assert done.returncode == 0, done.stderr
    assert tomllib.loads((here / "upskill.toml").read_text())["models"] == [name]
