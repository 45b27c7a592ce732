"""Containers on a real engine: the probes with their controls, sockets over the wire, many at once, nothing left.

The contract of every sandbox is in `test_contract.py`, the death of a supervisor in `test_leaving_nothing.py`.
"""

import os
import platform
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from in_containers import nothing_is_left_in_podman
from sandbox.escapes.scenes import processes_named
from sandbox.escapes.suite import PROBES, run_probes
from upskill.processes import ENVIRONMENTS
from upskill.sandbox import (
    Limits,
    Mount,
    Sandbox,
    SandboxSpec,
    SandboxUnavailable,
    container,
    describe_sandbox,
    profile,
    require_sandbox,
)
from upskill.sandbox.container import IMAGE_VARIABLE, command, flags, image_name, open_container
from upskill.sandbox.probes import QUICK, Result

pytestmark = pytest.mark.usefixtures("podman")
FIRST = ("python3", *command(()))
NOT_COUNTED = {41}
"""Control groups of version 1 count buffers of TCP apart, and no engine bounds them. The threat model says so."""


def probes(*numbers: int) -> list[Result]:
    return list(run_probes(partial(open_container, "podman"), only=set(numbers), first=FIRST))


@pytest.fixture(scope="module")
def results() -> dict[int, Result]:
    """Each probe in a container of its own, one at a time: the bait is in the environment, of which there is one."""
    return {result.id: result for result in probes(*(probe.id for probe in PROBES))}


@pytest.mark.parametrize("number", [probe.id for probe in PROBES if probe.id not in NOT_COUNTED])
def test_the_wall_holds(results: dict[int, Result], number: int) -> None:
    assert results[number].held, results[number]


def test_what_is_not_bounded_is_known(results: dict[int, Result]) -> None:
    """Where this fails, groups are of version 2, and the threat model promises too little."""
    if Path("/sys/fs/cgroup/memory").is_dir():
        assert not any(results[number].held for number in NOT_COUNTED)


@pytest.mark.parametrize(
    ("flag", "instead", "broken"),
    [
        ("--network=", "--network=host", {6, 8}),
        ("--cap-drop=", "--cap-drop=CHOWN", {14}),
        pytest.param("--memory", "--oom-score-adj=0", {20}, marks=pytest.mark.full),
        ("--pids-limit=", "--pids-limit=4096", {18}),
        ("--tmpfs=/sys", "--oom-score-adj=0", {10}),
    ],
)
def test_each_flag_is_needed(flag: str, instead: str, broken: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "flags", with_another(flag, instead))
    assert {result.id for result in probes(*broken) if not result.held} == broken


def with_another(flag: str, instead: str) -> Callable[..., list[str]]:
    def weaker(*given: Any, **named: Any) -> list[str]:
        return [instead if word.startswith(flag) else word for word in flags(*given, **named)]

    return weaker


def test_where_privileges_could_be_gained_there_is_no_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    """No user may filter system calls then, and the init process does not go on without its filter."""
    monkeypatch.setattr(container, "flags", with_another("--security-opt=", "--oom-score-adj=0"))
    with pytest.raises(SandboxUnavailable, match="filter of system calls was refused"):
        open_container("podman", SandboxSpec())


def test_the_engines_own_filter_is_not_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(container, "filters", lambda: f"{platform.machine()} {profile._PASS.hex()}\n".encode())
    assert {result.id for result in probes(33, 35, 44) if not result.held} == {33, 35, 44}


def test_what_confines_a_run_is_shown_before_it_and_written_down() -> None:
    facts = require_sandbox("podman")
    assert (facts.backend, facts.memory_by) == ("podman", "cgroup")
    assert facts.probes == tuple(probe.id for probe in QUICK)
    assert (facts.profile or "").startswith("sha256:")


def test_no_key_of_ours_reaches_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", "a-key-of-ours")
    with open_container("podman", SandboxSpec()):
        (client,) = processes_named(f"--name=upskill-{os.getpid()}-")
        assert b"a-key-of-ours" not in Path(f"/proc/{client}/environ").read_bytes()
    assert "UPSKILL_ENDPOINT_KEY" not in ENVIRONMENTS["container"]


@pytest.fixture
def service() -> Iterator[Path]:
    """Answers every connection with all that it heard, when it has heard all."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listener:
        path = Path(folder, "model.sock")
        listener.bind(str(path))
        listener.listen()

        def answer(line: socket.socket) -> None:
            with line:
                while chunk := line.recv(1 << 16):
                    line.sendall(chunk)

        def serve() -> None:
            while True:
                try:
                    line, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(line,), daemon=True).start()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


ECHO = """
import hashlib, os, socket, sys, threading
def talk(number):
    line = socket.socket(socket.AF_UNIX)
    line.connect("\\0" + sys.argv[1][1:])
    said, heard = hashlib.sha256(), hashlib.sha256()
    def say():
        for _ in range(int(sys.argv[2])):
            chunk = os.urandom(50_000)
            said.update(chunk)
            line.sendall(chunk)
        line.shutdown(socket.SHUT_WR)
    thread = threading.Thread(target=say)
    thread.start()
    while chunk := line.recv(1 << 16):
        heard.update(chunk)
    thread.join()
    print("same" if said.digest() == heard.digest() else "other", flush=True)
