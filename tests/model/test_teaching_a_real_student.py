"""The whole loop with a real student: a scripted draft fails, its revision mends it, held-out cases prove it."""

import json
from pathlib import Path
from typing import Any

import pytest
import skills_ref
import yaml

from forking import COMMAND, Done, run_program
from upskill.core.cases.split import CaseCounts
from upskill.core.models import Reply
from upskill.generation.facts import plan_facts
from upskill.generation.material import Material

TASK = "answer questions about tarnctl"
FACTS = {
    "config file": "tarn.kdl",
    "default port": "7413",
    "start command": "tarnctl rouse",
    "stop command": "tarnctl lull",
    "current version": "4.19",
    "backup folder": "/srv/brine",
    "health page": "/pulse",
    "poll interval": "47 seconds",
}
STUDENT = {"UPSKILL_TEMPERATURE": "0", "UPSKILL_MAX_OUTPUT_TOKENS": "24", "UPSKILL_CONCURRENCY": "2"}
COUNTS = CaseCounts(learn=4, held_out=12, negative=0)


def _case(thing: str, wording: str) -> dict[str, Any]:
    asked = {"direct": f"What is the {thing} of tarnctl?", "paraphrased": f"Please name the {thing} that tarnctl uses."}
    return {
        "id": f"{thing}-{wording}",
        "fact": thing,
        "rung": "answer" if wording == "direct" else "snippet",
        "wording": wording,
        "negative": False,
        "input": asked[wording],
        "files": [],
        "checks": [{"contains": [FACTS[thing]]}],
        "reference": {"text": FACTS[thing], "files": []},
        "wrong": [{"text": "tarnctl.yaml", "files": []}, {"text": "8080", "files": []}],
    }


def _teacher(path: Path) -> None:
    """Cases about all facts; a draft that knows only those that no learn case asks for; a revision that knows all."""
    items = [_case(thing, wording) for wording in ("direct", "paraphrased") for thing in FACTS]
    facts = [
        {
            "id": thing.replace(" ", "-"),
            "text": f"The {thing} is {value}.",
            "answer": value,
            "kind": "fact",
            "place": "",
            "family": thing,
        }
        for thing, value in FACTS.items()
    ]
    plan = plan_facts(Material(task=TASK), lambda _: (Reply(text=json.dumps({"facts": facts})),), counts=COUNTS)
    learned = {fact.id.replace("-", " ") for fact in plan.facts if fact.use == "learn"}
    assert 2 <= len(learned) <= 4
    lines = {thing: f"- The {thing} is {value}" for thing, value in FACTS.items()}
    draft = {
        "name": "tarnctl-facts",
        "description": "Facts about tarnctl, a tide gauge. Use for any question about tarnctl.",
        "sections": [
            {"heading": "Facts", "text": "\n".join(lines[one] for one in FACTS if one not in learned), "sources": []}
        ],
        "references": [],
    }
    edit = {"file": "SKILL.md", "action": "insert", "heading": "Facts", "text": "\n".join(lines[o] for o in learned)}
    rules = [
        {"when": "List up to", "replies": [json.dumps({"facts": facts})]},
        {"when": r"Answer with `\{\"cases\"", "replies": [json.dumps({"cases": items})]},
        {"when": "Write the skill for this task", "replies": [json.dumps(draft)]},
        {
            "when": "Which edits would have let the student pass",
            "replies": [json.dumps({"cause": "it is not said", "edits": [{**edit, "quote": None, "why": "missing"}]})],
        },
        {"replies": ["I do not know."]},
    ]
    path.write_text(yaml.safe_dump({"rules": rules}), encoding="utf-8")


def _generate(here: Path, *words: str) -> Done:
    return run_program(
        [COMMAND, "generate", TASK, *words],
        cwd=here,
        env={"PATH": "/usr/bin:/bin", "HOME": str(here), "LANG": "C.UTF-8", **STUDENT},
        timeout=600,
    )


def test_a_draft_fails_its_revision_mends_it_and_held_out_cases_prove_it(local_model: str, tmp_path: Path) -> None:
    _teacher(tmp_path / "teacher.yaml")
    students = ("--eval-model", "smollm2", "--eval-base-url", local_model)
    more = ("--json", "--yes")
    done = _generate(tmp_path, "--model", "scripted/teacher.yaml", *students, "--cases", str(COUNTS), *more)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    first, second = found["attempts"][:2]
    assert first["passed"] < second["passed"], "the revision mends what failed"
    assert found["status"] == "helps", found["sentence"]
    assert found["proven"]
    (student,) = found["held_out"]["students"]
    assert student["arms"]["baseline"]["pass_rate"] <= 0.2
    assert student["lifts"][0]["interval"][0] > 0
    assert student["lifts"][0]["about"] == "new cases"
    assert found["spent"]["teacher"]["calls"] <= 7, "plan, cases, draft, presentations in vain three times, revision"
    assert skills_ref.validate(tmp_path / "skills" / "tarnctl-facts") == []


@pytest.mark.full
def test_a_hopeless_local_teacher_ends_cleanly_says_why_and_saves_nothing(local_model: str, tmp_path: Path) -> None:
    done = _generate(tmp_path, "--model", "smollm2", "--base-url", local_model, "--cases", "1+1+0", "--yes")
    assert done.returncode == 3, done.stdout + done.stderr
    assert not (tmp_path / "skills").exists()
    last = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(last) == 1, done.stderr
    assert "teacher" in last[0]
    assert "Traceback" not in done.stderr
    (run,) = [path for path in (tmp_path / "runs").iterdir() if path.is_dir()]
    assert json.loads((run / "generate.json").read_text())["status"] == "failed"
