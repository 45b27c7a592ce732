"""Real sandboxes by real bubblewrap, as root and as an ordinary user. Without bubblewrap these tests fail."""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from sandbox.escapes.scenes import processes_named
from upskill.sandbox import Sandbox, SandboxSpec, open_sandbox

Open = Callable[..., Sandbox]


@pytest.fixture
def opened() -> Iterator[Open]:
    """Opens sandboxes that are closed at the end."""
    with ExitStack() as stack:

        def start(spec: SandboxSpec | None = None) -> Sandbox:
            return stack.enter_context(open_sandbox(spec))

        yield start


@pytest.fixture
def sandbox(opened: Open) -> Sandbox:
    return opened()


@pytest.fixture
def marker() -> Iterator[str]:
    """A number of seconds nobody else sleeps; at the end no process may be left that has it on its command line."""
    word = f"80000.{secrets.randbelow(10**9):09d}"
    yield word
    assert processes_named(word) == []


@pytest.fixture
def descriptors() -> Callable[[], int]:
    return lambda: len(list(Path("/proc/self/fd").iterdir()))


def is_root() -> bool:
    return os.geteuid() == 0
