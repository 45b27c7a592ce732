"""Probes 18 to 30: processes, memory, disk, output, time, and what is left behind."""

import time

from sandbox.escapes.scenes import processes_named
from upskill.sandbox import profile
from upskill.sandbox.probes import Probe, ProbeOutcome, Scene, ending, finished, lines, outcome, printed

MEBIBYTE = 1_048_576

_FORKS = """
import errno, os, signal, sys, time
children = []
try:
    for _ in range(2000):
        pid = os.fork()
        if pid == 0:
            signal.pause()
            os._exit(0)
        children.append(pid)
    print("all", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], len(children), flush=True)
for pid in children:
    os.kill(pid, signal.SIGKILL)
"""


def _forks(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_FORKS)
    words = lines(ran)[0].split() if lines(ran) else []
    most = scene.spec.limits.processes
    held = finished(ran) and words[:1] == ["EAGAIN"] and 0 < int(words[1]) <= most
    return outcome(held, f"EAGAIN after {words[-1]}" if words else "", printed(ran))


_ONE_HOG = """
content = bytearray(2 << 30)
for at in range(0, len(content), 4096):
    content[at] = 1
print("took all", flush=True)
"""


def _one_hog(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_ONE_HOG)
    refused = ran.ended == "exit" and ran.exit_code == 1 and b"MemoryError" in ran.stderr
    killed = ran.ended == "memory"
    return ProbeOutcome(held=refused or killed, saw="MemoryError" if refused else ending(ran))


_MANY_HOGS = """
import os, time
for _ in range(6):
    if os.fork() == 0:
        content = bytearray(400 << 20)
        for at in range(0, len(content), 4096):
            content[at] = 1
        time.sleep(30)
        os._exit(0)
time.sleep(30)
"""


def _many_hogs(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_MANY_HOGS)
    return outcome(ran.ended == "memory", f"out of memory, killed after {ran.seconds:.1f} s", ending(ran))


_FILL = """
import errno, os, sys
most_files, size, ceiling = map(int, sys.argv[1:4])
block = b"x" * 1048576
total, why = 0, set()
for place, folder in enumerate(sys.argv[4:]):
    for number in range(most_files):
        try:
            descriptor = os.open(folder + "/fill%d-%d" % (place, number), os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError as error:
            why.add(errno.errorcode[error.errno])
            break
        wrote = 0
        try:
            while wrote < size and total < ceiling:
                step = os.write(descriptor, block)
                wrote += step
                total += step
        except OSError as error:
            why.add(errno.errorcode[error.errno])
            break
        finally:
            os.close(descriptor)
print(total, *sorted(why), flush=True)
"""
_NEVER_MORE = 600 * MEBIBYTE
"""Where a probe stops by itself, so that a limit that is not there costs no disk."""


def _fill(scene: Scene, most_files: int, megabytes: int, *folders: str) -> tuple[int, list[str], bool]:
    """Bytes that were written, the errors that ended it, and whether the program ran to its end."""
    ran = scene.python(_FILL, most_files, megabytes * MEBIBYTE, _NEVER_MORE, *folders)
    words = lines(ran)[0].split() if lines(ran) else ["0"]
    return int(words[0]), words[1:], finished(ran)


def _fill_folder(
    scene: Scene, folder: str, *, files: int, megabytes: int, most_mb: int, error: str = "ENOSPC"
) -> ProbeOutcome:
    size, errors, ran = _fill(scene, files, megabytes, folder)
    held = ran and 0 < size <= most_mb * MEBIBYTE and errors == [error]
    return ProbeOutcome(held=held, saw=f"{size / MEBIBYTE:.0f} MiB, then {' '.join(errors) or 'no end'}")


def _one_file(scene: Scene) -> ProbeOutcome:
    most = scene.spec.limits.file_mb
    return _fill_folder(scene, "/workspace", files=1, megabytes=200, most_mb=most, error="EFBIG")


def _ten_files(scene: Scene) -> ProbeOutcome:
    return _fill_folder(scene, "/workspace", files=10, megabytes=40, most_mb=scene.spec.limits.workspace_mb)


def _tmp(scene: Scene) -> ProbeOutcome:
    return _fill_folder(scene, "/tmp", files=5, megabytes=30, most_mb=scene.spec.limits.tmp_mb)


_MOUNTS = 'print(*[line.split()[4] for line in open("/proc/self/mountinfo")], flush=True)'


