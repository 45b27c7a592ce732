"""Probes 18 to 25: processes, memory and disk."""

from upskill.sandbox import profile
from upskill.sandbox.probes.probe import Probe, ProbeOutcome, Scene, ending, lines, told, whole

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
    held = whole(ran) and words[:1] == ["EAGAIN"] and 0 < int(words[1]) <= most
    return ProbeOutcome(held=held, saw=f"EAGAIN after {words[1]}" if held else told(ran))


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
    held = ran.ended == "memory"
    good = f"killed for memory after {ran.seconds:.1f} s"
    return ProbeOutcome(held=held, saw=good if held else ending(ran))


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
"""Where a probe stops by itself, so that a wall that is not there costs no disk."""


def _filled(scene: Scene, most_files: int, megabytes: int, *folders: str) -> tuple[int, list[str], bool, str]:
    ran = scene.python(_FILL, most_files, megabytes * MEBIBYTE, _NEVER_MORE, *folders)
    words = lines(ran)[0].split() if lines(ran) else ["0"]
    size = int(words[0])
    return size, words[1:], whole(ran), f"{size / MEBIBYTE:.0f} MiB, then {' '.join(words[1:]) or 'no end'}"


def _one_file(scene: Scene) -> ProbeOutcome:
    size, why, ran, saw = _filled(scene, 1, 200, "/workspace")
    most = scene.spec.limits.file_mb * MEBIBYTE
    return ProbeOutcome(held=ran and 0 < size <= most and why == ["EFBIG"], saw=saw)


def _ten_files(scene: Scene) -> ProbeOutcome:
    size, why, ran, saw = _filled(scene, 10, 40, "/workspace")
    most = scene.spec.limits.workspace_mb * MEBIBYTE
    return ProbeOutcome(held=ran and 0 < size <= most and why == ["ENOSPC"], saw=saw)


_MOUNTS = """
print(*[line.split()[4] for line in open("/proc/self/mountinfo")], flush=True)
"""


def _every_mount(scene: Scene) -> ProbeOutcome:
    mounts = lines(scene.python(_MOUNTS))[0].split()
    size, _, ran, _ = _filled(scene, 20, 40, *mounts, "/dev", "/run", "/var/tmp", "/home/agent")
    limits = scene.spec.limits
    most = limits.workspace_mb + limits.tmp_mb + limits.home_mb + profile.SHARED_MEMORY_MB
    held = ran and 0 < size <= most * MEBIBYTE
    return ProbeOutcome(held=held, saw=f"{size / MEBIBYTE:.0f} MiB over {len(mounts)} mounts, of {most} allowed")


def _tmp(scene: Scene) -> ProbeOutcome:
    size, why, ran, saw = _filled(scene, 5, 30, "/tmp")
    most = scene.spec.limits.tmp_mb * MEBIBYTE
    return ProbeOutcome(held=ran and 0 < size <= most and why == ["ENOSPC"], saw=saw)


_DEV = """
import errno
try:
    open("/dev/planted", "w").close()
    print("made", flush=True)
except OSError as error:
    print(errno.errorcode[error.errno], flush=True)
"""


def _shared_memory(scene: Scene) -> ProbeOutcome:
    size, why, filled, saw = _filled(scene, 5, 30, "/dev/shm")
    ran = scene.python(_DEV)
    most = profile.SHARED_MEMORY_MB * MEBIBYTE
    held = filled and 0 < size <= most and why == ["ENOSPC"] and lines(ran) == ["EROFS"]
    return ProbeOutcome(held=held, saw=f"{saw}; /dev: {told(ran)}")


PROBES = (
    Probe(id=18, what="fork up to 2000 children", attempt=_forks),
    Probe(id=19, what="take 2 GB in one process", attempt=_one_hog),
    Probe(id=20, what="take 400 MB in each of six processes", attempt=_many_hogs),
    Probe(id=21, what="write one file of 200 MB", attempt=_one_file),
    Probe(id=22, what="write ten files of 40 MB in the workspace", attempt=_ten_files),
    Probe(id=23, what="fill every mount there is", attempt=_every_mount),
    Probe(id=24, what="fill /tmp", attempt=_tmp),
    Probe(id=25, what="fill /dev/shm, then write in /dev", attempt=_shared_memory),
)
