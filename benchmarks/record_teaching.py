"""One real task from material to verdict: teachers answer by hand-off, a small real model learns.

    python -m benchmarks.record_teaching --task kestrel --model 1.5b --folder build/kestrel-1.5b
    python -m benchmarks.record_teaching --task kestrel --model 1.5b --folder build/kestrel-1.5b      resumes it

Two fresh conversations serve `FOLDER/handoff/cases` and `FOLDER/handoff/skill`, and see nothing else. The student's
answers are recorded. With `--answers RECORDING` the recorded teachers answer again, and only the student is recorded
anew. At the end a row of the table is printed. Move `FOLDER/recording` to `gallery/recorded/TASK/MODEL`, and the tests
play it back. Further words go to `generate`.
"""

import argparse
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from tools.local_model import served_model
from tools.models import MODELS

from recorded_student import RecordedStudent
from teaching_recording import HANDOFF, generate_command, keep, keep_run, teach

ROOT = Path(__file__).parent.parent
RECORDED = ROOT / "gallery" / "recorded"
PORT = 18714
"""Of the student. Stays the same: a run is resumed only with the server it was begun with."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is taught, and from which file or folder of its material."""

    task: str
    material: str | None
    """`None` for a bare task."""

    def words(self, model: str) -> list[str]:
        """Variables, and what comes after `upskill generate`, in a folder with the material."""
        return [
            *("UPSKILL_TEMPERATURE=0", "UPSKILL_CONCURRENCY=1", "UPSKILL_MAX_OUTPUT_TOKENS=120"),
            self.task,
            *([] if self.material is None else ["--from", self.material]),
            *("--cases", "10+32+4", "--revisions", "2", "--eval-model", model),
        ]


TASKS = {
    "kestrel": Task(task="write kestrel.conf files and answer questions about kestrel", material="kestrel.md"),
    "palletry": Task(
        task="write requests to the stock service Palletry and answer questions about it", material="palletry-api.md"
    ),
    "siltgate": Task(task="write gate plans and operate siltgate", material="siltgate.jsonl"),
    "orrery": Task(task="write manifests and release images with orrery", material="orrery.jsonl"),
    "loomwright": Task(task="write pattern files and stitches for loomwright", material="loomwright"),
    "just": Task(task="write justfiles for the command runner just and answer questions about them", material=None),
}
"""The list was fixed, and its materials were committed, before the first answer of any teacher or student."""


def main() -> int:
    """Serve the student, teach, record, print the row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.record_teaching")
    parser.add_argument("--task", choices=sorted(TASKS), required=True)
    parser.add_argument("--model", choices=MODELS, required=True)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--answers", type=Path, default=None, help="a recording whose teachers answer again")
    parser.add_argument("--port", type=int, default=PORT)
    flags, more = parser.parse_known_args()
    folder = flags.folder.resolve()
    recording = folder / "recording"
    recording.mkdir(parents=True, exist_ok=True)
    if (material := RECORDED / flags.task / "material").is_dir():
        shutil.copytree(material, folder, dirs_exist_ok=True)
    with (
        served_model(size=flags.model, cache=True) as url,
        RecordedStudent(recording / "student.jsonl", upstream=url, port=flags.port) as student,
    ):
        words = [*TASKS[flags.task].words(MODELS[flags.model].name), *more]
        command = generate_command(words, student)
        if begun := sorted((folder / "runs").glob("*/generate.json")):
            command = generate_command(["--resume", str(begun[-1].parent), *more], student)
        print(f"$ {' '.join(command)}\nserve {folder / HANDOFF}", file=sys.stderr, flush=True)
        result = teach(command, folder, student=student, answers=flags.answers)
    keep(folder, recording, words=words, result=result)
    keep_run(folder, recording)
    print(row(f"{flags.task}, {flags.model}", result))
    return 0


def row(name: str, result: dict[str, Any]) -> str:
    """One row: ceiling, baseline, with skill, lift with its interval, verdict, teacher calls and tokens, attempts."""
    aptitude = (result.get("aptitude") or [{}])[0]
    cells = [name, _percent(aptitude.get("ceiling"))]
    if result["held_out"]:
        (student,) = result["held_out"]["students"]
        (lift,) = student["lifts"]
        low, high = lift["interval"]
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
