"""Probes 12 to 14 and 31 to 34: rights, namespaces, devices and system calls."""

import platform

from sandbox.escapes.scenes import CALLS, must_print
from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, finished, lines, outcome, printed
from upskill.sandbox.profile import NUMBERS


def number_of(name: str) -> int:
    number = NUMBERS[name][0 if platform.machine() == "x86_64" else 1]
    if number is None:
        raise KeyError(name)
    return number


_MOUNT = """
import sys
number, leave, clone = map(int, sys.argv[1:])
os.mkdir("/tmp/there")
target = ctypes.create_string_buffer(b"/tmp/there")
kind = ctypes.create_string_buffer(b"tmpfs")
print("mount", call(number, kind, target, kind, 0, 0), flush=True)
print("nested", call(leave, 0x10000000 | 0x00020000), flush=True)
print("mount in it", call(number, kind, target, kind, 0, 0), flush=True)
"""


_NAMESPACE = """
import sys
leave, clone, newer = map(int, sys.argv[1:])
print("unshare", call(leave, 0x10000000), flush=True)
pid = libc.syscall(ctypes.c_long(clone), ctypes.c_long(0x10000000 | 17), 0, 0, 0, 0)
if pid == 0:
    os._exit(0)
print("clone", "done" if pid > 0 else errno.errorcode[ctypes.get_errno()], flush=True)
print("clone3", call(newer, 0, 0), flush=True)
"""


_TERMINAL = """
import fcntl
try:
    os.open("/dev/tty", os.O_RDWR)
    print("tty opened", flush=True)
except OSError as error:
    print("tty", errno.errorcode[error.errno], flush=True)
for descriptor in (0, 1, 2):
    try:
        fcntl.ioctl(descriptor, 0x5412, b"x")
        print("typed", flush=True)
    except OSError as error:
        print("typing", errno.errorcode[error.errno], flush=True)
"""


_DEVICES = """
import stat
for folder in ("/tmp", "/workspace", "/dev/shm"):
    try:
        os.mknod(folder + "/disk", 0o600 | stat.S_IFBLK, os.makedev(8, 0))
        print("made", folder, flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
print(" ".join(sorted(os.listdir("/dev"))), flush=True)
"""
_EXPECTED_DEVICES = frozenset(
    {"console", "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"}
    | {"stderr", "stdin", "stdout"}
)


def _devices(scene: Scene) -> ProbeOutcome:
    ran = scene.python(CALLS + _DEVICES)
    made = lines(ran)[:3] != ["EPERM"] * 3
    nodes = set(lines(ran)[3].split()) if len(lines(ran)) > 3 else {"?"}
    held = finished(ran) and not made and nodes <= _EXPECTED_DEVICES
    good = "refused; no kvm, mem or vsock in /dev"
    return outcome(held, good, f"also {sorted(nodes - _EXPECTED_DEVICES)}; {printed(ran)}")


_FORBIDDEN = """
import sys
for word in sys.argv[1:]:
    name, number = word.split("=")
    print(name, call(int(number), 0, 0, 0, 0, 0), flush=True)
"""
_REFUSED_CALLS = ("keyctl", "bpf", "io_uring_setup", "userfaultfd")

PROBES = (
    must_print(
        ["mount EPERM", "nested EPERM", "mount in it EPERM"],
        12,
        "mount a file system, also in a nested namespace",
        CALLS + _MOUNT,
        *map(number_of, ("mount", "unshare", "clone")),
        good="EPERM, also nested",
    ),
    must_print(
        ["unshare EPERM", "clone EPERM", "clone3 ENOSYS"],
        13,
        "create a nested user namespace",
        CALLS + _NAMESPACE,
        *map(number_of, ("unshare", "clone", "clone3")),
        good="unshare and clone EPERM, clone3 ENOSYS",
    ),
    must_print(
        ["tty ENXIO", *["typing EPERM"] * 3],
        31,
        "open the terminal and type into it",
        CALLS + _TERMINAL,
        good="no such device, typing refused",
    ),
    Probe(id=32, what="create a disk device, look for others", attempt=_devices),
    must_print(
        [f"{name} EPERM" for name in _REFUSED_CALLS],
        34,
        "call keyctl, bpf, io_uring_setup, userfaultfd",
        CALLS + _FORBIDDEN,
        *(f"{name}={number_of(name)}" for name in _REFUSED_CALLS),
        good="each EPERM",
    ),
)
