"""Several skills in one evaluation: one budget, one interrupt, and none that stops the others."""

import json
import subprocess
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import upskill
from upskill.core.nouns import Skill, TrialPlan
from upskill.core.progress import PricedPlan, RunProgress
from upskill.core.runs.records import read_run
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.errors import UsageError
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.several import evaluate_skills, find_targets, is_several, plan_skills

CASES = [(f"Question {n}?", {"contains": "yes"}) for n in range(6)]
Make = Callable[..., Path]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def student(script: Callable[..., str]) -> str:
    return script({"arm": "with_skill", "replies": ["yes"]}, {"replies": ["no"]})


def commit(folder: Path) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
    for words in (("init", "-q", "-b", "main"), ("add", "skills"), (*who, "commit", "-q", "-m", "change")):
        subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True)


def chosen(here: Path, *models: str, **settings: Any) -> ResolvedSettings:
    flags = {"models": models, "store": False, "report": False, **settings}
    return resolve_settings(flags, environment={}, folder=here, user_folder=here)


def test_an_edited_skill_is_compared_a_new_one_measured_an_equal_one_left_out_and_a_broken_one_named(
    skill: Make, student: str, here: Path
) -> None:
    for name in ("edited", "kept"):
        skill(CASES, name=name)
    commit(here)
    edited = here / "skills" / "edited" / "SKILL.md"
    edited.write_text(edited.read_text() + "Say it twice.\n")
    skill(CASES, name="new")
    skill([], name="broken")
    result = upskill.evaluate_skills(
        "skills", models=student, runs=1, previous="git:HEAD", store=False, report=False, max_calls=100
    )
    found = {one.name: one for one in result.skills}
    assert {name: one.state for name, one in found.items()} == {
        "broken": "failed",
        "edited": "measured",
        "kept": "unchanged",
        "new": "measured",
    }
    assert found["edited"].evaluation is not None
    assert found["new"].evaluation is not None
    assert [arm.arm for arm in found["edited"].evaluation.students[0].arms] == ["previous", "with_skill"]
    assert [arm.arm for arm in found["new"].evaluation.students[0].arms] == ["baseline", "with_skill"]
    assert found["new"].is_new
    assert f"the old version is commit {str(found['edited'].commit)[:12]}" in found["edited"].evaluation.notes
    record = read_run(Path(found["edited"].evaluation.run))
    assert record.previous_source == f"git:{found['edited'].commit}"
    assert found["kept"].commit == found["edited"].commit
    assert result.compared.bought.calls == 24
    assert len(list((here / "runs").glob("*/run.json"))) == 2
    assert not result.meets("no-harm"), "a skill that could not be measured is not shown to do no harm"
    assert json.loads(json.dumps(result.to_dict()))["schema"] == "upskill.evals/1"
    assert "4 skills on student, compared with git:HEAD: 2 helps" in str(result)


def test_a_run_against_a_branch_is_resumed_against_the_commit_that_it_began_with(
    skill: Make, student: str, here: Path
) -> None:
    folder = skill(CASES)
    commit(here)
    (folder / "SKILL.md").write_text((folder / "SKILL.md").read_text() + "Say it twice.\n")
    common: dict[str, Any] = {"store": False, "report": False}
    first = upskill.evaluate(folder, models=student, runs=1, previous="git:main", max_calls=4, **common)
    assert first.evaluation.end.cap is not None
    commit(here)  # the branch has moved to the new version
    result = upskill.resume(first.run, max_calls=100)
    assert result.students[0].verdict == "helps"
    assert result.students[0].lifts[0].pairs == 6
    with pytest.raises(UsageError, match="is the same in git:main"):
        upskill.resume(first.run, previous="git:main")
    alone = upskill.evaluate(folder, models=student, runs=1, **common)
    with pytest.raises(UsageError, match="was started without --compare"):
        upskill.resume(alone.run, previous="git:main~1")


def test_one_cap_counts_over_all_skills_and_those_behind_it_are_not_started(
    skill: Make, student: str, here: Path
) -> None:
    folders = [skill(CASES, name=name) for name in ("a", "b", "c")]
    settings = chosen(here, student, max_calls=16)
    planned = plan_skills(folders, EvaluationOrder(skill=folders[0], repeats=1), settings=settings)
    assert planned.estimate.calls_at_most == 36
    found = evaluate_skills(planned)
    assert [one.state for one in found.skills] == ["measured", "measured", "not started"]
    assert found.bought.calls == 16
    assert found.skills[2].problem == "stopped at the cap of 16 calls before its turn"
    assert "--max-calls N" in (found.skills[2].hint or "")
    assert found.exit_code() == 3


class _InterruptsAt(RunProgress):
    """A person who presses Ctrl-C when the skill of this name is about to begin."""

    def __init__(self, name: str) -> None:
        self.name = name

    def evaluation_planned(self, plan: TrialPlan, *, skill: Skill, lines: Sequence[str], notes: Sequence[str]) -> None:
        if skill.name == self.name:
            raise KeyboardInterrupt


def test_an_interrupt_ends_all_skills_and_keeps_what_there_is(skill: Make, student: str, here: Path) -> None:
    folders = [skill(CASES, name=name) for name in ("a", "b", "c")]
    settings = chosen(here, student)
    planned = plan_skills(folders, EvaluationOrder(skill=folders[0], repeats=1), settings=settings)
    found = evaluate_skills(planned, progress=_InterruptsAt("b"))
    assert [one.state for one in found.skills] == ["measured", "not started", "not started"]
    assert found.interrupted
    assert found.exit_code() == 130


def test_the_price_of_all_is_agreed_to_once_before_anything_is_sent(skill: Make, here: Path) -> None:
    folders = [skill(CASES, name=name) for name in ("a", "b")]
    settings = chosen(here, "opus")
    planned = plan_skills(folders, EvaluationOrder(skill=folders[0]), settings=settings, needs_keys=False)
    asked: list[str] = []

    def declines(plan: PricedPlan) -> bool:
        asked.append(plan.price)
        return False

    with pytest.raises(UsageError, match="nothing was spent"):
        evaluate_skills(planned, confirm=declines)
    assert len(asked) == 1
    one = planned.skills[0].estimate
    assert planned.estimate.price_at_most == pytest.approx(2 * (one.price_at_most or 0))
    assert not (here / "runs").exists()


def test_what_is_wrong_with_all_skills_is_said_once(skill: Make, here: Path) -> None:
    folders = [skill(CASES, name=name) for name in ("a", "b")]
    with pytest.raises(UsageError, match="no model was named"):
        plan_skills(folders, EvaluationOrder(skill=folders[0]), settings=chosen(here))


def test_skills_and_folders_of_skills_are_found_once_each(skill: Make, here: Path) -> None:
    one = skill(CASES, name="a")
    skill(CASES, name="b")
    assert not is_several([one])
    assert is_several([here / "skills"])
    assert is_several([one, one])
    assert not is_several([here / "nowhere"])
    found = find_targets([one, here / "skills", one / "SKILL.md"])
    assert [path.name for path in found] == ["a", "b"]
    with pytest.raises(UsageError, match="no such folder"):
        find_targets([one, here / "nowhere"])


def test_the_library_takes_the_same_arguments_for_several_skills_as_for_one() -> None:
    one, several = (set(signature(call).parameters) for call in (upskill.evaluate, upskill.evaluate_skills))
    assert one - several == {"skill", "tests"}
    assert several - one == {"skills"}
