"""A teaching that was recorded: made by `benchmarks/record_teaching.py`, played back by `tests/recorded_teaching`.

The folder of a recording; `material/` beside it is what it was taught from:

    command.json      variables, then the words after `upskill generate`, without who teaches and who learns
    cases/, skill/    the teachers' answers, in the order in which they were asked: `001-plan.json`, `004-draft.json`
    student.jsonl     what the student's server answered (`recorded_student.py`)
    expected.json     verdict, rates and interval
    run/, made/       the whole run folder and the skill, for a reader; only in `gallery/recorded`
"""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forking import COMMAND
from recorded_student import RecordedStudent

_APTITUDE = ("student", "harness", "baseline", "ceiling", "cases", "rungs", "reachable", "cut")
SIDES = ("cases", "skill")
HANDOFF = "handoff"
_HERE = {"UPSKILL_REPORT": "false", "UPSKILL_SKILLS_DIR": "skills"}
"""Whatever the settings of a folder above say."""


def generate_command(words: Sequence[str], student: RecordedStudent) -> list[str]:
    """The whole command, for a folder in which the material lies; questions are handed off in `handoff`."""
    variables = [word for word in words if word.startswith("UPSKILL_")]
    others = [word for word in words if not word.startswith("UPSKILL_")]
    return ["env", *variables, COMMAND, "generate", *others, *_who(student)]


def _who(student: RecordedStudent) -> list[str]:
    who = ["--model", f"handoff/{HANDOFF}", "--eval-base-url", student.url]
    return [*who, "--json", "--yes"]


def teach(
    command: Sequence[str], folder: Path, *, student: RecordedStudent, answers: Path | None = None
) -> dict[str, Any]:
    """Run the command in a folder, with a trial store of its own and without keys: what it printed, as `--json` has it.

    With `answers` the teachers' answers come from a recording; otherwise somebody serves the hand-off. Raises
    `AssertionError` where a question or a request comes that was not recorded, or where the command fails.
    """
    kept = {name: value for name, value in os.environ.items() if not name.endswith(("_KEY", "_TOKEN"))}
    left = {side: sorted((answers / side).iterdir()) for side in SIDES} if answers else {}
    printed = folder / "result.json"
    with (
        printed.open("w", encoding="utf-8") as out,
        subprocess.Popen(
            command,
            cwd=folder,
            env={**kept, "XDG_CACHE_HOME": str(folder / "cache"), **_HERE},
            stdout=out,
        ) as process,
    ):
        try:
            while process.poll() is None:
                for side, recorded in left.items():
                    _answer_open(folder / HANDOFF / side, recorded)
                assert not student.unknown, f"asked of the student and not recorded: {student.unknown}"
                time.sleep(0.05)
        finally:
            process.kill()
    assert process.returncode == 0, f"`generate` ended with {process.returncode}; what it said is on stderr"
    unused = [path.name for recorded in left.values() for path in recorded]
    assert not unused, f"recorded answers that nobody asked for: {unused}"
    result: dict[str, Any] = json.loads(printed.read_text(encoding="utf-8"))
    return result


def outcome_of(result: dict[str, Any]) -> dict[str, Any]:
    """What must be the same whenever the same answers are given: no times, paths, prices or repeated calls."""
    held_out = result["held_out"]
    (student,) = held_out["students"] if held_out else [None]
    return {
        "status": result["status"],
        "sentence": result["sentence"],
        "cases": result["cases"],
        "attempts": [[one["passed"], one["of"]] for one in result["attempts"]],
        "aptitude": [{name: one[name] for name in _APTITUDE} for one in result.get("aptitude") or ()],
        "rates": {arm: found["pass_rate"] for arm, found in student["arms"].items()} if student else None,
        "interval": student["lifts"][0]["interval"] if student else None,
        "teacher_calls": result["spent"]["teacher"]["calls"],
    }


def keep(folder: Path, recording: Path, *, words: Sequence[str], result: dict[str, Any]) -> None:
    """Put a teaching that ended in `folder` into a recording, beside the student's answers that are there."""
    for side in SIDES:
        (recording / side).mkdir(parents=True, exist_ok=True)
        for question in _questions(folder / HANDOFF / side):
            for answer in question.glob("answer.*"):
                shutil.copyfile(answer, recording / side / f"{_title(question)}{answer.suffix}")
    _write(recording / "command.json", list(words))
    _write(recording / "expected.json", outcome_of(result))


def keep_run(folder: Path, recording: Path) -> None:
    """Put the run folder of a teaching that ended and the skill into a recording, without paths of this machine.

    Of the engine's logs only those of the held-out test stay: they are large, and `trials.jsonl` has all answers.
    """
    (run,) = (found.parent for found in (folder / "runs").glob("*/generate.json"))
    kept = recording / "run"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(run, kept)
    shutil.copytree(folder / "skills", recording / "made", dirs_exist_ok=True)
    for logs in kept.glob("trials/*/logs"):
        if logs.parent.name != "held-out":
            shutil.rmtree(logs)
    for path in (*recording.rglob("*.json"), *kept.rglob("*.jsonl")):
        text = path.read_text(encoding="utf-8")
        if (clean := text.replace(f"{folder}/", "")) != text:
            path.write_text(clean, encoding="utf-8")


def replay(recording: Path, folder: Path) -> dict[str, Any]:
    """Teach again from a recording, in an empty folder and without any model: the result of `generate`."""
    # A bare task has no material.
    if (material := recording.parent / "material").is_dir():
        shutil.copytree(material, folder, dirs_exist_ok=True)
    with RecordedStudent(recording / "student.jsonl") as student:
        command = generate_command(json.loads((recording / "command.json").read_text(encoding="utf-8")), student)
        return teach(command, folder, student=student, answers=recording)


def _answer_open(side: Path, answers: list[Path]) -> None:
    """Give each open question of a side the next recorded answer. Raises where the next was to another purpose."""
    for question in _questions(side):
        if any(question.glob("answer.*")) or not (question / "question.md").exists():
            continue
        assert answers, f"{question.name}: a question for which no answer is left"
        answer = answers.pop(0)
        asked, known = _title(question).partition("-")[2], answer.stem.partition("-")[2]
        assert asked == known, f"{question.name} was asked where {answer.name} was recorded"
        beside = question / ".answer"
        shutil.copyfile(answer, beside)
        beside.rename(question / f"answer{answer.suffix}")


def _questions(side: Path) -> Iterator[Path]:
    """The folders of questions, `001-plan-1a2b3c4d`, in their order."""
    found = [path for path in side.iterdir() if path.is_dir() and path.name[0].isdigit()] if side.is_dir() else []
    return iter(sorted(found, key=lambda path: int(path.name.partition("-")[0])))


def _title(question: Path) -> str:
    number, purpose, *_ = question.name.split("-")
    return f"{number}-{purpose}"


def _write(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
