"""Probes 5 to 11: what of the host can be seen or reached."""

import os
from pathlib import Path

from sandbox.escapes.scenes import must_print
from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, connects, finished, lines, outcome, printed


def _abstract_socket(scene: Scene) -> ProbeOutcome:
    return connects(scene, "unix", scene.bait.abstract_name[1:], "refused")


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
    held = finished(ran) and lines(ran) == ["root is closed", "processes 2", " ".join(scene.first)]
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
    opened += {*os.listdir("/sys")} - {"fs"}  # of which a container keeps its own control group
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
