"""A small model, served on loopback while a block runs: that of the tests, or one of `make models`."""

import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVE = Path(__file__).parent.parent / "src" / "upskill" / "setup" / "example" / "local_model.py"
MOST_SECONDS = 120.0
"""Until a model that is loaded from a cold disk answers."""


@contextmanager
def served_model(port: int = 0, *, cache: bool = False, size: str | None = None, long: bool = False) -> Iterator[str]:
    """The address of the server, without `/v1`; at any free port, or at this one. Raises `RuntimeError` if it fails.

    `size` names a model of `tools/models.py`, which may be served for `long` requests; by default it is the one that
    `make setup` installs.
    """
    with socket.socket() as free:
        free.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        free.bind(("127.0.0.1", port))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    if size is None:
        command = [str(SERVE), str(port), *(["--cache"] if cache else [])]
    else:
        command = ["-m", "tools.models", "serve", size, str(port), *([] if cache else ["--no-cache"])]
        command += ["--long"] if long else []
    server = subprocess.Popen(
        [sys.executable, *command],
        cwd=Path(__file__).parent.parent,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait(url, server)
        yield url
    finally:
        server.kill()
        server.wait()


def _wait(url: str, server: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + MOST_SECONDS
    while server.poll() is None and time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError("the local model did not start; start its server by itself to see why")
