"""Real small models on a real llama.cpp server, on loopback."""

from collections.abc import Iterator

import pytest
import pytest_socket
from tools.local_model import served_model
from tools.models import NoWeights, weights


@pytest.fixture(scope="session")
def local_model() -> Iterator[str]:
    """The base URL of a server with SmolLM2-135M-Instruct, started by the file that `upskill init` hands to users."""
    pytest_socket.enable_socket()  # the session outlives the test whose marker opened loopback
    with served_model() as url:
        yield f"{url}/v1"


@pytest.fixture(scope="session")
def coder() -> Iterator[str]:
    """The base URL of a server with Qwen2.5-Coder-0.5B-Instruct; the test is skipped where the weights are not had."""
    pytest_socket.enable_socket()
    try:
        weights("0.5b")
    except NoWeights as error:
        pytest.skip(str(error))
    with served_model(cache=True, size="0.5b") as url:
        yield f"{url}/v1"
