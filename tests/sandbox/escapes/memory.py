"""Probes 35 to 44: memory that belongs to no process, what a sandbox is left as, and the sum over a run."""

import platform
import threading
import time
from dataclasses import replace

from sandbox.escapes.kernel import number_of
from sandbox.escapes.scenes import CALLS, must_print
from upskill.sandbox.contract import FileRefused, Limits, Sandbox
from upskill.sandbox.memory import POOL
from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, ending, finished, lines, outcome, printed
from upskill.sandbox.profile import NEWEST, UNUSED

MEBIBYTE = 1_048_576

_MAKE = """
import sys
for word in sys.argv[1:]:
    name, number = word.split("=")
    print(name, call(int(number), 0, 250, 0o1600, 0, 0), flush=True)
"""


def _not_there(number: int, what: str, *names: str, numbers: tuple[int, ...] = ()) -> Probe:
    """Calls that are answered as a kernel without them would."""
    words = {**{name: number_of(name) for name in names}, **{f"call-{given}": given for given in numbers}}
    return must_print(
        [f"{name} ENOSYS" for name in words],
        number,
        what,
        CALLS + _MAKE,
        *(f"{name}={given}" for name, given in words.items()),
        good="each ENOSYS",
    )


_ENTRIES = """
import os, sys, time
most = int(sys.argv[1])
try:
    for number in range(most):
        os.mknod("/tmp/" + str(number))
    time.sleep(2)
    print("all made", flush=True)
except OSError as error:
    print(error.strerror, "after", number, flush=True)
"""


def _entries(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_ENTRIES, 1_200 * scene.spec.limits.memory_mb, seconds=40)
    return outcome(ran.ended == "memory", f"out of memory, ended after {ran.seconds:.1f} s", printed(ran))


_FILES_AND_MEMORY = """
import sys, time
for name, size in (("/workspace/fill%d", int(sys.argv[1])), ("/tmp/fill%d", int(sys.argv[2]))):
    for number in range(0, size, 30):
        open(name % number, "wb").write(b"x" * (min(30, size - number) << 20))
content = bytearray(int(sys.argv[3]) << 20)
content[::4096] = b"x" * len(content[::4096])
time.sleep(2)
print("had both", flush=True)
"""


def _files_and_memory(scene: Scene) -> ProbeOutcome:
    limits = scene.spec.limits
    workspace, tmp = limits.workspace_mb * 9 // 10, limits.tmp_mb * 9 // 10
    rest = limits.memory_mb - (workspace + tmp) // 2
    ran = scene.python(_FILES_AND_MEMORY, workspace, tmp, rest)
    good = f"out of memory: {workspace + tmp} MB of files and {rest} MB in a process"
    return outcome(ran.ended == "memory", good, printed(ran))


_BUFFERS = """
import os, socket, sys, time
kind, children, most = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

def pair(listener):
    if kind == "unix":
        return socket.socketpair()
    one = socket.create_connection(listener.getsockname())
    return one, listener.accept()[0]

def fill(most):
    total, kept = 0, []
    listener = socket.create_server(("127.0.0.1", 0)) if kind == "tcp" else None
    try:
        while total < most:
            kept.append(pair(listener))
            for end in kept[-1]:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
                end.setblocking(False)
                try:
                    while total < most:
                        total += end.send(b"x" * 60000)
                except BlockingIOError:
                    pass
    except OSError:
        pass
    return total, kept

reading, writing = os.pipe()
for _ in range(children):
    if os.fork() == 0:
        total, kept = fill(most // children)
        os.write(writing, b"%d\\n" % total)
        time.sleep(30)
        os._exit(0)
lines = os.fdopen(reading)
total = sum(int(lines.readline()) for _ in range(children))
time.sleep(1)
print(total, flush=True)
"""


def _buffers(scene: Scene, kind: str, children: int) -> ProbeOutcome:
    ceiling = scene.spec.limits.memory_mb
    ran = scene.python(_BUFFERS, kind, children, (ceiling + 128) * MEBIBYTE, seconds=30)
    if ran.ended == "memory":
        return ProbeOutcome(held=True, saw=f"out of memory, ended after {ran.seconds:.1f} s")
    size = int(lines(ran)[0]) // MEBIBYTE if finished(ran) else None
    held = size is not None and size <= ceiling
    return outcome(held, f"{size} MB, and no more", f"{size} MB in buffers, {ending(ran)}")


def _unix_buffers(scene: Scene) -> ProbeOutcome:
    return _buffers(scene, "unix", 24)


def _tcp_buffers(scene: Scene) -> ProbeOutcome:
    return _buffers(scene, "tcp", 1)


def _sum_over_a_run(scene: Scene) -> ProbeOutcome:
    """Two sandboxes that may use the whole pool each: the second must wait for the first."""
    spec = replace(scene.spec, limits=replace(scene.spec.limits, memory_mb=Limits().memory_mb + POOL.megabytes))
    opened: list[Sandbox] = []
    with scene.open_one(spec):
        second = threading.Thread(target=lambda: opened.append(scene.open_one(spec)))
        second.start()
        second.join(timeout=1)
        at_once = len(opened)
    second.join(timeout=20)
    for sandbox in opened:
        sandbox.close()
    held = at_once == 0 and len(opened) == 1
    good = f"the second waited; all together may use {POOL.megabytes:,} MB beyond the default"
    return outcome(held, good, f"{1 + at_once} open at once, {len(opened)} opened afterwards")


_FOLDERS = 'import os\nfor number in range(25000): os.mkdir("d%d" % number)'


def _left_folders(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_FOLDERS)
    started = time.monotonic()
    try:
        saw = f"{len(scene.sandbox.take())} files taken"
        refused = False
    except FileRefused as refusal:
        saw, refused = f"refused: {refusal}", True
    held = finished(ran) and refused and time.monotonic() - started < 8
    return outcome(held, saw, f"{saw} after {time.monotonic() - started:.1f} s, {ending(ran)}")


_STARVE = """
import os
for whose, who in ((os.PRIO_PROCESS, 1), (os.PRIO_USER, 0)):
    try:
        os.setpriority(whose, who, 19)
        print("lowered", flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
try:
    os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0))
    print("made idle", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""

PROBES = (
    _not_there(35, "create System V semaphores", "semget"),
    _not_there(36, "create message queues and shared memory", "msgget", "mq_open", "shmget", "memfd_create"),
    _not_there(
        37,
        "make unknown system calls, pin pages in pipes",
        *("vmsplice", "io_setup"),
        numbers=(NEWEST + 1, 600, UNUSED[platform.machine()][1] - 1) if platform.machine() in UNUSED else (),
    ),
    Probe(id=38, what="create empty files endlessly", attempt=_entries),
    Probe(id=39, what="fill files and allocate memory, each below its limit", attempt=_files_and_memory),
    Probe(id=40, what="fill the buffers of local sockets", attempt=_unix_buffers),
    Probe(id=41, what="fill the buffers of TCP connections", attempt=_tcp_buffers),
    Probe(id=42, what="open two sandboxes whose limits add up", attempt=_sum_over_a_run),
    Probe(id=43, what="leave 25,000 folders behind", attempt=_left_folders),
    must_print(["PermissionError"] * 3, 44, "lower the priority of process 1", _STARVE, good="refused"),
)
