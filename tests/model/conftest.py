"""A real small model on a real llama.cpp server, on loopback. Installed by `make setup`, only started here."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import pytest_socket

SERVE = Path(__file__).parents[2] / "src" / "upskill" / "setup" / "example" / "local_model.py"
"""The file that `upskill init` hands to users: what they start is what is tested."""


@pytest.fixture(scope="session")
def local_model(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a llama.cpp server with SmolLM2-135M-Instruct."""
    pytest_socket.enable_socket()  # the session outlives the test whose marker opened loopback
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path_factory.mktemp("server") / "log"
    with log.open("w") as out:
        server = subprocess.Popen([sys.executable, str(SERVE), str(port)], stdout=out, stderr=out)
        try:
            _wait_until_healthy(port, server, log)
            yield f"http://127.0.0.1:{port}/v1"
        finally:
            server.kill()
            server.wait()


def _wait_until_healthy(port: int, server: "subprocess.Popen[bytes]", log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        if server.poll() is not None:
            break
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"the local model did not start: {log.read_text()[-2000:]}")
