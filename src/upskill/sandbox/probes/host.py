"""Probes 5 to 11: what of the host can be seen or reached."""

import os
from pathlib import Path

from upskill.sandbox import profile
from upskill.sandbox.contract import HOME
from upskill.sandbox.probes.probe import Probe, ProbeOutcome, Scene, finished, lines, must_print, outcome, printed

_ENVIRONMENT = """
import os
for name, value in sorted(os.environb.items()):
    print("own", name.decode(), value.decode("utf-8", "replace"), flush=True)
try:
    for pair in open("/proc/1/environ", "rb").read().split(b"\\0"):
        if pair:
            print("first", *pair.decode("utf-8", "replace").split("=", 1), flush=True)
except OSError as error:
    print("first is closed", flush=True)
"""


def _environment(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_ENVIRONMENT)
    allowed = {("HOME", HOME), ("LANG", "C.UTF-8"), ("PATH", profile.PATH)}
    expected = {f"{whose} {name} {value}" for whose in ("own", "first") for name, value in allowed}
    others = [line for line in lines(ran) if line not in expected and line != "first is closed"]
    own = sum(line.startswith("own ") for line in lines(ran))
    held = finished(ran) and not others and own == len(allowed) and scene.bait.secret.encode() not in ran.stdout
    return outcome(held, "PATH, HOME and LANG of the sandbox, nothing else", f"also {others}")


_CONNECT = """
import socket, sys
line = socket.socket(socket.AF_INET if sys.argv[1] == "tcp" else socket.AF_UNIX)
line.settimeout(5)
try:
    line.connect(("127.0.0.1", int(sys.argv[2])) if sys.argv[1] == "tcp" else "\\0" + sys.argv[2])
    print("connected", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def _connects(scene: Scene, kind: str, address: object, good: str) -> ProbeOutcome:
    ran = scene.python(_CONNECT, kind, address)
    called = scene.bait.was_called()
    held = finished(ran) and lines(ran) == ["ConnectionRefusedError"] and not called
    return outcome(held, good, f"{printed(ran)}; heard: {called}")


def _loopback(scene: Scene) -> ProbeOutcome:
    return _connects(scene, "tcp", scene.bait.port, "refused, the listener saw nothing")


def _abstract_socket(scene: Scene) -> ProbeOutcome:
    return _connects(scene, "unix", scene.bait.abstract_name[1:], "refused")


_DATAGRAM = """
import errno, socket
line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    line.sendto(b"x", ("192.0.2.1", 53))
    print("sent", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""


_FIRST = """
import os
try:
    print("root", sorted(os.listdir("/proc/1/root")), flush=True)
except OSError:
    print("root is closed", flush=True)
print("processes", sum(name.isdigit() for name in os.listdir("/proc")), flush=True)
print(open("/proc/1/cmdline").read().replace("\\0", " ").strip(), flush=True)
"""


def _first_process(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_FIRST)
    command = " ".join(profile.command(profile.find_interpreter()))
    held = finished(ran) and lines(ran) == ["root is closed", "processes 2", command]
    return outcome(held, "root not readable, 2 processes, no host path", printed(ran))


_KERNEL_FILES = """
import os
opened = []
for path in ("/proc/sys/kernel/panic", "/proc/sys/vm/overcommit_memory", "/proc/sysrq-trigger"):
    try:
        open(path, "a").close()
        opened.append(path)
    except OSError:
        pass
try:
    opened += os.listdir("/sys")
except OSError:
    pass
print("opened", opened, flush=True)
"""


_SIGNAL = """
import os, sys
for word in sys.argv[1:]:
    try:
        os.kill(int(word), 0)
        print("there is", word, flush=True)
    except OSError as error:
        print(type(error).__name__, flush=True)
"""


def _signal(scene: Scene) -> ProbeOutcome:
    everybody = sorted((int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()), reverse=True)
    others = [os.getpid(), *everybody[:5]]
    # The first few numbers are used inside as well.
    ran = scene.python(_SIGNAL, *(process for process in others if process > 20))
    held = finished(ran) and set(lines(ran)) == {"ProcessLookupError"}
    return outcome(held, "no such process", printed(ran))


PROBES = (
    Probe(id=5, what="print the environment, also that of process 1", attempt=_environment),
    Probe(id=6, what="connect to a port on the host's loopback", attempt=_loopback),
    must_print(["ENETUNREACH"], 7, "send a datagram to the network", _DATAGRAM, good="network unreachable"),
    Probe(id=8, what="connect to an abstract socket of the host", attempt=_abstract_socket),
    Probe(id=9, what="inspect process 1: root, neighbours, command line", attempt=_first_process),
    must_print(
        ["opened []"],
        10,
        "open the kernel's settings for writing, list /sys",
        _KERNEL_FILES,
        good="all refused, no /sys",
    ),
    Probe(id=11, what="signal processes of the host", attempt=_signal),
)
