"""The image of `Containerfile` for the tests and for contributors, where no registry of images can be reached.

`python -m tools.image` makes it with podman; its base is a Debian of the same release by debootstrap. Settings and
storage of the engine lie in build/image, unless podman has its own.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parent.parent
BUILD = ROOT / "build" / "image"
BASE = "localhost/upskill-base"
IMAGE = "localhost/upskill-system"
"""The first stage: what programs of models run in."""
ENGINE = """\
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "none"
"""
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/storage"
runroot = "{folder}/run"
"""


def engine_settings() -> dict[str, str]:
    """Variables for podman as root without systemd: runc, groups as files. Yours hold where you have set them."""
    BUILD.mkdir(parents=True, exist_ok=True)
    files = {"CONTAINERS_CONF": ENGINE, "CONTAINERS_STORAGE_CONF": STORAGE.format(folder=BUILD)}
    if os.geteuid() != 0 or any(name in os.environ for name in files):
        return {}
    for name, text in files.items():
        (BUILD / f"{name.lower()}.conf").write_text(text, encoding="utf-8")
    return {name: str(BUILD / f"{name.lower()}.conf") for name in files}


def make_sandbox_image() -> None:
    """Make sure that the image for sandboxes is there. Several processes may ask at once."""
    _make(IMAGE, "system")


def _make(image: str, stage: str) -> None:
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _podman("image", "exists", BASE, check=False):
            _make_base()
        if _podman("image", "exists", image, check=False):
            words = ("--build-arg", f"BASE={BASE}", "--target", stage, "--tag", image, "--file", "Containerfile")
            _podman("build", "--quiet", "--network=host", *words, ".")


def _make_base() -> None:
    with tempfile.TemporaryDirectory(dir=BUILD) as folder:
        root = Path(folder, "root")
        subprocess.run([_found("debootstrap"), "--variant=minbase", "bookworm", root], check=True, stdout=sys.stderr)
        shutil.rmtree(root / "var" / "cache" / "apt" / "archives")
        archive = Path(folder, "base.tar")
        subprocess.run(["tar", "-C", root, "-cf", archive, "."], check=True)
        _podman("import", "--quiet", str(archive), BASE)


def _podman(*words: str, check: bool = True) -> int:
    """The exit code. Raises where it is not 0 and `check`."""
    environment = {**os.environ, **engine_settings()}
    return subprocess.run(
        [_found("podman"), *words], cwd=ROOT, env=environment, check=check, stdout=sys.stderr
    ).returncode


def _found(program: str) -> str:
    """The path of a program. Ends with how it is installed where it is missing."""
    if (path := shutil.which(program)) is None:
        raise SystemExit(f"{program} is not installed: apt-get install --no-install-recommends podman runc debootstrap")
    return path


if __name__ == "__main__":
    make_sandbox_image()
