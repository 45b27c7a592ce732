"""Every command shown in the documentation runs, in a copy of the repository, as a reader would type it."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from provider import Asked, Behaviour, Provider

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
_BLOCK = re.compile(r"^```console\n(.*?)^```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")


def _commands(page: Path) -> list[str]:
    """The lines after a `$`, with lines continued by a backslash joined."""
    lines = [
        line
        for block in _BLOCK.findall(page.read_text(encoding="utf-8"))
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


SHOWN = sorted({command for page in PAGES for command in _commands(page)})


def _answer(asked: Asked) -> Behaviour:
    return Behaviour(text="Port 7413, in tarn.kdl." if asked.has_skill else "I do not know.")


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a reader has."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("examples", "docs"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy(ROOT / "upskill.toml", folder)
    return folder


def test_the_documentation_shows_commands() -> None:
    assert len(SHOWN) >= 5


@pytest.mark.parametrize("command", SHOWN)
def test_a_command_of_the_documentation_runs_as_shown(command: str, copy: Path, environment: dict[str, str]) -> None:
    words = [word for word in shlex.split(command) if not word.startswith("UPSKILL_")]
    assert words[0] == "upskill", "only our own command is shown as one to be typed here"
    with Provider(_answer, port=8080):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=copy,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
