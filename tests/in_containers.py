"""A real engine of containers and the image of this repository. Without podman these tests fail."""

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from upskill.sandbox import Sandbox, SandboxSpec, open_sandbox
from upskill.sandbox.container import IMAGE_VARIABLE


@pytest.fixture(scope="session")
def podman() -> Iterator[None]:
    """Settings of podman, in this process, with the image in its storage."""
    from tools.image import IMAGE, engine_settings, make_image

    before = dict(os.environ)
    os.environ.update(engine_settings())
    os.environ[IMAGE_VARIABLE] = IMAGE
    make_image()
    yield
    os.environ.clear()
    os.environ.update(before)


def nothing_is_left_in_podman(process: int | None = None) -> bool:
    """No container of a process, by default of this one, and no volume, at the latest after a moment: an engine removes
    what has ended by itself."""
    deadline = time.monotonic() + 20
    own = f"name=^upskill-{process or os.getpid()}-"
    while any(_listed(*words) for words in (("ps", "--all", "--quiet", "--filter", own), ("volume", "ls", "--quiet"))):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _listed(*words: str) -> str:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def contained(podman: None) -> Iterator[Callable[..., Sandbox]]:
    """Opens sandboxes in containers of podman, which are closed at the end."""
    with ExitStack() as stack:

        def start(spec: SandboxSpec | None = None) -> Sandbox:
            return stack.enter_context(open_sandbox(spec, backend="podman"))

        yield start
