"""The installed command as a subprocess in a folder of its own, with a home of its own and no key anywhere.

Commands are forked from a process that has imported everything, which is most of what a command takes. Tests of
terminals, pipes and of what a command opens or imports start it by `COMMAND`, from nothing.
"""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forking import COMMAND, Done, Forker
from two_servers import Place

Upskill = Callable[..., Done]


def make_port_skill(here: Path, *, cases: int) -> Path:
    """A skill that knows one port, with so many cases that ask for it."""
    folder = here / "skills" / "port"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: port\ndescription: Knows the port.\n---\nThe port is 7413.\n")
    asked = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "7413"}} for n in range(cases)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    return folder


def wait(until: Callable[[], object], *, seconds: float = 60) -> None:
    """Look every moment whether something has come about, and fail where it does not."""
    deadline = time.monotonic() + seconds
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


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
        "UPSKILL_REPORT": "false",  # the tests of the report ask for it
    }


@pytest.fixture
def upskill(here: Path, environment: dict[str, str], forker: Forker) -> Upskill:
    """Types a command and waits for it."""

    def run(*words: str, cwd: Path = here, **variables: str) -> Done:
        return forker.run_with({**environment, **variables}, *words, cwd=cwd)

    return run


@pytest.fixture(scope="module")
def servers(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A teacher and a student, for all tests of a module."""
    forker.home = tmp_path_factory.mktemp("home")
    place = Place(forker)
    with place.teacher, place.student:
        yield place


@pytest.fixture
def place(servers: Place, tmp_path: Path) -> Place:
    """The servers as if nobody had asked them anything, and an empty folder to type in."""
    servers.begin(tmp_path / "here")
    return servers
