"""`generate` on a skill that passes every learn case says so before a teacher is asked, and what would help."""

import json
from pathlib import Path

import pytest

from typed import Upskill

CASES = [
    {
        "id": f"c{number}",
        "use": use,
        "input": f"Which port has berth {number}?",
        "expected": {"contains": f"84{number}"},
    }
    for number, use in enumerate(["learn", "learn", *["held-out"] * 6])
]
STUDENT = "scripted/student.yaml"
TEACHER = "scripted/teacher.yaml"


@pytest.fixture
def quay(here: Path) -> Path:
    folder = here / "skills" / "quay"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text("---\nname: quay\ndescription: Ports of berths.\n---\nBerth N is at 84N.\n")
    (folder / "skill_meta.json").write_text(json.dumps({"cases": CASES}))
    (here / "teacher.yaml").write_text("rules: [{when: nobody asks this, replies: [x]}]")
    return folder


def student(here: Path, *, knows: int) -> None:
    """A student that with the skill knows the first berths and no other."""
    rules = "".join(f"  - {{arm: with_skill, when: berth {n}, replies: ['84{n}']}}\n" for n in range(knows))
    (here / "student.yaml").write_text(f"rules:\n{rules}  - replies: [No idea.]\n")


def test_nothing_left_to_fix_is_said_before_a_teacher_is_asked(upskill: Upskill, here: Path, quay: Path) -> None:
    student(here, knows=2)
    before = (quay / "SKILL.md").read_bytes()
    done = upskill("generate", "-f", "skills/quay", "-m", TEACHER, "--eval-model", STUDENT)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert first == "The old version stays: it passes all 2 practice cases, so nothing is left to fix."
    assert "teacher 0 calls ($0.00)" in done.stdout
    assert "models 2 calls ($0.00)" in done.stdout, "each learn case once, with the skill"
    for way in ("cases write ./skills/quay", "--eval-model", 'generate "what to change" --from', "--feedback"):
        assert way in done.stdout
    assert "UPSKILL_ANYWAY" not in done.stdout, "there is no new material to make a draft from"
    assert (quay / "SKILL.md").read_bytes() == before
    found = json.loads(
        upskill("generate", "--from", "skills/quay", "-m", TEACHER, "--eval-model", STUDENT, "--json").stdout
    )
    assert (found["saved"], found["kept"], found["spent"]["teacher"]["calls"]) == (None, None, 0)


def test_new_material_is_not_read_by_a_teacher_unless_somebody_wants_it_anyway(
    upskill: Upskill, here: Path, quay: Path
) -> None:
    student(here, knows=2)
    (here / "notes.html").write_text("<p>Berth 9 is at 849.</p>")
    words = ("generate", "-f", "skills/quay", "-f", "notes.html", "-m", TEACHER, "--eval-model", STUDENT)
    done = upskill(*words)
    assert done.returncode == 0, done.stderr
    assert "teacher 0 calls ($0.00)" in done.stdout
    assert "UPSKILL_ANYWAY=true" in done.stdout
    anyway = upskill(*words, UPSKILL_ANYWAY="true")
    assert "(draft, asked 3 times)" in anyway.stderr, "this one answers nothing that could be used"


def test_a_learn_case_that_fails_is_something_to_fix(upskill: Upskill, here: Path, quay: Path) -> None:
    student(here, knows=1)
    done = upskill("generate", "-f", "skills/quay", "-m", TEACHER, "--eval-model", STUDENT)
    assert "nothing is left to fix" not in done.stdout + done.stderr
    assert "spent: teacher" in done.stdout
    assert "teacher 0 calls ($0.00)" not in done.stdout


def test_a_wish_is_carried_out_whatever_passes(upskill: Upskill, here: Path, quay: Path) -> None:
    student(here, knows=8)
    done = upskill("generate", "shorter", "-f", "skills/quay", "-m", TEACHER, "--eval-model", STUDENT)
    assert "nothing is left to fix" not in done.stdout + done.stderr
