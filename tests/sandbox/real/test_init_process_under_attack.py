"""Programs share a user with the init process, process 1. They may not read it, stop it, starve it or speak for it."""

import time
from dataclasses import replace

import pytest

from in_sandbox import Open
from upskill.sandbox import FileRefused, Limits, Sandbox, SandboxSpec
from upskill.sandbox.bubblewrap import open_bubblewrap
from upskill.sandbox.profile import HARDENED, own_interpreter

LOOK = """
import os
for path in ("/proc/1/fd", "/proc/1/environ", "/proc/1/mem", "/proc/1/maps", "/proc/1/root", "/proc/1/cwd"):
    try:
        os.listdir(path) if path.endswith(("fd", "root", "cwd")) else open(path, "rb").read(1)
        print("open", path, flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""


def test_trap_10_the_control_line_cannot_be_reached(sandbox: Sandbox) -> None:
    said = sandbox.run(["python3", "-c", LOOK], seconds=20).stdout.decode().split("\n")
    assert set(said) == {"PermissionError", ""}


def test_trap_10_bites_with_a_init_process_that_can_be_read() -> None:
    readable = HARDENED.init_process.replace(b"(PR_SET_DUMPABLE, 0)", b"(PR_SET_DUMPABLE, 1)")
    assert readable != HARDENED.init_process
    with open_bubblewrap(SandboxSpec(), recipe=replace(HARDENED, init_process=readable)) as sandbox:
        assert b"open /proc/1/fd" in sandbox.run(["python3", "-c", LOOK], seconds=20).stdout


def test_a_command_inherits_no_descriptor_but_its_streams(sandbox: Sandbox) -> None:
    ran = sandbox.run(["python3", "-c", "import os; print(sorted(map(int, os.listdir('/proc/self/fd'))))"], seconds=20)
    # The fourth is the listing itself.
    assert ran.stdout == b"[0, 1, 2, 3]\n"


SIGNALS = """
import os
for number in range(1, 65):
    try:
        os.kill(1, number)
    except OSError as error:
        print(number, error, flush=True)
