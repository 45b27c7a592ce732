"""What all tests share. The network is blocked; the folders below may speak to loopback, and to nothing else."""

import gc
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from forking import Forker

ROOT = Path(__file__).parent.parent
LONG_FIRST = (
    "cluster",
    "model",
    "recorded_teaching",
    "gallery",
    "cli",
    "golden",
    "pages",
    "real",
    "engine",
    "sandbox",
    "simulations",
    "budgets",
    "unit",
)
"""With several processes the longest must not begin last, or one works while the others wait."""

pytest_plugins = ("unit_profiles", "typed", "on_engine", "in_sandbox", "in_containers", "in_browser")

# The loaded engine is 200,000 objects, and searching them for garbage takes a tenth of the time of its tests.
gc.set_threshold(100_000, 20, 50)

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # Begun in the background by a shell, everything we start would inherit that Ctrl-C is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:  # begun by nohup
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Open loopback for all tests but unit tests, and put the long ones first."""
    for item in items:
        if _kind(item) != "unit":
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]))
    items.sort(key=lambda item: LONG_FIRST.index(_kind(item)))


def _kind(item: pytest.Item) -> str:
    """The folder that says what a test uses: `tests/FEATURE/KIND/…`; `tests/KIND/…` for the whole product."""
    parts = item.path.relative_to(ROOT / "tests").parts
    return next(part for part in reversed(parts[:2]) if part in LONG_FIRST)


@pytest.fixture(autouse=True)
def own_cache(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each test has a ledger of looks and remembered answers of its own, and never those of whoever runs it."""
    if _kind(request.node) not in ("model", "unit"):  # weights of models are kept in the cache
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def quick_folder() -> "Iterator[Path]":
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder).resolve()


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
