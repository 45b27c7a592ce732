"""One real task from material to verdict: teachers answer by hand-off, a very small real model learns.

    python -m benchmarks.record_teaching --task session --folder build/session
    python -m benchmarks.record_teaching --task session --folder build/session     again, to resume it

Two fresh conversations serve `FOLDER/handoff/cases` and `FOLDER/handoff/skill`, and see nothing else. The student's
answers are recorded. With `--answers RECORDING` the recorded teachers answer again, and only the student is recorded
anew. At the end a row of the table is printed. Move `FOLDER/recording` to `tests/recorded_teaching/TASK`, or to
`gallery/recorded/TASK` for a task of the gallery, and the tests play it back. Further words go to `generate`.
"""

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from tools.local_model import served_model

from recorded_student import RecordedStudent
from teaching_recording import HANDOFF, generate_command, keep, keep_run, teach

ROOT = Path(__file__).parent.parent
GALLERY = ROOT / "gallery"
PORT = 18714
"""Of the student. Stays the same: a run is resumed only with the server it was begun with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is taught, and from what."""

    task: str
    material: Path
    cases: str

    @property
    def words(self) -> list[str]:
        """Variables, and what comes after `upskill generate`, in a folder with the material."""
        return [
            "UPSKILL_TEMPERATURE=0",
            "UPSKILL_CONCURRENCY=1",
            "UPSKILL_MAX_OUTPUT_TOKENS=96",
            self.task,
            "--from",
            self.material.name,
            "--cases",
            self.cases,
            "--revisions",
            "2",
        ]


TASKS = {
    "gpu-kernels": Task(
        task="answer questions about GPU kernels for the Hugging Face kernel builder",
        material=GALLERY / "recorded" / "gpu-kernels" / "material" / "gpu-kernels.md",
        cases="8+32+4",
    ),
    "sql-migrations": Task(
        task="answer questions about schema migrations on PostgreSQL that do not block the application",
        material=GALLERY / "recorded" / "sql-migrations" / "material" / "sql-migrations.md",
        cases="8+32+4",
    ),
    "session": Task(
        task="answer questions about writing and testing CUDA kernels in this project",
        material=ROOT / "examples" / "traces" / "session.jsonl",
        cases="4+10+0",
    ),
    "howto": Task(
        task="answer questions about evaluating a model on a local server with upskill",
        material=ROOT / "tests" / "recorded_teaching" / "howto" / "material" / "evaluate-a-local-model.md",
        cases="8+26+0",
    ),
}


def main() -> int:
    """Serve the student, teach, record, print the row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_teaching")
    parser.add_argument("--task", choices=sorted(TASKS), required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--answers", type=Path, default=None, help="a recording whose teachers answer again")
    parser.add_argument("--port", type=int, default=PORT)
    flags, more = parser.parse_known_args()
    task, folder = TASKS[flags.task], flags.folder.resolve()
    recording = folder / "recording"
    _lay_out(task, folder)
    with (
        served_model() as url,
        RecordedStudent(recording / "student.jsonl", upstream=url, port=flags.port) as student,
    ):
        words = [*task.words, *more]
        command = generate_command(words, student)
        if begun := sorted((folder / "runs").glob("*/generate.json")):
            command = generate_command(["--resume", str(begun[-1].parent), *more], student)
        print(f"$ {' '.join(command)}\nserve {folder / HANDOFF}", file=sys.stderr, flush=True)
        result = teach(command, folder, student=student, answers=flags.answers)
    keep(folder, recording, words=words, result=result)
    if GALLERY in task.material.parents:
        keep_run(folder, recording)
    print(row(flags.task, result))
    return 0


def _lay_out(task: Task, folder: Path) -> None:
    """Copy the material, and what belongs to a recording of the same name, into the folder and into the recording."""
    for place in (folder, folder / "recording" / "material"):
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy(task.material, place)
        if (beside := task.material.with_suffix("")).is_dir():
            shutil.copytree(beside, place / beside.name, dirs_exist_ok=True)


def row(name: str, result: dict[str, Any]) -> str:
    """One row: ceiling, baseline, with skill, lift with its interval, verdict, teacher calls and tokens, attempts."""
    aptitude = (result.get("aptitude") or [{}])[0]
    cells = [name, _percent(aptitude.get("ceiling"))]
    if result["held_out"]:
        (student,) = result["held_out"]["students"]
        (lift,) = student["lifts"]
        low, high = lift["cases_like_these"] or (float("nan"), float("nan"))
        cells += [_percent(student["arms"][arm]["pass_rate"]) for arm in ("baseline", "with_skill")]
        cells.append(f"{100 * lift['mean']:+.0f} ({100 * low:+.0f} to {100 * high:+.0f})")
    else:
        cells += ["not measured"] * 3
    teacher = result["spent"]["teacher"]
    attempts = ", ".join(f"{one['passed']}/{one['of']}" for one in result["attempts"])
    return " | ".join(
        ["", *cells, result["status"], str(teacher["calls"]), f"{teacher['tokens']:,}", attempts, ""]
    ).strip()


def _percent(rate: float | None) -> str:
    return "unknown" if rate is None else f"{100 * rate:.0f}%"


if __name__ == "__main__":
    sys.exit(main())
