"""Servers that answer a probe byte by byte, as a person meets them: the command ends, and says why."""

import contextlib
import socketserver
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from forking import COMMAND
from typed import make_port_skill

HEAD = b"HTTP/1.1 200 x\r\ncontent-type: application/json\r\ncontent-length: 9000\r\n\r\n"
AWAY = b"HTTP/1.1 302 x\r\nlocation: /v1/elsewhere\r\ncontent-length: 9000\r\n\r\n"
FORMS = {"body": HEAD, "head": b"HTTP/1.1 200 x\r\nx-slow: ", "redirect": AWAY}
"""What comes at once; what follows comes drop by drop."""


@contextlib.contextmanager
def dripping(at_once: bytes) -> Iterator[str]:
    """The base URL of a server that never falls silent and never ends a reply."""
    over = threading.Event()

    class Drip(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with contextlib.suppress(OSError):
                self.request.sendall(at_once if b"/models " in self.request.recv(65_536) else HEAD)
                while not over.wait(0.5):
                    self.request.sendall(b" ")

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Drip) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/v1"
        finally:
            over.set()
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("form", FORMS)
def test_a_server_that_drips_its_list_of_models_is_given_up_after_one_deadline(
    form: str, here: Path, environment: dict[str, str]
) -> None:
    make_port_skill(here, cases=1)
    with dripping(FORMS[form]) as url:
        began = time.monotonic()
        words = [COMMAND, "eval", "skills/port", "-m", "any", "--base-url", url, "--yes"]
        ran = subprocess.run(words, cwd=here, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert time.monotonic() - began < 30
    assert ran.returncode == 3, ran
    assert f"the server at {url} is busy (no complete reply within 5 seconds)" in ran.stderr
