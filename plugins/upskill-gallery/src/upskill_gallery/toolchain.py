"""The programs that the checks start: installed by `make gallery`, mounted read-only into every sandbox."""

import os
from pathlib import Path

from upskill.core.checks.plugin import Mount

VARIABLE = "GALLERY_TOOLS"
"""Names the folder if it is not `build/gallery` of this repository. upskill would read `UPSKILL_…` as a setting."""
INSIDE = "/opt/gallery"
PYTHON = f"{INSIDE}/venv/bin/python"
"""A Python with everything in `gallery/requirements.lock`, as programs in the sandbox name it."""


class ToolchainMissing(Exception):
    """The tools are not installed: nothing can be measured, so the answer is errored, never failed."""


def toolchain() -> Mount:
    """The folder with the tools. Raises `ToolchainMissing` if it is not complete."""
    named = os.environ.get(VARIABLE)
    folder = Path(named) if named else Path(__file__).resolve().parents[4] / "build" / "gallery"
    if not (folder / "ready").is_file():
        raise ToolchainMissing(f"the tools of the gallery are not in {folder}; run `make gallery`, or set {VARIABLE}")
    return Mount(source=folder, target=INSIDE)
