"""Starts the programs of a sandbox, and compiles the init process, so that no start is spent on parsing it.
One thread starts them all, and never ends.

"Die with the parent" means: with the *thread* that forked. A sandbox started by a worker thread would be killed as soon
as that worker is let go.
"""

import os
import stat
import subprocess
import threading
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from upskill import disk, processes
from upskill.processes import find_system_program
from upskill.sandbox.backends import unavailable
from upskill.sandbox.contract import FileRefused, Mount, SandboxSpec

_COMPILE = """
import marshal, sys
from importlib._bootstrap_external import MAGIC_NUMBER
code = compile(sys.stdin.buffer.read(), "init", "exec", dont_inherit=True, optimize=1)
sys.stdout.buffer.write(MAGIC_NUMBER + bytes(12) + marshal.dumps(code))
"""
_lock = threading.Lock()


@cache
def compiled(source: bytes, *, program: str, prefix: Path | None) -> bytes:
    """Once per process. `prefix` is where the program lies outside, if not where it lies inside."""
    outside = program if prefix is None else str(prefix / "bin" / Path(program).name)
    try:
        done = processes.run("sandbox", [outside, "-I", "-S", "-B", "-c", _COMPILE], said=source, seconds=60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise unavailable(f"{outside} does not run ({error})") from None
    if done.returncode != 0 or not done.stdout:
        why = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise unavailable(f"{outside} cannot run the program that keeps a sandbox ({why[-1] if why else 'no output'})")
    return done.stdout


@cache
def _spawner(process: int) -> ThreadPoolExecutor:
    """The thread that starts all programs of a process. A fork has no threads, and gets a new one by its number."""
    return ThreadPoolExecutor(max_workers=1, thread_name_prefix=f"upskill-sandboxes-{process}")


def spawn(
    words: Sequence[str],
    *,
    stdin: int,
    stdout: int = subprocess.DEVNULL,
    stderr: int = subprocess.DEVNULL,
    keep: Sequence[int],
    folder: str = "/",
    kind: processes.Kind = "sandbox",
) -> "subprocess.Popen[bytes]":
    """Start a program, by default with an empty environment, in a session of its own, with no descriptors but the ones
    named."""
    with _lock:  # two threads that ask at once must get the same one
        spawner = _spawner(os.getpid())

    def start() -> "subprocess.Popen[bytes]":
        return processes.start(
            kind, words, cwd=folder, stdin=stdin, stdout=stdout, stderr=stderr, keep=keep, apart=True
        )

    return spawner.submit(start).result()


_SCRIPT = """
set -e
stage=$1; shift
"$MOUNT" -t tmpfs -o mode=755,size=1m tmpfs "$stage"
at=0
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir "$stage/$at"; else : > "$stage/$at"; fi
  "$MOUNT" --bind "$1" "$stage/$at"
  at=$((at + 1)); shift
done
shift
unset MOUNT
exec "$@"
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class StagedSpec:
    """A sandbox spec whose sources an unprivileged user can reach, and the command that goes before the launcher."""

    spec: SandboxSpec
    before: Sequence[str] = ()
    folder: Path | None = None

    def clear(self) -> None:
        """The folder is empty on the host: what was bound into it was bound in another namespace."""
        if self.folder is not None:
            disk.remove_folder(self.folder)


def stage(spec: SandboxSpec) -> StagedSpec:
    """Bind what an unprivileged user could not reach by its path. Raises `FileRefused` for what it could not read."""
    mounts = (*spec.mounts, *spec.sockets)
    for mount in mounts:
        require_readable(mount)
    closed = [mount for mount in mounts if not _walkable(mount.source.resolve().parents)]
    if not closed:
        return StagedSpec(spec=spec)
    unshare, mount_program, shell = map(find_system_program, ("unshare", "mount", "sh"))
    if unshare is None or mount_program is None or shell is None:
        raise unavailable("unshare and mount are not installed, and a mount is in a folder that only root can enter")
    folder = Path(mkdtemp(prefix="upskill-stage-", dir=_open_place()))
    folder.chmod(0o755)
    places = {mount: replace(mount, source=folder / str(at)) for at, mount in enumerate(closed)}
    return StagedSpec(
        spec=replace(
            spec,
            mounts=tuple(places.get(mount, mount) for mount in spec.mounts),
            sockets=tuple(places.get(mount, mount) for mount in spec.sockets),
        ),
        before=[
            *(unshare, "--mount", "--propagation", "private"),
            *(shell, "-c", f"MOUNT={mount_program}\n{_SCRIPT}", "stage", str(folder)),
            *(str(mount.source.resolve()) for mount in closed),
            "--",
        ],
        folder=folder,
    )


def _open_place() -> Path:
    """A folder for temporary files that every user may enter. That of a run is closed to others."""
    places = [Path(gettempdir()), *(Path("/", name) for name in ("tmp", "var/tmp"))]
    found = next((place for place in places if place.is_dir() and _walkable((place, *place.resolve().parents))), None)
    if found is None:
        raise unavailable("there is no folder for temporary files that every user may enter")
    return found


def _walkable(folders: Iterable[Path]) -> bool:
    return all(folder.stat().st_mode & stat.S_IXOTH for folder in folders)


def require_readable(mount: Mount) -> None:
    """Raise `FileRefused` for what root may read and the programs of a sandbox may not."""
    facts = mount.source.stat()
    if stat.S_ISSOCK(facts.st_mode):
        needed, words = stat.S_IWOTH, "o+w"
    elif stat.S_ISDIR(facts.st_mode):
        needed, words = stat.S_IROTH | stat.S_IXOTH, "o+rx"
    else:
        needed, words = stat.S_IROTH, "o+r"
    if os.geteuid() == 0 and facts.st_mode & needed != needed:
        raise FileRefused(
            f"{mount.source}: programs in a sandbox do not run as root and cannot use it; allow it with `chmod {words}`"
        )