"""


def test_no_signal_reaches_the_init_process(sandbox: Sandbox) -> None:
    sandbox.put({"kept": b"1"})
    assert sandbox.run(["python3", "-c", SIGNALS], seconds=20).ended == "exit"
    time.sleep(0.2)
    assert sandbox.run(["echo", "alive"], seconds=20).stdout == b"alive\n"
    assert sandbox.take() == {"kept": b"1"}


def test_a_flood_of_signals_does_not_jam_it(sandbox: Sandbox) -> None:
    flood = "import os, signal\nwhile True: os.kill(1, signal.SIGCHLD)"
    sandbox.run(["sh", "-c", f"python3 -c '{flood}' >/dev/null 2>&1 & exit 0"], seconds=20)
    started = time.monotonic()
    assert sandbox.run(["sleep", "30"], seconds=1).ended == "timeout"
    assert time.monotonic() - started < 20


SQUEEZE = """
import resource
for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CPU, resource.RLIMIT_AS, resource.RLIMIT_FSIZE):
    try:
        resource.prlimit(1, kind, (1, 1))
        print("squeezed", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""


def test_its_limits_cannot_be_lowered_from_below(sandbox: Sandbox) -> None:
    said = sandbox.run(["python3", "-c", SQUEEZE], seconds=20).stdout.decode().split()
    assert said == ["PermissionError"] * 4
    own = "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)); print('own')"
    assert sandbox.run(["python3", "-c", own], seconds=20).stdout == b"own\n"


STARVE = """
import os
for starve in (
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.setpriority(os.PRIO_USER, 0, 19),
):
    try:
        starve()
        print("starved", flush=True)
    except PermissionError:
        pass
os.nice(1)
for _ in range(20):
    if os.fork() == 0:
        break
while True:
    pass
"""


def test_a_starved_init_process_is_late_and_not_lost(sandbox: Sandbox) -> None:
    """At worst the host ends the sandbox itself, some seconds after the limit. It is a timeout either way."""
    started = time.monotonic()
    ran = sandbox.run(["python3", "-c", STARVE], seconds=1)
    assert (ran.ended, ran.stdout) == ("timeout", b"")
    assert time.monotonic() - started < 40


def test_a_fork_bomb_ends_with_its_time(sandbox: Sandbox) -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    started = time.monotonic()
    assert sandbox.run(["python3", "-c", bomb], seconds=1).ended == "timeout"
    assert time.monotonic() - started < 30
    assert sandbox.run(["sh", "-c", "echo $(echo alive)"], seconds=20).stdout == b"alive\n"


def test_a_bomb_left_in_the_background_cannot_keep_files_from_being_taken(sandbox: Sandbox) -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    sandbox.run(["sh", "-c", f"echo x > kept; python3 -c '{bomb}' >/dev/null 2>&1 & sleep 0.3; exit 0"], seconds=20)
    assert sandbox.take() == {"kept": b"x\n"}
    assert sandbox.run(["sh", "-c", "echo $(echo alive)"], seconds=20).stdout == b"alive\n"


def test_orphans_are_reaped(sandbox: Sandbox) -> None:
    sandbox.run(["sh", "-c", "for n in 1 2 3 4 5 6 7 8 9; do (sleep 0.05 &) ; done"], seconds=20)
    time.sleep(0.5)
    zombies = sandbox.run(["sh", "-c", "cat /proc/[0-9]*/stat | grep -c ' Z ' || true"], seconds=20)
    assert zombies.stdout.strip() == b"0"


def test_memory_that_no_process_has_mapped_cannot_be_made(sandbox: Sandbox) -> None:
    code = "import os\ntry: os.memfd_create('x')\nexcept OSError as error: print(error.errno)"
    assert sandbox.run(["python3", "-c", code], seconds=20).stdout == b"38\n"


def test_hostile_file_names_are_left_out_or_handed_on_whole(sandbox: Sandbox) -> None:
    script = "import os\nfor name in (b'a\\nb', b'\\xff\\xfe', 'ü'.encode(), b'-rf', b' '): open(name, 'w').close()"
    sandbox.run(["python3", "-c", script], seconds=20)
    assert set(sandbox.take()) == {"a\nb", "ü", "-rf", " "}


def test_folders_without_end_are_refused(sandbox: Sandbox) -> None:
    script = "import os\nfor _ in range(500): os.mkdir('d'); os.chdir('d')"
    sandbox.run(["python3", "-c", script], seconds=20)
    with pytest.raises(FileRefused, match="deeper than 64"):
        sandbox.take()
    assert sandbox.run(["true"], seconds=20).exit_code == 0


def test_the_kernels_files_are_not_read_by_the_init_process_for_anybody(sandbox: Sandbox) -> None:
    for path in ("/proc/1/environ", "/proc/self/mem", "/dev/zero", "/proc/1/cmdline"):
        with pytest.raises(FileRefused):
            sandbox.read(path)


def test_read_only_files_stay_as_they_are(opened: Open) -> None:
    sandbox = opened(SandboxSpec(read_only={"/skill/SKILL.md": b"true\n"}))
    script = """
    echo x > /skill/SKILL.md; rm -f /skill/SKILL.md; mv /skill /other; chmod 777 /skill/SKILL.md
    echo y > /tmp/y && mv /tmp/y /skill/SKILL.md; ln -sf /tmp /skill; touch /skill/new
    """
    sandbox.run(["sh", "-c", script], seconds=20)
    assert sandbox.read("/skill/SKILL.md") == b"true\n"
    assert sandbox.run(["ls", "/skill"], seconds=20).stdout == b"SKILL.md\n"
    with pytest.raises(FileRefused):
        sandbox.put({"/skill/SKILL.md": b"changed"})


def test_many_read_only_files_are_furnished_and_too_many_refused(opened: Open) -> None:
    many = {f"/skill/references/{number}.md": str(number).encode() for number in range(500)}
    sandbox = opened(SandboxSpec(read_only=many))
    assert sandbox.read("/skill/references/499.md") == b"499"
    with pytest.raises(FileRefused, match="501 read-only files"):
        opened(SandboxSpec(read_only={**many, "/skill/x": b""}))


@pytest.mark.parametrize(
    "target", ["relative", "/usr/local/x", "/proc/x", "/dev/x", "/run/x", "/a/../b", "/", "/bin/sh"]
)
def test_furnishing_the_system_itself_is_refused(opened: Open, target: str) -> None:
    with pytest.raises(FileRefused):
        opened(SandboxSpec(read_only={target: b""}))


def test_large_programs_have_what_they_need(opened: Open) -> None:
    """What a coding agent asks for: no limit on address space, a larger home, names of users and of localhost."""
    sandbox = opened(
        SandboxSpec(limits=Limits(address_space_mb=None, memory_mb=1024, processes=256, home_mb=32, open_files=4096))
    )
    code = """
import mmap, os, pwd, socket
mmap.mmap(-1, 8 << 30, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
open(os.path.expanduser("~/large"), "wb").write(b"x" * (20 << 20))
print(pwd.getpwuid(os.getuid()).pw_name, socket.gethostbyname("localhost"), os.access("/var/tmp", os.W_OK))
"""
    ran = sandbox.run(["python3", "-c", code], seconds=20)
    assert ran.stdout == b"agent 127.0.0.1 True\n", ran.stderr


def test_where_the_system_has_no_python_the_init_process_runs_on_ours_and_its_path_tells_nothing() -> None:
    with open_bubblewrap(SandboxSpec(), interpreter=own_interpreter()) as sandbox:
        said = sandbox.run(["cat", "/proc/1/cmdline", "/proc/1/environ"], seconds=20).stdout.split(b"\0")
        assert said[0].startswith(b"/opt/python/bin/python3.")
        assert said[1:5] == [b"-I", b"-S", b"-B", b"/run/init"]
        assert sandbox.take() == {}
