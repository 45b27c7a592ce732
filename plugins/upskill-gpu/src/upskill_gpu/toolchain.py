"""Where the tools are that the checks start: what `make gallery` installed, or a CUDA toolkit of the machine."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from upskill.core.checks.plugin import Mount

VARIABLE = "GALLERY_TOOLS"
"""Names the folder if it is not `build/gallery` of this repository. upskill would read `UPSKILL_…` as a setting."""
INSIDE = "/opt/gallery"
PYTHON = f"{INSIDE}/venv/bin/python"
"""A Python with `kernels` and `numba-cuda`, as programs in the sandbox name it."""
CUDA_INSIDE = "/opt/cuda"
HARNESS = Mount(source=Path(__file__).resolve().parent / "harness", target="/opt/harness")
"""The programs of this package that run inside the sandbox."""


class ToolchainMissing(Exception):
    """A tool is not installed: nothing can be measured, so the answer is errored, never failed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Compiler:
    """nvcc and cuobjdump, with the folder that must be mounted for them."""

    mount: Mount
    programs: str
    """The folder of both programs, as the sandbox names it."""


def toolchain() -> Mount:
    """The folder with the tools. Raises `ToolchainMissing` if it is not complete."""
    folder = _folder()
    if not (folder / "ready").is_file():
        raise ToolchainMissing(f"the tools of the gallery are not in {folder}; run `make gallery`, or set {VARIABLE}")
    return Mount(source=folder, target=INSIDE)


def compiler() -> Compiler:
    """nvcc of the gallery, of CUDA_HOME or of PATH, in this order. Raises `ToolchainMissing` if there is none."""
    if shutil.which("g++") is None:
        raise ToolchainMissing("nvcc needs a host compiler, and there is no g++; install the package g++")
    folder = _folder()
    for programs in sorted(folder.glob("venv/lib/python3*/site-packages/nvidia/cu1*/bin")):
        if _complete(programs):
            return Compiler(
                mount=Mount(source=folder, target=INSIDE), programs=f"{INSIDE}/{programs.relative_to(folder)}"
            )
    for toolkit in _toolkits():
        if _complete(toolkit / "bin"):
            return Compiler(mount=Mount(source=toolkit, target=CUDA_INSIDE), programs=f"{CUDA_INSIDE}/bin")
    raise ToolchainMissing(
        f"there is no nvcc with cuobjdump in {folder}, CUDA_HOME or PATH; run `make gallery`, or install a CUDA toolkit"
    )


def _folder() -> Path:
    named = os.environ.get(VARIABLE)
    return Path(named) if named else Path(__file__).resolve().parents[4] / "build" / "gallery"


def _toolkits() -> list[Path]:
    home = os.environ.get("CUDA_HOME")
    found = shutil.which("nvcc")
    named = [Path(home)] if home else []
    return [*named, *([Path(found).resolve().parents[1]] if found else [])]


def _complete(programs: Path) -> bool:
    return all((programs / name).is_file() for name in ("nvcc", "ptxas", "cuobjdump"))