threads = [threading.Thread(target=talk, args=(number,)) for number in range(int(sys.argv[3]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
SILENT = """
import socket, sys, time
lines = []
for _ in range(100):
    line = socket.socket(socket.AF_UNIX)
    line.setblocking(False)
    try:
        line.connect("\\0" + sys.argv[1][1:])
        line.send(b"x" * 100_000)
    except OSError:
        pass
    lines.append(line)
time.sleep(1000)
"""


def test_connections_to_a_socket_of_the_host_go_over_the_wire(service: Path, contained: Callable[..., Sandbox]) -> None:
    limits = Limits(processes=200, address_space_mb=None)
    place = contained(SandboxSpec(limits=limits, sockets=(Mount(source=service, target="/opt/model.sock"),)))
    name = place.where("/opt/model.sock")
    assert name == "@/opt/model.sock"
    ran = place.run(["python3", "-c", ECHO, name, "60", "4"], seconds=60)
    assert ran.stdout.split() == [b"same"] * 4, "12 MB in each direction, more than any window, and in parallel"
    ran = place.run(["python3", "-c", ECHO, name, "1", "40"], seconds=60)
    assert ran.stdout.split() == [b"same"] * 40, "more than may be open at a time"
    taker = "import socket, sys; line = socket.socket(socket.AF_UNIX); line.bind('\\0' + sys.argv[1][1:])"
    assert place.run(["python3", "-c", taker, name], seconds=20).exit_code == 1, "nobody takes the name"


def test_a_program_that_neither_reads_nor_ends_is_stopped(service: Path, contained: Callable[..., Sandbox]) -> None:
    place = contained(SandboxSpec(sockets=(Mount(source=service, target="/opt/model.sock"),)))
    place.put({"kept": b"1"})
    name = place.where("/opt/model.sock")
    assert place.run(["python3", "-c", SILENT, name], seconds=2).ended == "timeout"
    threading.Timer(1, place.stop).start()
    assert place.run(["python3", "-c", SILENT, name], seconds=60).ended == "timeout"
    assert place.take() == {"kept": b"1"}
    ran = place.run(["python3", "-c", ECHO, name, "1", "2"], seconds=60)
    assert ran.stdout.split() == [b"same"] * 2, "its connections have ended with it"


BOMBS = {
    "memory": "python3 -c 'x = [bytearray(30 << 20) for _ in range(10**6)]'",
    "files": "head -c 900000000 /dev/zero > big; for n in $(seq 3000); do head -c 50000 /dev/zero > f$n; done",
    "processes": "while true; do sleep 30 & done",
    "descriptors": "python3 -c 'import os; x = [os.pipe() for _ in range(10**6)]'",
}


def test_eight_at_once_and_bombs_in_four_of_them_hurt_no_other(marker: str) -> None:
    def bomb(script: str) -> str:
        with open_container("podman", SandboxSpec(limits=Limits(memory_mb=128))) as place:
            return place.run(["sh", "-c", f"exec 2>/dev/null; {script}"], seconds=8).ended

    def work(number: int) -> bytes:
        with open_container("podman", SandboxSpec()) as place:
            place.put({"file": str(number).encode()})
            for _ in range(10):
                assert place.run(["sh", "-c", "cat file > copy; sleep 0.3"], seconds=60).exit_code == 0
            place.run(["sh", "-c", f"sleep {marker} &"], seconds=60)
            return place.take()["copy"]

    with ThreadPoolExecutor(8) as pool:
        bombs, works = pool.map(bomb, BOMBS.values()), pool.map(work, range(4))
        assert list(works) == [b"0", b"1", b"2", b"3"]
        assert {*bombs} <= {"exit", "timeout", "memory"}
    assert processes_named(marker) == []
    assert nothing_is_left_in_podman()


def test_a_container_leaves_no_descriptor_thread_or_folder(descriptors: Callable[[], int]) -> None:
    with open_container("podman", SandboxSpec()):
        pass
    before, threads = descriptors(), threading.active_count()
    for _ in range(2):
        with open_container("podman", SandboxSpec()) as place:
            place.run(["true"], seconds=20)
    assert (descriptors(), threading.active_count()) == (before, threads)
    assert not list(Path(tempfile.gettempdir()).glob(f"upskill-container-{os.getpid()}-*"))


def test_what_is_missing_is_said_and_nothing_is_left(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(IMAGE_VARIABLE, "--privileged")
    with pytest.raises(SandboxUnavailable, match="names no image"):
        image_name()
    monkeypatch.setenv(IMAGE_VARIABLE, "localhost/missing")
    with pytest.raises(SandboxUnavailable, match="has no image localhost/missing"):
        describe_sandbox("podman")
    with pytest.raises(SandboxUnavailable, match="no sandbox"):
        open_container("podman", SandboxSpec())
    assert nothing_is_left_in_podman()
    monkeypatch.delenv(IMAGE_VARIABLE)
    assert image_name() == "upskill"
    odd = tmp_path / "a,b"
    odd.write_text("x")
    with pytest.raises(SandboxUnavailable, match="comma"):
        open_container("podman", SandboxSpec(mounts=(Mount(source=odd, target="/odd"),)))


def test_close_takes_no_time_that_anybody_notices(contained: Callable[..., Sandbox]) -> None:
    place = contained()
    started = time.monotonic()
    place.close()
    assert time.monotonic() - started < 5, "the engine removes a container that has ended by itself"


def test_a_container_that_a_killed_process_left_is_removed_with_its_folder() -> None:
    owner = subprocess.Popen(["true"])
    owner.wait()
    mine = f"{owner.pid}-0123456789abcdef"
    folder = Path(tempfile.gettempdir(), f"upskill-container-{mine}")
    folder.mkdir()
    words = flags("podman", Limits(), name=f"upskill-{mine}", mounts=())
    sleeping = (image_name(), "-c", "import time; time.sleep(600)")
    subprocess.run(["podman", *words, "--detach", *sleeping], check=True)
    container._sweep.cache_clear()
    with open_container("podman", SandboxSpec()):
        listed = subprocess.run(
            ["podman", "ps", "--all", "--format={{.Names}}"], capture_output=True, text=True, check=True
        )
        assert mine not in listed.stdout
        assert not folder.exists()
