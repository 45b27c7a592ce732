"""The one way out: a unix socket of the host, bound inside. There is still no network, but loopback inside works."""

import os
import shutil
import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from upskill.sandbox import FileRefused, Mount, SandboxSpec, open_sandbox


@pytest.fixture
def service() -> Iterator[Path]:
    """Answers every line with what it heard. In a short folder: a socket's name has at most 107 characters."""
    folder = Path(tempfile.mkdtemp())
    path = folder / "model.sock"
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()
    path.chmod(0o666)

    def serve() -> None:
        while True:
            try:
                line, _ = server.accept()
            except OSError:
                return
            with line:
                line.sendall(b"heard " + line.recv(100))

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield path
    server.shutdown(socket.SHUT_RDWR)
    server.close()
    thread.join()
    shutil.rmtree(folder)


RELAY = """
import socket, threading
server = socket.create_server(("127.0.0.1", 8080))
def relay():
    while True:
        inner, _ = server.accept()
        outer = socket.socket(socket.AF_UNIX)
        outer.connect("/run-model.sock")
        outer.sendall(inner.recv(100))
        inner.sendall(outer.recv(100))
        inner.close()
threading.Thread(target=relay, daemon=True).start()
import time
open("/tmp/ready", "w").close()
time.sleep(1000)
"""
ASK = """
import socket
line = socket.create_connection(("localhost", 8080), timeout=10)
line.sendall(b"hello")
print(line.recv(100).decode(), flush=True)
"""


def test_a_relay_in_the_background_serves_later_commands(service: Path) -> None:
    spec = SandboxSpec(sockets=(Mount(source=service, target="/run-model.sock"),))
    with open_sandbox(spec) as sandbox:
        sandbox.put({"/tmp/relay.py": RELAY.encode()})
        script = "python3 /tmp/relay.py >/dev/null 2>&1 & while [ ! -e /tmp/ready ]; do sleep 0.05; done"
        assert sandbox.run(["sh", "-c", script], seconds=20).exit_code == 0
        for _ in range(2):
            assert sandbox.run(["python3", "-c", ASK], seconds=20).stdout == b"heard hello\n"


def test_two_sandboxes_may_listen_on_the_same_port(service: Path) -> None:
    code = "import socket, time; socket.create_server(('127.0.0.1', 8080)); time.sleep(0.2); print('listened')"
    with open_sandbox() as one, open_sandbox() as two:
        said = [sandbox.run(["python3", "-c", code], seconds=20).stdout for sandbox in (one, two)]
    assert said == [b"listened\n"] * 2


def test_a_socket_that_is_not_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(FileRefused, match="nothing to mount"):
        open_sandbox(SandboxSpec(sockets=(Mount(source=tmp_path / "none", target="/model.sock"),)))


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser lays down rights")
def test_a_closed_socket_is_refused_with_the_command_that_opens_it(service: Path) -> None:
    service.chmod(0o600)
    with pytest.raises(FileRefused, match=r"chmod o\+w"):
        open_sandbox(SandboxSpec(sockets=(Mount(source=service, target="/model.sock"),)))