def _every_mount(scene: Scene) -> ProbeOutcome:
    mounts = lines(scene.python(_MOUNTS))[0].split()
    size, _, ran = _fill(scene, 20, 40, *mounts, "/dev", "/run", "/var/tmp", "/home/agent")
    limits = scene.spec.limits
    most = limits.workspace_mb + limits.tmp_mb + limits.home_mb + profile.SHARED_MEMORY_MB
    held = ran and 0 < size <= most * MEBIBYTE
    return ProbeOutcome(held=held, saw=f"{size / MEBIBYTE:.0f} MiB over {len(mounts)} mounts, of {most} allowed")


_DEV = """
import errno
try:
    open("/dev/planted", "w").close()
    print("made", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""


def _shared_memory(scene: Scene) -> ProbeOutcome:
    filled = _fill_folder(scene, "/dev/shm", files=5, megabytes=30, most_mb=profile.SHARED_MEMORY_MB)
    ran = scene.python(_DEV)
    return ProbeOutcome(
        held=filled.held and lines(ran) in (["EROFS"], ["EACCES"]), saw=f"{filled.saw}; /dev: {printed(ran)}"
    )


_FAR = 86_000
"""Seconds that a left-behind process would sleep. With the digits of a secret behind it, a word nobody else uses."""


def _marker(scene: Scene) -> str:
    return f"{_FAR}.{int(scene.bait.secret[-10:], 16)}"


def _endless_output(scene: Scene) -> ProbeOutcome:
    ran = scene.shell("yes", seconds=20)
    most = scene.spec.limits.output_bytes
    held = ran.ended == "output" and len(ran.stdout) <= most and ran.seconds < 3
    return outcome(held, f"cut at {len(ran.stdout):,} bytes after {ran.seconds:.2f} s", ending(ran))


def _busy(scene: Scene) -> ProbeOutcome:
    code = "import signal\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\nwhile True: pass"
    started = time.monotonic()
    ran = scene.python(code, seconds=2)
    took = time.monotonic() - started
    held = ran.ended == "timeout" and took < 3.5
    return outcome(held, f"ended after {took:.2f} s", f"{ending(ran)} after {took:.1f} s")


def _left_behind(scene: Scene, script: str) -> ProbeOutcome:
    """Processes that were started must have lived, or their end would say nothing."""
    marker = _marker(scene)
    started = time.monotonic()
    ran = scene.shell(script, marker)
    took = time.monotonic() - started
    lived = len(processes_named(marker))
    scene.sandbox.close()
    left = len(processes_named(marker))
    held = ran.ended == "exit" and ran.exit_code == 0 and took < 3 and lived > 0 and left == 0
    return ProbeOutcome(held=held, saw=f"returned after {took:.2f} s; {lived} started, {left} left")


def _daemons(scene: Scene) -> ProbeOutcome:
    script = 'setsid sleep "$1" >/dev/null 2>&1 & nohup sleep "$1" >/dev/null 2>&1 & sleep 0.2; exit 0'
    return _left_behind(scene, script)


def _holder(scene: Scene) -> ProbeOutcome:
    return _left_behind(scene, 'sleep "$1" & sleep 0.2; exit 0')


def _tree(scene: Scene) -> ProbeOutcome:
    marker = _marker(scene)
    script = 'for n in 1 2 3; do (setsid sh -c \'(sleep "$0" & sleep "$0")\' "$1" & ) ; done; sleep "$1"'
    ran = scene.shell(script, marker, seconds=1)
    left = len(processes_named(marker))
    again = scene.shell("exit 0")
    held = ran.ended == "timeout" and left == 0 and again.exit_code == 0
    return outcome(held, f"{left} left after {ran.seconds:.2f} s", f"{ending(ran)}, {left} left")


PROBES = (
    Probe(id=18, what="fork up to 2000 children", attempt=_forks),
    Probe(id=19, what="allocate 2 GB in one process", attempt=_one_hog),
    Probe(id=20, what="allocate 400 MB in each of six processes", attempt=_many_hogs),
    Probe(id=21, what="write one file of 200 MB", attempt=_one_file),
    Probe(id=22, what="write ten files of 40 MB in the workspace", attempt=_ten_files),
    Probe(id=23, what="fill every mount", attempt=_every_mount),
    Probe(id=24, what="fill /tmp", attempt=_tmp),
    Probe(id=25, what="fill /dev/shm, then write in /dev", attempt=_shared_memory),
    Probe(id=26, what="print endlessly", attempt=_endless_output),
    Probe(id=27, what="loop for 2 s and ignore SIGINT and SIGTERM", attempt=_busy),
    Probe(id=28, what="leave two daemons behind", attempt=_daemons),
    Probe(id=29, what="leave a process that keeps the output open", attempt=_holder),
    Probe(id=30, what="leave a tree of orphans at the timeout", attempt=_tree),
)
