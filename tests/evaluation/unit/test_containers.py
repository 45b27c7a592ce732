"""Runs in containers: what they may hold, and how they are resumed."""

from pathlib import Path

import pytest

from upskill.core.nouns.harness import harness_names
from upskill.errors import UsageError
from upskill.evaluation.prepare import require_sandbox_for, unconfined_notes
from upskill.evaluation.resume import resumed_backend


@pytest.mark.skipif("codex" not in harness_names(), reason="coding agents were removed")
@pytest.mark.parametrize("harness", ["codex", "claude-code", "opencode"])
def test_a_coding_agent_of_another_system_is_refused(harness: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.platform", "darwin")
    with pytest.raises(UsageError, match="no program of a container"):
        require_sandbox_for([], harness=harness, backend="docker", where="cases")


def test_reports_say_which_engine_no_test_runs() -> None:
    (note,) = unconfined_notes("docker")
    assert "tested with the engine of podman only" in note
    assert unconfined_notes("podman") == unconfined_notes("bubblewrap", memory_by="cgroup") == ()


def test_reports_say_where_memory_was_not_limited_as_a_whole() -> None:
    (note,) = unconfined_notes("bubblewrap", memory_by="process")
    assert note == "no control group: memory was limited for each process of an answer, not for all together"


def test_a_run_is_resumed_in_its_own_sandbox_and_in_no_other() -> None:
    run = Path("run")
    assert resumed_backend(run, "podman", "bubblewrap") == "podman", "nothing was typed"
    assert resumed_backend(run, "podman", "podman") == "podman"
    assert resumed_backend(run, None, "docker") == "docker", "nothing was executed"
    with pytest.raises(UsageError, match="is confined by bubblewrap, and cannot be resumed in containers of podman"):
        resumed_backend(run, "bubblewrap", "podman")
    with pytest.raises(UsageError, match="is confined by podman, and cannot be resumed in containers of docker"):
        resumed_backend(run, "podman", "docker")
    with pytest.raises(UsageError, match="cannot be resumed unconfined"):
        resumed_backend(run, "docker", "none")
    with pytest.raises(UsageError, match="is not confined"):
        resumed_backend(run, "none", "docker")
