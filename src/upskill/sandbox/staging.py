"""Mounts for a superuser that drops its privileges: what lies below a closed folder is bound beside it first.

A compiler below /root is readable to everybody, but no other user may enter /root. So, in a mount namespace of its
own that nobody else sees, each source is bound into a folder that every user may enter. No file of the host is changed.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import gettempdir, mkdtemp

from upskill.processes import find_system_program
from upskill.sandbox.contract import FileRefused, Mount, SandboxSpec
from upskill.sandbox.refusals import unavailable

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
            shutil.rmtree(self.folder, ignore_errors=True)


def stage(spec: SandboxSpec) -> StagedSpec:
    """Bind what an unprivileged user could not reach by its path. Raises `FileRefused` for what it could not read."""
    mounts = (*spec.mounts, *spec.sockets)
    for mount in mounts:
        _require_readable(mount)
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


def _require_readable(mount: Mount) -> None:
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
