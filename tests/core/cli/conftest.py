"""The command beside a Hub of the test's own."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from forking import Done
from hub_server import Hub
from typed import Upskill


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "hf"


@pytest.fixture
def variables(hub: Hub, cache: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(cache)}


@pytest.fixture
def typed(upskill: Upskill, variables: dict[str, str]) -> Callable[..., Done]:
    def run(*words: str, **more: str) -> Done:
        return upskill(*words, **{**variables, **more})

    return run
