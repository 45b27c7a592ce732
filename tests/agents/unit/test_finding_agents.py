"""Where a coding agent is looked for, and what is said when there is none."""

from pathlib import Path

import pytest

from upskill.agents.codex import Codex
from upskill.agents.harness import find_agent
from upskill.core.trials.harness import agent_limits
from upskill.core.trials.trial_run import TrialLimits
from upskill.errors import UsageError

FAKE = "#!/bin/sh\necho codex-cli 1.2.3\n"


def program(folder: Path) -> Path:
    folder.mkdir(parents=True)
    path = folder / "codex"
    path.write_text(FAKE)
    path.chmod(0o755)
    return path


def test_an_agent_that_is_missing_says_how_to_install_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError) as caught:
        find_agent(Codex())
    assert "`codex`, which is not installed" in str(caught.value)
    assert "npm install -g @openai/codex" in str(caught.value.hint)
    assert "UPSKILL_AGENT_BIN" in str(caught.value.hint)


def test_a_program_in_the_working_folder_is_not_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    program(tmp_path / "node_modules" / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path}/node_modules/bin:node_modules/bin:.")
    with pytest.raises(UsageError):
        find_agent(Codex())


def test_a_program_below_the_home_is_taken_by_who_works_in_the_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".local" / "bin"
    folder.mkdir(parents=True)
    (folder / "codex").write_text("")
    (folder / "codex").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:.")
    with pytest.raises(UsageError, match="codex: cannot be run"):
        find_agent(Codex())


def test_agent_bin_needs_a_file_and_a_harness_that_runs_an_agent(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        find_agent(Codex(), named=tmp_path / "nothing")
    with pytest.raises(UsageError, match="runs none"):
        agent_limits(TrialLimits(), "chat", agent_bin=tmp_path)
    with pytest.raises(UsageError, match="in a sandbox only"):
        agent_limits(TrialLimits(confined=False), "codex", agent_bin=None)
