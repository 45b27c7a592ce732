"""Nothing outlives a sandbox: no process, no descriptor, no folder, whoever ends it and however."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from in_containers import nothing_is_left_in_podman
from sandbox.escapes.scenes import processes_named
from upskill.sandbox import Mount, Sandbox, SandboxSpec, open_sandbox
from upskill.sandbox.memory import find_controllers

SOURCES = Path(__file__).parents[3] / "src"


def groups() -> list[Path]:
    found = find_controllers()
    parents = {found.memory, found.processes or found.memory} if found else set()
    return [folder for parent in parents for folder in parent.glob(f"upskill-{os.getpid()}-*")]


def test_fifty_sandboxes_leave_no_descriptor_process_or_group(descriptors: Callable[[], int], marker: str) -> None:
    with open_sandbox() as first:
        first.run(["true"], seconds=20)
    before, threads = descriptors(), threading.active_count()

    def use(_: int) -> None:
        with open_sandbox() as sandbox:
            sandbox.run(["sh", "-c", f"sleep {marker} & exit 0"], seconds=20)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(use, range(50)))
    assert descriptors() == before
    assert threading.active_count() == threads
    assert processes_named(marker) == []
    assert groups() == []


def test_a_sandbox_outlives_the_thread_that_opened_it() -> None:
    """The kernel's "die with the parent" means the thread that forked; a pool lets its threads go."""
    opened: list[Sandbox] = []
    thread = threading.Thread(target=lambda: opened.append(open_sandbox()))
    thread.start()
    thread.join()
    time.sleep(0.3)
    with opened[0] as sandbox:
        assert sandbox.run(["echo", "alive"], seconds=20).stdout == b"alive\n"


def test_sandboxes_open_in_a_child_after_a_fork() -> None:
    with open_sandbox() as ours:
        code = "import os; from upskill.sandbox import open_sandbox\n"
        code += "with open_sandbox() as one:\n one.run(['true'], seconds=20)\n pid = os.fork()\n"
        code += " if pid == 0:\n  with open_sandbox() as two:\n   ran = two.run(['echo', 'child'], seconds=20)\n"
        code += "   print(ran.stdout.decode(), flush=True)\n  os._exit(0)\n os.waitpid(pid, 0)\n"
        done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True)
        assert done.stdout.strip() == "child"
        assert ours.run(["true"], seconds=20).exit_code == 0


SUPERVISOR = """
import sys, time
from pathlib import Path
from upskill.sandbox import open_sandbox
sandbox = open_sandbox(backend=sys.argv[1], scratch=Path(sys.argv[3]))
sandbox.run(["sh", "-c", "(setsid sleep $0 &); sleep $0 & exit 0", sys.argv[2]], seconds=20)
print("ready", flush=True)
sandbox.run(["sleep", sys.argv[2]], seconds=1000)
"""


@pytest.mark.parametrize("backend", ["bubblewrap", "podman", "none"])
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_supervisor_that_dies_takes_everything_along(
    marker: str, how: signal.Signals, backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "podman":
        request.getfixturevalue("podman")
    words = [sys.executable, "-c", SUPERVISOR, backend, marker, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as supervisor:
        assert supervisor.stdout is not None
        assert supervisor.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 10
        while len(others(marker, supervisor.pid)) < 3 and time.monotonic() < deadline:
            time.sleep(0.02)
        assert len(others(marker, supervisor.pid)) >= 3
        supervisor.send_signal(how)
        supervisor.wait()
        deadline = time.monotonic() + 10
        while processes_named(marker) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert processes_named(marker) == []
    if backend == "podman":
        assert nothing_is_left_in_podman(supervisor.pid)


def others(marker: str, supervisor: int) -> list[int]:
    return [process for process in processes_named(marker) if process != supervisor]


def test_one_sandbox_ends_and_its_neighbours_live(marker: str) -> None:
    with open_sandbox() as one, open_sandbox() as two:
        one.put({"x": b"1"})
        assert two.take() == {}
        one.close()
        assert two.run(["true"], seconds=20).exit_code == 0


def test_mounts_are_read_only_and_what_lies_behind_a_closed_folder_can_be_mounted(tmp_path: Path) -> None:
    """Folders of pytest are closed to others; the superuser lays down its rights and must still mount from them."""
    folder = tmp_path / "toolkit"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "include.h").write_text("int x;\n")
    before = sorted(Path("/tmp").glob("upskill-stage-*"))
    with open_sandbox(SandboxSpec(mounts=(Mount(source=folder, target="/opt/toolkit"),))) as sandbox:
        script = "cat /opt/toolkit/include.h; echo x > /opt/toolkit/new; rm /opt/toolkit/include.h"
        assert sandbox.run(["sh", "-c", script], seconds=20).stdout == b"int x;\n"
    assert [path.name for path in folder.iterdir()] == ["include.h"]
    assert sorted(Path("/tmp").glob("upskill-stage-*")) == before
