"""Files that only servers read: workflows, forms for issues, hooks. Checked by the programs that know their formats."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from forking import run_program

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
OFFERED = ROOT / "src" / "upskill" / "setup" / "example" / "skills.yml"
FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))


def _actionlint(*files: Path) -> subprocess.CompletedProcess[str]:
    # Without the two programs that it would use if they happen to be installed: everywhere the same result.
    command = [str(BIN / "actionlint"), "-no-color", "-shellcheck=", "-pyflakes=", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)


def _read(path: Path) -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def test_workflows_are_valid_ours_and_the_one_that_init_writes() -> None:
    assert len(WORKFLOWS) == 2
    done = _actionlint(*WORKFLOWS, OFFERED)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_workflow_with_a_mistake_is_told(tmp_path: Path) -> None:
    broken = tmp_path / "ci.yml"
    broken.write_text(WORKFLOWS[0].read_text(encoding="utf-8").replace("runs-on:", "runs-at:"), encoding="utf-8")
    done = _actionlint(broken)
    assert done.returncode == 1
    assert "runs-at" in done.stdout


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_do_nothing_that_a_job_does_not_ask_for(path: Path) -> None:
    workflow = _read(path)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    writing = {
        (name, what)
        for name, job in workflow["jobs"].items()
        for what, level in job.get("permissions", {}).items()
        if level == "write"
    }
    wanted = {("publish", "id-token"), ("publish", "attestations"), ("notes", "contents")}
    assert writing == (wanted if path.name == "release.yml" else set())
    assert all("timeout-minutes" in job for job in workflow["jobs"].values())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_uses_released_actions_only_and_leaves_no_credentials_in_a_checkout(path: Path) -> None:
    steps = [step for job in _read(path)["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert used
    assert [name for name in used if not re.fullmatch(r"[\w./-]+@(v\d+|release/v\d+|[0-9a-f]{40})", name)] == []
    checkouts = [step for step in steps if step.get("uses", "").startswith("actions/checkout@")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_the_gate_on_linux_is_the_one_that_contributors_run() -> None:
    steps = _read(ROOT / ".github" / "workflows" / "ci.yml")["jobs"]["gate"]["steps"]
    assert ".ci/run" in [step.get("run") for step in steps]


def test_make_targets_that_workflows_call_exist() -> None:
    called = {name for path in WORKFLOWS for name in re.findall(r"run: make ([\w-]+)", path.read_text("utf-8"))}
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert called
    assert called <= targets


def test_forms_for_issues_have_what_the_server_requires() -> None:
    forms = {path.stem: _read(path) for path in FORMS if path.stem != "config"}
    assert set(forms) == {"bug", "feature", "wrong-number"}
    for form in forms.values():
        assert {"name", "description", "body"} <= set(form)
        questions = [part for part in form["body"] if part["type"] != "markdown"]
        assert all(part["attributes"]["label"] for part in questions)
        ids = [part["id"] for part in questions]
        assert len(ids) == len(set(ids))


def test_hooks_before_a_commit_are_valid_and_use_the_environment_of_this_repository() -> None:
    config = ROOT / ".pre-commit-config.yaml"
    done = run_program([str(BIN / "pre-commit"), "validate-config", str(config)], timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    assert [source["repo"] for source in _read(config)["repos"]] == ["local"]
    hooks = _read(config)["repos"][0]["hooks"]
    assert all(hook["language"] == "system" and hook["entry"].startswith(".venv/bin/") for hook in hooks)
