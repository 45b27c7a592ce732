"""What probes of several modules use."""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, finished, lines, outcome, printed

CALLS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
def call(*words):
    ctypes.set_errno(0)
    result = libc.syscall(*[ctypes.c_long(word) if isinstance(word, int) else word for word in words])
    return "done" if result >= 0 else errno.errorcode[ctypes.get_errno()]
"""


def must_print(expected: Sequence[str], number: int, what: str, code: str, *words: object, good: str) -> Probe:
    """A probe in Python that must run to its end and print these lines; `good` sums them up for people."""

    def attempt(scene: Scene) -> ProbeOutcome:
        ran = scene.python(code, *words)
        return outcome(finished(ran) and lines(ran) == list(expected), good, printed(ran))

    return Probe(id=number, what=what, attempt=attempt)


def processes_named(marker: str) -> list[int]:
    """Processes of this machine whose command line holds a word that only a probe uses."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return [process for process in found if process != os.getpid()]
