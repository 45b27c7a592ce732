"""What a server of models may not do, by the real command: send requests elsewhere, answer without an end."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from listening import Quiet, listening
from typed import Upskill, make_port_skill
from upskill.core.runs.engine_logs import open_log

KEY = "canary/7Qz+4Kx9" + "LmW2=vT8pR"
MODELS = "/v1/models"
CHAT = "/v1/chat/completions"
MESSAGES = "/v1/messages"


def _answer(text: str, *, choices: int = 1) -> bytes:
    one = {"finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "any", "choices": [one] * choices}
    return json.dumps(answer).encode()


@dataclass
class Server:
    """Lists a model and answers; or sends whoever asks for `moved` to another URL, made of the path."""

    moved: str | None = None
    location: Callable[[str], str] = str
    pages: dict[str, bytes] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    url: str = ""

    def page(self, path: str) -> bytes:
        return {MODELS: b'{"data": [{"id": "any"}]}', **self.pages}.get(path, _answer("7413"))


@contextmanager
def serving(server: Server, *, tls: Path | None = None) -> Iterator[Server]:
    class Handler(Quiet):
        def do_POST(self) -> None:
            server.asked.append(self.path)
            self.rfile.read(int(self.headers.get("content-length", 0)))
            text = server.page(self.path)
            self.send_response(307 if self.path == server.moved else 200)
            if self.path == server.moved:
                self.send_header("location", server.location(self.path))
            self.send_header("content-type", "text/event-stream" if self.path == MESSAGES else "application/json")
            self.send_header("content-length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST

    with listening(Handler, tls=tls) as server.url:
        yield server


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a certificate for this machine."""
    folder = tmp_path_factory.mktemp("tls")
    make = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost "
        "-addext subjectAltName=IP:127.0.0.1"
    )
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run([*make.split(), *files], check=True, capture_output=True)
    return folder


def _asked(upskill: Upskill, here: Path, url: str, **variables: str) -> tuple[str, str]:
    """What is said when a skill is evaluated at a server, and what the run leaves."""
    make_port_skill(here, cases=1)
    words = ("eval", "skills/port", "-m", "any", "--base-url", f"{url}/v1", "--runs", "1", "--no-baseline")
    done = upskill(*words, UPSKILL_ENDPOINT_KEY=KEY, UPSKILL_MAX_RETRIES="0", **variables)
    return done.stdout + done.stderr, _left(here)


def _left(here: Path) -> str:
    """All that is written in runs, members of logs included."""
    texts = []
    for path in sorted(path for path in here.glob("runs/**/*") if path.is_file()):
        if path.suffix == ".eval":
            with open_log(path) as log:
                texts += [log.read(name).decode(errors="replace") for name in log.namelist()]
        else:
            texts.append(path.read_text(errors="replace"))
    return "\n".join(texts)


WAYS: dict[str, Callable[[Server, Server], str]] = {
    "another port": lambda named, other: other.url,
    "another host before a user name": lambda named, other: named.url + "@" + other.url.removeprefix("http://"),
    "another host with a user name": lambda named, other: other.url.replace("//", "//someone:word@"),
    "the same host with a user name": lambda named, other: named.url.replace("//", "//someone:word@"),
}


@pytest.mark.parametrize("moved", [MODELS, CHAT])
@pytest.mark.parametrize("way", WAYS)
def test_no_redirect_takes_a_request_or_a_key_elsewhere(moved: str, way: str, upskill: Upskill, here: Path) -> None:
    with serving(Server()) as other, serving(Server(moved=moved)) as named:
        named.location = lambda path: WAYS[way](named, other) + path.replace("/v1/", "/elsewhere/")
        said, left = _asked(upskill, here, named.url)
    assert other.asked == []
    assert [path for path in named.asked if path.startswith("/elsewhere")] == []
    assert moved in named.asked
    assert "another origin; nothing was sent there" in said + left
    assert KEY not in said + left


@pytest.mark.parametrize("moved", [MODELS, CHAT])
def test_a_redirect_from_https_to_http_is_not_followed(
    moved: str, upskill: Upskill, here: Path, certificate: Path
) -> None:
    trusted = {"SSL_CERT_FILE": str(certificate / "cert.pem")}
    with serving(Server()) as plain, serving(Server(moved=moved), tls=certificate) as named:
        named.location = lambda path: plain.url + path
        said, left = _asked(upskill, here, named.url, **trusted)
    assert moved in named.asked
    assert plain.asked == []
    assert f"{named.url} redirects to {plain.url}, another origin" in said + left


def test_a_redirect_within_the_origin_is_followed(upskill: Upskill, here: Path) -> None:
    with serving(Server(moved=CHAT, location=lambda path: path.replace("/v1/", "/v2/"))) as named:
        said, _ = _asked(upskill, here, named.url)
    assert "/v2/chat/completions" in named.asked
    assert "another origin" not in said


def test_an_answer_of_thousands_of_choices_is_refused_before_anybody_reads_them(upskill: Upskill, here: Path) -> None:
    with serving(Server(pages={CHAT: _answer("7413 " + "x" * 150, choices=5_000)})) as floods:
        said, left = _asked(upskill, here, floods.url)
    assert "the response has 5,000 choices; one was asked for" in left
    assert "the connection broke" in said


def _streamed(parts: Sequence[str]) -> bytes:
    """The events of a message in the form of Anthropic's API."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    about = {"id": "1", "type": "message", "role": "assistant", "model": "any", "content": [], "usage": usage}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**about, "stop_reason": None, "stop_sequence": None}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": one}} for one in parts),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn", "stop_sequence": None}, "usage": usage},
        {"type": "message_stop"},
    ]
    return b"".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events)


def test_a_key_that_comes_back_in_the_pieces_of_a_stream_is_taken_out_of_the_answer(
    upskill: Upskill, here: Path
) -> None:
    make_port_skill(here, cases=1)
    with serving(Server(pages={MESSAGES: _streamed(["7413 ", *KEY, " 7413"])})) as server:
        variables = {"ANTHROPIC_BASE_URL": server.url, "ANTHROPIC_API_KEY": KEY, "UPSKILL_MAX_OUTPUT_TOKENS": "32000"}
        words = ("eval", "skills/port", "-m", "anthropic/any", "--runs", "1", "--no-baseline", "--max-calls", "3")
        done = upskill(*words, **variables)
    assert done.returncode == 0, done.stderr
    left = _left(here)
    assert "7413 [redacted: ANTHROPIC_API_KEY] 7413" in left
    assert KEY not in left + done.stdout + done.stderr
