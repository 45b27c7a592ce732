"""What all tests share. The network is blocked; the folders below may speak to loopback, and to nothing else."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
MAY_USE_LOOPBACK = ("engine", "model", "cli", "sandbox", "agents")
ONE_AT_A_TIME = {
    "the model": ("model/",),  # one server, and it uses both cores
    "port 8080": ("cli/test_docs.py", "cli/test_eval.py"),  # commands are typed as the documents show them
    "the agents": ("agents/",),  # half a gigabyte each
}
"""Tests of one group run one after another on one worker, where several workers share them."""


@pytest.hookimpl(tryfirst=True)  # before the workers look at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Open loopback for the folders that need it, and keep together what cannot run beside itself."""
    for item in items:
        place = item.path.relative_to(ROOT / "tests")
        if place.parts[0] in MAY_USE_LOOPBACK:
            item.add_marker(pytest.mark.allow_hosts(["127.0.0.1", "localhost", "::1"]))
        for group, places in ONE_AT_A_TIME.items():
            if place.as_posix().startswith(places):
                item.add_marker(pytest.mark.xdist_group(group))


@pytest.fixture
def example_skill() -> Path:
    """The skill about an invented tool, with its cases."""
    return ROOT / "examples" / "tarnctl"


@pytest.fixture
def scripted_student() -> Path:
    """A script that answers instead of a model."""
    return ROOT / "examples" / "scripted" / "student.yaml"
