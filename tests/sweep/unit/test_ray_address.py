"""Before Ray is imported: which clusters are used, and what one evaluation takes of it."""

import sys

import pytest

from upskill.errors import UsageError
from upskill.sweep.engines import RayEngine, cpu_share, require_token


@pytest.mark.parametrize("address", ["auto", "10.0.0.7:6379", "localhost:6379"])
def test_a_cluster_that_may_be_open_is_refused_unless_a_person_says_otherwise(address: str) -> None:
    with pytest.raises(UsageError) as caught:
        require_token(address, {})
    assert "whoever reaches a port" in caught.value.message
    assert "RAY_AUTH_MODE=disabled" in str(caught.value.hint)
    with pytest.raises(UsageError):
        require_token(address, {"RAY_AUTH_MODE": ""})
    require_token(address, {"RAY_AUTH_MODE": "token"})
    require_token(address, {"RAY_AUTH_MODE": "disabled"})


def test_a_new_cluster_gets_its_own_token_and_the_client_protocol_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    require_token("local", {})
    with pytest.raises(UsageError, match="client protocol"):
        require_token("ray://10.0.0.7:10001", {"RAY_AUTH_MODE": "token"})
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(UsageError):
        RayEngine(str, address="auto")
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    with pytest.raises(UsageError, match="is not the address"), RayEngine(str, address="nonsense"):
        pass
    assert "ray" not in sys.modules, "it is refused before anything is imported"


@pytest.mark.parametrize(
    ("cpus", "workers", "share"), [(8, 8, 1.0), (8, 2, 1.0), (4, 16, 0.25), (2, 7, 0.2857), (0, 3, 1.0)]
)
def test_more_workers_than_cpus_share_them(cpus: float, workers: int, share: float) -> None:
    assert cpu_share(cpus, workers) == share
    assert share * workers <= max(cpus, workers)
