"""Runs in containers: what they may hold, and what must be typed again to resume one."""

from pathlib import Path

import pytest

from upskill.errors import UsageError
from upskill.settings import settings_from
from upskill.workflows.evaluating.prepare import require_sandbox_for, unconfined_notes
from upskill.workflows.evaluating.typed_again import Demands, TypedAgain


@pytest.mark.parametrize("harness", ["codex", "claude-code", "opencode"])
def test_a_coding_agent_is_refused_in_a_container(harness: str) -> None:
    with pytest.raises(UsageError, match="runs with bubblewrap only"):
        require_sandbox_for([], harness=harness, backend="docker", where="cases")


def test_every_report_says_that_docker_was_used() -> None:
    (note,) = unconfined_notes("docker")
    assert "tested with on a stand-in only" in note
    assert unconfined_notes("bubblewrap") == ()


def test_a_run_in_containers_is_resumed_in_containers_where_that_is_typed() -> None:
    typed = TypedAgain(settings=settings_from({}, where="test"))
    demands = Demands.of(Path("run"), typed, {})
    demands.sandbox("docker")
    assert [(word.flag, word.value) for word in demands.missing] == [("--sandbox", "docker")]
    again = TypedAgain(settings=settings_from({}, where="test"), sandbox="docker")
    agreed = Demands.of(Path("run"), again, {})
    agreed.sandbox("docker")
    assert agreed.missing == []
    with pytest.raises(UsageError, match="cannot be resumed in containers"):
        agreed.sandbox("bubblewrap")
