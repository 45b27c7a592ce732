"""A small harbour skill with cases of every use, a run of it made by hand, and comments on that run; for tests."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from made_runs import record
from upskill.core.cases.files import read_skill_cases
from upskill.core.nouns import Arm, Case, CheckResult, Grade, Scored, Student, Trial
from upskill.core.runs.records import CaseReference
from upskill.core.runs.run_folders import RunFolder
from upskill.core.skills.skills import read_skill

THINGS = (
    "anchor", "beacon", "cable", "davit", "eyelet", "fender", "gasket", "hatch", "inlet", "jetty", "keel", "ladder",
    "mast", "nozzle", "oarlock", "pulley",
)  # fmt: skip
NUMBERS = {thing: f"{thing[:3]}-{7 * at + 11}" for at, thing in enumerate(THINGS)}
MODEL = "scripted/student.yaml"
RUN = "2026-11-16-054800-moor-08d486"
TEACHER = """rules:
  - when: Which edits would have let the student pass
    replies:
      - '{"cause": "a person asks for it", "edits": [{"file": "SKILL.md", "action": "insert", "quote": null,
         "heading": "Facts", "text": "- Name the part in the answer", "why": "asked for"}]}'
  - replies: ['{}']
"""
"""A teacher that proposes one edit, whatever failed."""


def question(thing: str) -> str:
    return f"Which part number has the {thing} of moor?"


def case_json(thing: str, **more: Any) -> dict[str, Any]:
    expected = {"contains": NUMBERS[thing]}
    return {"id": thing, "input": question(thing), "expected": expected, "reference": NUMBERS[thing], **more}


def make_skill(here: Path, *, uses: Mapping[str, str] | None = None, families: Mapping[str, str] | None = None) -> Path:
    """`skills/moor`, with a case for each thing; those that `uses` does not name have none."""
    folder = here / "skills" / "moor"
    folder.mkdir(parents=True)
    facts = "\n".join(f"- The {thing} is {NUMBERS[thing]}" for thing in THINGS)
    about = "Facts about moor, a harbour tool. Use for any question about moor."
    (folder / "SKILL.md").write_text(f"---\nname: moor\ndescription: {about}\n---\n\n# Facts\n\n{facts}\n")
    cases = [
        case_json(
            thing,
            **({"use": uses[thing]} if thing in (uses or {}) and uses else {}),
            **({"family": families[thing]} if thing in (families or {}) and families else {}),
        )
        for thing in THINGS
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return folder


def write_scripts(here: Path) -> None:
    """A student that knows everything with the skill of today and nothing with an older one, and the teacher."""
    rules = [
        f"  - arm: with_skill\n    when: the {thing} of\n    replies: ['It is {NUMBERS[thing]}.']" for thing in THINGS
    ]
    (here / "student.yaml").write_text("\n".join(["seed: 1", "rules:", *rules, "  - replies: [I am not sure.]"]) + "\n")
    (here / "teacher.yaml").write_text(TEACHER)


def cases_of(skill: Path) -> tuple[Case, ...]:
    found = read_skill_cases(skill, check_problems=lambda _: [])
    assert found is not None
    return found.cases


def make_run(here: Path, skill: Path, *, name: str = RUN, skill_source: str = "../../skills/moor", **more: Any) -> Path:
    """A finished run of the skill: one repeat of each case in both arms; with the skill all pass, but for `anchor`."""
    folder = RunFolder(path=here / "runs" / name)
    folder.path.mkdir(parents=True)
    cases = cases_of(skill)
    references = tuple(CaseReference(id=one.id, digest=one.digest, prompt_digest=one.prompt_digest) for one in cases)
    folder.write_record(
        record(
            skill_name="moor",
            skill_digest=read_skill(skill).digest,
            skill_source=skill_source,
            case_source="../../skills/moor/skill_meta.json",
            cases=references,
            students=(Student(name=MODEL, model=MODEL),),
            status="finished",
            **more,
        )
    )
    with folder.trials.open() as log:
        for case in cases:
            for arm in ("baseline", "with_skill"):
                log.append(_trial(case.id, arm))
    return folder.path


def _trial(thing: str, arm: Arm) -> Trial:
    knows = arm == "with_skill"
    passed = knows and thing != "anchor"
    result = CheckResult(kind="contains", passed=passed, saw="looked")
    return Trial(
        id="0" * 64,
        student=MODEL,
        case_id=thing,
        arm=arm,
        repeat=1,
        outcome=Scored(end="answered", grade=Grade(results=(result,))),
        answer=f"It is {NUMBERS[thing]}." if knows else "I am not sure.",
    )


def comment(
    case: str, opinion: str | None = "unclear", note: str = "", *, arm: Arm = "with_skill", **more: Any
) -> dict[str, Any]:
    return {"case": case, "model": MODEL, "arm": arm, "repeat": 1, "opinion": opinion, "note": note, **more}


def feedback_json(folder: Path, comments: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    known = json.loads((folder / "run.json").read_text())
    skill = {"name": known["skill_name"], "digest": known["skill_digest"]}
    return {"schema": "upskill.feedback/1", "run": folder.name, "skill": skill, "comments": list(comments), **more}


def write_feedback(folder: Path, /, *comments: dict[str, Any], **more: Any) -> Path:
    path = folder.parent.parent / "upskill-feedback.json"
    path.write_text(json.dumps(feedback_json(folder, comments, **more)))
    return path
