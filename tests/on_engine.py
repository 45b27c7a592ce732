"""The real engine in this process, against a loopback provider or a script."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from provider import MADE, Behave, Provider
from upskill.core.nouns import Evaluation, Trial
from upskill.core.nouns.evaluation import Required
from upskill.core.nouns.skill import Among
from upskill.core.settings import resolve_settings
from upskill.evaluation.evaluate import evaluate
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.past_runs import trials_of


@dataclass(frozen=True)
class CommandResult:
    """What an evaluation gave and left behind."""

    evaluation: Evaluation
    trials: list[Trial]
    run: Path


Run = Callable[..., CommandResult]
Make = Callable[..., Path]


@pytest.fixture
def skill(tmp_path: Path) -> Make:
    """Makes a skill with cases, each a prompt and what the answer must contain."""

    def make(
        cases: Sequence[tuple[str, Any]],
        *,
        body: str = "Say so.\n",
        name: str = "thing",
        files: dict[str, str] | None = None,
    ) -> Path:
        folder = tmp_path / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(f"---\nname: {name}\ndescription: Does a thing.\n---\n{body}")
        items = [{"id": f"c{n}", "input": prompt, "expected": expected} for n, (prompt, expected) in enumerate(cases)]
        if files:
            items = [{**item, "files": files} for item in items]
        (folder / "skill_meta.json").write_text(json.dumps({"cases": items}))
        return folder

    return make


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Evaluates a skill on one or more students, with settings given as keywords."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))  # where the key of own runs is

    def start(
        skill: Path,
        models: Sequence[str],
        *,
        repeats: int | None = 1,
        baseline: bool = True,
        min_lift: float | None = None,
        required: Required | None = None,
        previous: Path | None = None,
        ceiling: Any = None,
        controls: bool = False,
        sandbox: Any = "bubblewrap",
        case_file: Path | None = None,
        fresh: bool = False,
        practice: bool = False,
        among: Among | None = None,
        agent_bin: Path | None = None,
        **settings: Any,
    ) -> CommandResult:
        flags = {
            "models": tuple(models),
            "runs_dir": str(tmp_path / "runs"),
            "store": False,
            "report": False,
            **settings,
        }
        evaluation = evaluate(
            EvaluationOrder(
                skill=skill,
                case_file=case_file,
                repeats=repeats,
                baseline=baseline,
                min_lift=min_lift,
                required=required,
                previous=previous,
                ceiling=ceiling,
                controls=controls,
                sandbox=sandbox,
                fresh=fresh,
                practice=practice,
                agent_bin=agent_bin,
                among=among or Among(),
            ),
            settings=resolve_settings(flags, environment={}, folder=tmp_path, user_folder=tmp_path),
        )
        folder = tmp_path / evaluation.run
        return CommandResult(evaluation, list(trials_of(folder)), folder)

    return start


@pytest.fixture
def run_at(run: Run) -> Callable[..., tuple[CommandResult, Provider]]:
    """Evaluates a skill on a loopback provider that behaves as told."""

    def start(
        skill: Path, behave: Behave, *, first_call: Behave = lambda _: MADE, **settings: Any
    ) -> tuple[CommandResult, Provider]:
        with Provider(behave, first_call=first_call) as provider:
            return run(skill, ["any"], base_url=provider.url, **settings), provider

    return start


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., str]:
    """Writes a script and names it as a student."""

    def write(*rules: dict[str, Any]) -> str:
        path = tmp_path / "student.yaml"
        path.write_text(yaml.safe_dump({"rules": list(rules)}), encoding="utf-8")
        return f"scripted/{path}"

    return write
