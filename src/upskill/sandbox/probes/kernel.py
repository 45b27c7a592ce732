"""Probes 12 to 14 and 31 to 34: rights, namespaces, devices and system calls."""

import errno
import platform

from upskill.sandbox.probes.probe import Probe, ProbeOutcome, Scene, lines, told, whole
from upskill.sandbox.seccomp import NUMBERS

_CALLS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def _number(name: str) -> int:
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


def _mount(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _MOUNT, _number("mount"), _number("unshare"), _number("clone"))
    held = whole(ran) and lines(ran) == ["mount EPERM", "nested EPERM", "mount in it EPERM"]
    return ProbeOutcome(held=held, saw="EPERM, also nested" if held else told(ran))


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


def _namespace(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _NAMESPACE, _number("unshare"), _number("clone"), _number("clone3"))
    held = whole(ran) and lines(ran) == ["unshare EPERM", "clone EPERM", "clone3 ENOSYS"]
    return ProbeOutcome(held=held, saw="unshare and clone EPERM, clone3 ENOSYS" if held else told(ran))


_STATUS = """
for line in open("/proc/self/status"):
    if line.startswith(("NoNewPrivs", "CapEff", "CapBnd", "CapPrm", "Seccomp:")):
        print(line.strip().replace("\\t", " "), flush=True)
"""


def _rights(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_STATUS)
    facts = dict(line.split(": ", 1) for line in lines(ran) if ": " in line)
    expected = {"NoNewPrivs": 1, "CapEff": 0, "CapBnd": 0, "CapPrm": 0, "Seccomp": 2}
    held = whole(ran) and {name: int(value, 16) for name, value in facts.items()} == expected
    return ProbeOutcome(held=held, saw="no new privileges, no capability" if held else told(ran))


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


def _terminal(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _TERMINAL)
    held = whole(ran) and lines(ran) == ["tty ENXIO", *["typing EPERM"] * 3]
    return ProbeOutcome(held=held, saw="no such device, typing refused" if held else told(ran))


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
    {"console", "core", "fd", "full", "null", "ptmx", "pts", "random", "shm", "tty", "urandom", "zero"}
    | {"stderr", "stdin", "stdout"}
)


def _devices(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _DEVICES)
    made = lines(ran)[:3] != ["EPERM"] * 3
    nodes = set(lines(ran)[3].split()) if len(lines(ran)) > 3 else {"?"}
    held = whole(ran) and not made and nodes <= _EXPECTED_DEVICES
    good = "refused; no kvm, mem or vsock in /dev"
    return ProbeOutcome(held=held, saw=good if held else f"also {sorted(nodes - _EXPECTED_DEVICES)}; {told(ran)}")


_VSOCK = """
import socket
for family in (40, 16, 17, 38):
    try:
        socket.socket(family, socket.SOCK_RAW if family != 40 else socket.SOCK_STREAM)
        print(family, "opened", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
"""


def _vsock(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _VSOCK)
    held = whole(ran) and lines(ran) == ["EAFNOSUPPORT"] * 4
    return ProbeOutcome(held=held, saw="address family not supported" if held else told(ran))


_FORBIDDEN = """
import sys
for word in sys.argv[1:]:
    name, number = word.split("=")
    print(name, call(int(number), 0, 0, 0, 0, 0), flush=True)
"""
_REFUSED_CALLS = ("keyctl", "bpf", "io_uring_setup", "userfaultfd")


def _calls(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_CALLS + _FORBIDDEN, *(f"{name}={_number(name)}" for name in _REFUSED_CALLS))
    held = whole(ran) and lines(ran) == [f"{name} {errno.errorcode[errno.EPERM]}" for name in _REFUSED_CALLS]
    return ProbeOutcome(held=held, saw="each EPERM" if held else told(ran))


PROBES = (
    Probe(id=12, what="mount a file system, also in a nested namespace", attempt=_mount),
    Probe(id=13, what="create a nested user namespace", attempt=_namespace),
    Probe(id=14, what="read its own rights", attempt=_rights),
    Probe(id=31, what="open the terminal and type into it", attempt=_terminal),
    Probe(id=32, what="make a disk device, look for others", attempt=_devices),
    Probe(id=33, what="open sockets that ignore network namespaces", attempt=_vsock),
    Probe(id=34, what="call keyctl, bpf, io_uring_setup, userfaultfd", attempt=_calls),
)
