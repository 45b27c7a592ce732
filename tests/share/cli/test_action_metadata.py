"""The GitHub Action as a file: pinned, without expressions in scripts, valid, and in step with its scripts and docs."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from forking import run_program
from share.cli.gate import ACTION, ROOT

BIN = ROOT / ".venv" / "bin"
METADATA: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = METADATA["runs"]["steps"]
SCRIPTS = sorted(ACTION.glob("*.sh"))
RUN = [step for step in STEPS if "run" in step]
USES = [step for step in STEPS if "uses" in step]
EXAMPLE = ACTION / "example.yml"


def actionlint(*files: Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    words = [str(BIN / "actionlint"), "-no-color", "-shellcheck=", "-pyflakes=", *map(str, files)]
    return run_program(words, cwd=cwd)


def test_actions_of_others_are_pinned_by_commit_and_say_their_version() -> None:
    text = (ACTION / "action.yml").read_text(encoding="utf-8") + EXAMPLE.read_text(encoding="utf-8")
    used = re.findall(r"uses: (\S+)(.*)", text)
    assert len(used) >= len(USES)
    others = [(name, said) for name, said in used if not name.startswith("OWNER/upskill/")]
    assert [name for name, _ in others if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", name)] == []
    assert [name for name, said in others if not re.fullmatch(r" # v\d+\.\d+\.\d+", said)] == []


@pytest.mark.parametrize("folder", [".github", "action", "deploy", "docs", "src/upskill/setup/example"])
def test_every_action_that_is_used_anywhere_is_pinned_by_commit(folder: str) -> None:
    pages = [path for path in (ROOT / folder).rglob("*") if path.suffix in (".yml", ".yaml", ".md")]
    used = [
        (page.name, name) for page in pages for name in re.findall(r"^[\s-]*uses: (\S+)", page.read_text("utf-8"), re.M)
    ]
    ours = r"OWNER/upskill/action@COMMIT|\./\S+"
    assert [one for one in used if not re.fullmatch(rf"[\w./-]+@[0-9a-f]{{40}}|{ours}", one[1])] == []


def test_only_the_step_that_measures_is_given_keys() -> None:
    given = {step["name"] for step in STEPS if "inputs.keys" in str(step)}
    assert given == {"Evaluate"}
    assert "env:" not in EXAMPLE.read_text(encoding="utf-8")


def test_scripts_get_what_they_need_by_the_environment_only() -> None:
    assert all("${{" not in step["run"] for step in RUN)
    assert all(step["shell"] == "bash" for step in RUN)
    for step in RUN:
        (name,) = re.fullmatch(r'"\$GITHUB_ACTION_PATH/([\w-]+\.sh)"', step["run"]).groups()  # type: ignore[union-attr]
        text = (ACTION / name).read_text(encoding="utf-8")
        read = set(re.findall(r"\$\{?(GATE_\w+)", text))
        assert {variable for variable in step.get("env", {}) if variable.startswith("GATE_")} == read, name


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_stop_at_an_error_and_evaluate_no_text(script: Path) -> None:
    text = script.read_text(encoding="utf-8")
    if script.name != "guard.sh":
        assert script.stat().st_mode & 0o111
        assert text.startswith("#!/usr/bin/env bash\n")
        assert "\nset -euo pipefail\n" in text
    assert not re.search(r"(?<!upskill )\beval [\"$]|\$\{\{|set -x|\bxargs\b", text)


def test_the_scripts_have_no_findings() -> None:
    done = run_program([str(BIN / "shellcheck"), "-x", "-s", "bash", *map(str, SCRIPTS)], cwd=ACTION)
    assert done.returncode == 0, done.stdout


def test_what_must_be_said_is_said_after_a_failure_too() -> None:
    conditions = {step["name"]: str(step.get("if", "")) for step in STEPS}
    after = list(conditions)[list(conditions).index("Evaluate") + 1 :]
    assert after[-2:] == ["Summarise", "Comment on the pull request"]
    assert all("always()" in conditions[name] for name in after)
    assert not any("continue-on-error" in step for step in STEPS)


def test_the_action_is_valid_and_so_is_the_example(tmp_path: Path) -> None:
    """Only workflows are linted, so the steps become a job of a workflow with the same inputs; the example uses it."""
    inputs = {name: {"type": "string", "description": one["description"]} for name, one in METADATA["inputs"].items()}
    workflow = {
        "on": {"workflow_call": {"inputs": inputs}},
        "permissions": {},
        "jobs": {"gate": {"runs-on": "ubuntu-latest", "steps": STEPS}},
    }
    subprocess.run(["git", "init", "--quiet", str(tmp_path)], check=True, timeout=60)
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    (folder / "steps.yml").write_text(yaml.safe_dump(workflow), encoding="utf-8")
    example = re.sub(r"OWNER/upskill/action@\S+", "./action", EXAMPLE.read_text(encoding="utf-8"))
    (folder / "example.yml").write_text(example, encoding="utf-8")
    shutil.copytree(ACTION, tmp_path / "action")
    done = actionlint(*folder.glob("*.yml"), cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    (folder / "example.yml").write_text(example.replace("models:", "model:"), encoding="utf-8")
    assert 'missing input "models"' in actionlint(folder / "example.yml", cwd=tmp_path).stdout


def test_every_input_is_explained() -> None:
    page = (ACTION / "README.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| `?([^`|]*?)`? \|", page, re.MULTILINE))
    defaults = {name: str(one.get("default", "required")) for name, one in METADATA["inputs"].items()}
    assert rows == {name: default or "none" for name, default in defaults.items()}
    links = re.findall(r"\]\(([^)#]+)", page)
    assert [link for link in links if not (ACTION / link).exists()] == []
    assert set(re.findall(r"^\| `([\w-]+\.sh)`", page, re.MULTILINE)) == {path.name for path in SCRIPTS} - {"guard.sh"}


def test_the_page_shows_the_example() -> None:
    page = (ROOT / "docs" / "how-to" / "run-in-ci.md").read_text(encoding="utf-8")
    _, _, example = EXAMPLE.read_text(encoding="utf-8").partition("\n")
    assert f"```yaml\n{example}```" in page
