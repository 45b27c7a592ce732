"""`upskill generate --description-only` as it is typed."""

import json
from pathlib import Path

import pytest

from forking import Forker
from handoff_server import answered_by_hand
from typed import Upskill
from upskill.core.models.handoff import HandoffQuestion

PROMPTS = [
    {"id": f"{kind}{n}", "prompt": f"{word} {n}", "should_load": kind == "s", "use": "learn" if n < 2 else "held-out"}
    for n in range(9)
    for kind, word in (("s", "Mend gauge"), ("n", "Draw gauge"))
]
GOOD = "Mends gauges. Use to mend a gauge, not to draw one."
STUDENT = """rules:
  - {turn: 1, prompt: Mend, reads: to mend, replies: [{tool: read_file, arguments: {path: /skills/gauge/SKILL.md}}]}
  - {replies: [Done.]}
"""
TEXT = "---\nname: gauge\ndescription: Helps.\n---\nTurn the brass screw by a quarter.\n"
TYPED = ("generate", "--description-only", "--from", "skills/gauge", "-m", "scripted/teacher.yaml")
MODEL = ("--eval-model", "scripted/student.yaml")


@pytest.fixture
def skill(here: Path) -> Path:
    """A skill with trigger prompts; a scripted student beside it."""
    skill = here / "skills" / "gauge"
    (skill / "evals").mkdir(parents=True)
    (skill / "SKILL.md").write_text(TEXT)
    (skill / "evals" / "triggers.json").write_text(json.dumps(PROMPTS))
    (here / "student.yaml").write_text(STUDENT)
    return skill


def test_it_is_planned_refused_and_done_as_typed(upskill: Upskill, here: Path, skill: Path) -> None:
    answer = json.dumps(json.dumps({"cause": "It says nothing.", "description": GOOD}))
    (here / "teacher.yaml").write_text(f"rules: [{{replies: [{answer}]}}]")

    plan = json.loads(upskill(*TYPED, *MODEL, "--dry-run", "--json").stdout)
    assert (plan["prompts"], plan["cases"]) == (18, None)
    for flag, words in (("--no-eval", "--no-eval"), ("--cases=1+1+1", "not cases"), ("a task", "a task")):
        refused = upskill(*TYPED, *MODEL, flag)
        assert refused.returncode == 2
        assert words in refused.stderr
    refused = upskill("generate", "--from", "skills/gauge", "-m", "scripted/teacher.yaml", UPSKILL_AMONG="3")
    assert (refused.returncode, "`among` needs --description-only" in refused.stderr) == (2, True)
    assert not (here / "runs").exists()

    done = upskill(*TYPED, *MODEL, "--yes", "--require", "helps")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("The old description is replaced. The new one is better: +50 points")
    assert "old: Helps." in done.stdout
    assert f"new: {GOOD}" in done.stdout
    assert "next, measure it on a model: upskill eval ./skills/gauge -m scripted/student.yaml" in done.stderr
    assert (skill / "SKILL.md").read_text() == TEXT.replace("Helps.", f'"{GOOD}"')

    again = upskill(*TYPED, *MODEL, "--yes", "--require", "helps", "--json")
    said = json.loads(again.stdout)
    assert (again.returncode, said["schema"], said["saved"]) == (1, "upskill.generate/1", None)
    assert said["description"]["attempts"][0]["right"] == 4


def test_it_is_revised_by_hand_off(
    upskill: Upskill, forker: Forker, environment: dict[str, str], here: Path, skill: Path
) -> None:
    (here / "bad").write_text(json.dumps({"cause": "", "description": "x" * 2000}))
    refused = []

    def by_hand(question: HandoffQuestion, text: str) -> str:
        refused.append(upskill("handoff", "asked", "--check", str(question.number), "bad"))
        return json.dumps({"cause": "It says nothing.", "description": GOOD})

    words = (*TYPED[:-1], "handoff/asked", *MODEL, "--yes")
    with forker.started(environment, *words, cwd=here) as asking:
        asked = answered_by_hand(upskill, here, by_hand)
        done = asking.wait()
    assert done.returncode == 0, done.stderr
    assert asked == [("skill: description", "the answer can be used\n")]
    assert (refused[0].returncode, "1,024" in refused[0].stdout) == (2, True)
    assert done.stdout.startswith("The old description is replaced. The new one is better: +50 points")
    assert (skill / "SKILL.md").read_text() == TEXT.replace("Helps.", f'"{GOOD}"')
