"""What all tests share. The network is blocked; the folders below may speak to loopback, and to nothing else."""

import gc
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from forking import Forker

ROOT = Path(__file__).parent.parent
MAY_USE_LOOPBACK = (
    "engine",
    "model",
    "cli",
    "sandbox",
    "agents",
    "golden",
    "recorded_teaching",
    "pages",
    "gallery",
    "cluster",
)
LONG_FIRST = (
    "cluster",
    "model",
    "recorded_teaching",
    "gallery",
    "cli",
    "golden",
    "pages",
    "agents",
    "engine",
    "sandbox",
    "unit",
)
"""With several processes the longest must not begin last, or one works while the others wait."""

# The loaded engine is 200,000 objects, and searching them for garbage takes a tenth of the time of its tests.
gc.set_threshold(100_000, 20, 50)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background by a shell, everything we start would inherit that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # begun by nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Open loopback for the folders that need it, and put the long tests first."""
    for item in items:
        if _folder(item) in MAY_USE_LOOPBACK:
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]))
    items.sort(key=lambda item: LONG_FIRST.index(_folder(item)))


def _folder(item: pytest.Item) -> str:
    return item.path.relative_to(ROOT / "tests").parts[0]


@pytest.fixture(scope="session")
def forker(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Forker]":
    """One process with the engine in it, for all commands that need it."""
    from forking import Forker  # unit tests start no process

    with Forker(tmp_path_factory.mktemp("forked")) as forker:
        yield forker


@pytest.fixture
def example_skill() -> Path:
    """The skill about an invented tool, with its cases."""
    return ROOT / "examples" / "tarnctl"


@pytest.fixture
def scripted_student() -> Path:
    """A script that answers instead of a model."""
    return ROOT / "examples" / "scripted" / "student.yaml"
