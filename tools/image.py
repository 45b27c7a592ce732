"""The image of `Containerfile` for the tests and for contributors, where no registry of images can be reached.

`python -m tools.image [system|tool|agents]` makes a stage of it with podman; its base is a Debian of the same release
by debootstrap. Settings and storage of the engine lie in build/image, unless podman has its own.
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
"""The first stage, which is enough for programs of models."""
CERTIFICATES = "/run/certificates.crt"
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


def make_image(stage: str = "system") -> str:
    """Make sure that a stage of the image is there, and return its name. Several processes may ask at once."""
    image = f"localhost/upskill-{stage}"
    if not _podman("image", "exists", image, check=False):
        return image
    BUILD.mkdir(parents=True, exist_ok=True)
    with (BUILD / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _podman("image", "exists", BASE, check=False):
            _make_base()
        if _podman("image", "exists", image, check=False):
            words = ["--build-arg", f"BASE={BASE}", "--target", stage, "--tag", image, "--file", "Containerfile"]
            if (trusted := os.environ.get("SSL_CERT_FILE")) is not None:
                words += ["--volume", f"{trusted}:{CERTIFICATES}:ro", "--build-arg", f"CERTIFICATES={CERTIFICATES}"]
            _podman("build", "--quiet", "--network=host", *words, ".")
    return image


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
    make_image(*sys.argv[1:2])
