"""The installed command as a subprocess in a folder of its own, with a home of its own and no key anywhere."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = os.environ.get("INSTALLED_UPSKILL", str(Path(sys.executable).parent / "upskill"))

Upskill = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """The folder where commands are typed."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Nothing but a path and a home."""
    return {
        "PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin",
        "HOME": str(home),
        "PYTHONDONTWRITEBYTECODE": "",
        "LANG": "C.UTF-8",
        "UPSKILL_REPORT": "false",  # drawing takes seconds; the tests of the report ask for it
    }


@pytest.fixture
def upskill(here: Path, environment: dict[str, str]) -> Upskill:
    """Types a command and waits for it."""

    def run(*words: str, cwd: Path = here, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [COMMAND, *words],
            cwd=cwd,
            env={**environment, **variables},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            stdin=subprocess.DEVNULL,
        )

    return run
