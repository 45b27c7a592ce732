"""What each skill of the gallery, and `examples/tarnctl`, does for three small real models on this machine.

    python -m benchmarks.gallery_students                          SmolLM2, the knowledge cases of all skills
    python -m benchmarks.gallery_students --model 1.5b             Qwen2.5-Coder (`make models`)
    python -m benchmarks.gallery_students --model 1.5b --level executable        tasks whose results are run, in chat
    python -m benchmarks.gallery_students --model 1.5b --level executable --agent github-actions
    python -m benchmarks.gallery_students --model 1.5b --level executable --record
    python -m benchmarks.gallery_students --model 1.5b --controls                a placebo and the skill corrupted
    python -m benchmarks.gallery_students --recompute              the results of all runs anew, from their answers

Each evaluation is one run in `gallery/measured`, kept without the logs of the engine; the evidence of a skill is
written beside it. Cases are asked once, at temperature 0, of a server that remembers prompts: without that it takes
ten times as long. With tools two answers are written at once. A run that is there is not made again, unless `--again`;
after a stop, what was answered comes from the store. Beside the GPU skill, what was published about its subject is
measured on SmolLM2, as a skill of its own.

With `--record` every answer is asked of the model, through a server that records it: `student.jsonl` of the kept run
has the recording, and `looks.jsonl` the earlier looks at this skill, where there are any. Type the same words again
after a stop: what was recorded is not asked of the model again. `tests/gallery/guard` plays recordings back;
CONTRIBUTING.md says when one may be replaced.

`--controls` adds two arms to each recorded run of the model and the level, and keeps the result in `gallery/controls`:
what was recorded is played back, and the rest is asked.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from tools.gallery import GALLERY, KNOWLEDGE, ROOT, level_files, skill_names
from tools.gallery_page import PAGE, RUNS, page
from tools.local_model import served_model
from tools.models import MODELS

from measured_recording import LOOKS, RECORDING, WITH_CONTROLS, Measured, recorded
from recorded_student import RecordedStudent
from upskill.core.runs.look_ledger import default_ledger_path
from upskill.errors import EXIT_DONE, EXIT_FAILED
from upskill.evaluation.regrade import regrade
from upskill.report.json_report import evaluation_json

PUBLISHED = GALLERY / "gpu-kernels" / "evals" / "published-facts"
TARNCTL = ROOT / "examples" / "tarnctl"
UPSKILL = str(Path(sys.executable).parent / "upskill")
PORT = 18731
"""Stays the same: it is part of what a run records."""
ASKED = ["--runs", "1"]
SMOLLM2 = "smollm2"
NAMES = {SMOLLM2: SMOLLM2, **{size: model.name for size, model in MODELS.items()}}
SET = {"UPSKILL_TEMPERATURE": "0"}
KNOWS = {"UPSKILL_CEILING": "true"}
"""At the level of knowledge, where the cases of the gallery name the passage that answers them."""
MOST_TOKENS = {SMOLLM2: "64", "0.5b": "96", "1.5b": "96"}
"""Of an answer at the level of knowledge."""
MADE = {"UPSKILL_MAX_OUTPUT_TOKENS": "768"}
"""Of an answer that holds files: the longest reference takes about 650. Set before the first run."""
WITH_TOOLS = {"UPSKILL_MAX_OUTPUT_TOKENS": "1024", "UPSKILL_MAX_TURNS": "8"}
"""Of each turn, and of an answer. `upskill.toml` of this repository, which is for its example, cuts at 40 tokens."""


def main(words: Sequence[str] | None = None) -> int:
    """Serve the model, evaluate, write the evidence."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gallery_students")
    parser.add_argument("skills", nargs="*", help="default: all of them, and tarnctl")
    parser.add_argument("--model", choices=NAMES, default=SMOLLM2)
    parser.add_argument("--level", default=KNOWLEDGE)
    parser.add_argument("--agent", action="store_true", help="with tools; default: without")
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--record", action="store_true", help="ask for every answer, and keep what the server answered")
    parser.add_argument("--controls", action="store_true", help="ask with a placebo and with the skill corrupted, too")
    parser.add_argument("--recompute", action="store_true")
    flags = parser.parse_args(words)
    if flags.recompute:
        for name in flags.skills or [path.name for path in sorted(RUNS.iterdir())]:
            _recompute(name)
        PAGE.write_text(page(), encoding="utf-8")
        return 0
    with served_model(
        0 if flags.record or flags.controls else flags.port,
        cache=True,
        size=None if flags.model == SMOLLM2 else flags.model,
    ) as url:
        if flags.controls:
            for measured in recorded():
                named = not flags.skills or measured.run.parent.name in flags.skills
                if named and (measured.model, measured.level) == (NAMES[flags.model], flags.level):
                    _add_controls(measured, url, flags.port)
            return 0
        for name in flags.skills or [*([TARNCTL.name] if flags.level == KNOWLEDGE else []), *skill_names()]:
            skill = TARNCTL if name == TARNCTL.name else GALLERY / name
            if skill != TARNCTL and flags.level not in level_files(name):
                continue
            cases = None if skill == TARNCTL else level_files(name)[flags.level]
            shown = _evaluate(skill, cases, url, flags, runs=RUNS / name)
            if shown and skill != TARNCTL and flags.level == KNOWLEDGE:
                _upskill("evidence", str(skill.relative_to(ROOT)), runs=RUNS / name)
            if name == "gpu-kernels" and flags.model == SMOLLM2 and flags.level == KNOWLEDGE:
                _evaluate(PUBLISHED, cases, url, flags, runs=RUNS / PUBLISHED.name)
    PAGE.write_text(page(), encoding="utf-8")
    return 0


def _evaluate(skill: Path, cases: Path | None, url: str, flags: argparse.Namespace, *, runs: Path) -> bool:
    """Measure below `build/`, and only then replace the run that was kept. Returns whether there is a verdict: without
    one there is no evidence."""
    knows, harness = flags.level == KNOWLEDGE, "agent" if flags.agent else "chat"
    kept = [path for path in runs.glob("*/run.json") if _is_of(path, NAMES[flags.model], cases, harness)]
    if kept and not (flags.again or (flags.record and not all(path.with_name(RECORDING).exists() for path in kept))):
        return False
    if not flags.record and any(path.with_name(RECORDING).exists() for path in kept):
        raise SystemExit(f"{runs.name}: the kept run has a recording, and so must the one in its place: add --record")
    fresh = ROOT / "build" / "measured" / f"{runs.name}-{flags.model}-{flags.level}-{harness}"
    recording = fresh.with_name(f"{fresh.name}.{RECORDING}")
    looks = _looks(skill.name)
    shutil.rmtree(fresh, ignore_errors=True)
    with _recorded(url, recording, flags) as student:
        words = ["eval", str(skill.relative_to(ROOT)), "-m", NAMES[flags.model], *ASKED]
        words += ["--concurrency", "1" if knows else "2"]
        words += ["--harness", harness, "--base-url", f"{student}/v1", "--yes"]
        words += [] if cases is None else ["-t", str(cases.relative_to(ROOT))]
        words += ["--fresh"] if flags.again or flags.record else []
        more = WITH_TOOLS if flags.agent else MADE
        more = {"UPSKILL_MAX_OUTPUT_TOKENS": MOST_TOKENS[flags.model]} if knows else more
        ended = _upskill(*words, runs=fresh, **more, **(KNOWS if knows and cases is not None else {}))
    if flags.record:
        (made,) = fresh.glob("*/run.json")
        recording.rename(made.with_name(RECORDING))
        if looks:
            made.with_name(LOOKS).write_text(looks, encoding="utf-8")
    for path in kept:
        shutil.rmtree(path.parent)
    # Runs are ignored by git where they are made; the logs are large, and the answers are in `trials.jsonl`.
    ignored = shutil.ignore_patterns(".gitignore", "logs", "report.html")
    shutil.copytree(fresh, runs, ignore=ignored, dirs_exist_ok=True)
    for path in runs.glob("*/run.json"):
        path.write_text(path.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    return ended == EXIT_DONE


def _add_controls(measured: Measured, url: str, port: int) -> None:
    """Evaluate once more with controls, from the answers that were recorded and those of the model at `url`."""
    kept = WITH_CONTROLS / measured.run.parent.name
    there = [Measured(run=path.parent).level for path in kept.glob("*/run.json")]
    if measured.has_controls or measured.level in there:
        return
    runs = ROOT / "build" / "measured" / f"{measured.name}-controls"  # as far from the root as where it is kept
    cache = runs.with_name(f"{runs.name}.cache")
    for folder in (runs, cache):
        shutil.rmtree(folder, ignore_errors=True)
    (cache / "upskill").mkdir(parents=True)
    recording = runs.with_name(f"{runs.name}.{RECORDING}")
    if not recording.exists():
        shutil.copyfile(measured.recording, recording)
    looks = measured.run / LOOKS
    if looks.exists():
        shutil.copyfile(looks, cache / "upskill" / LOOKS)
    with RecordedStudent(recording, upstream=url, port=port) as student:
        words = [word for word in measured.words(student.url) if word != "--json"]
        _upskill(*words, "--controls", runs=runs, **{**measured.variables(), "XDG_CACHE_HOME": str(cache)})
    (made,) = runs.glob("*/run.json")
    shutil.copyfile(recording, made.with_name(RECORDING))
    if looks.exists():
        shutil.copyfile(looks, made.with_name(LOOKS))
    made.write_text(made.read_text(encoding="utf-8").replace(f"{ROOT}/", ""), encoding="utf-8")
    ignored = shutil.ignore_patterns(".gitignore", "logs", "report.html")
    shutil.copytree(runs, kept, ignore=ignored, dirs_exist_ok=True)


@contextmanager
def _recorded(url: str, file: Path, flags: argparse.Namespace) -> Iterator[str]:
    """The server of the student; with `--record` one in between, at the port that a run records."""
    if not flags.record:
        yield url
        return
    file.parent.mkdir(parents=True, exist_ok=True)
    with RecordedStudent(file, upstream=url, port=flags.port) as student:
        yield student.url.removesuffix("/v1")


def _looks(skill: str) -> str:
    """The lines of the user's ledger about a skill of this name, without paths of this machine."""
    ledger = default_ledger_path()
    lines = ledger.read_text(encoding="utf-8").splitlines(keepends=True) if ledger.exists() else []
    return "".join(line for line in lines if json.loads(line)["skill"] == skill).replace(f"{ROOT}/", "")


def _recompute(name: str) -> None:
    """Conclude again from the answers of each run of a skill, which asks no model, and write its evidence."""
    for path in sorted((RUNS / name).glob("*/run.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        again = regrade(path.parent, case_file=path.parent / record["case_source"])
        record["results"]["students"] = evaluation_json(again)["students"]
        path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    if name in skill_names():
        _upskill("evidence", str((GALLERY / name).relative_to(ROOT)), runs=RUNS / name)


def _is_of(path: Path, model: str, cases: Path | None, harness: str) -> bool:
    record = json.loads(path.read_text(encoding="utf-8"))
    (student,) = record["results"]["students"]
    same_cases = cases is None or Path(record["case_source"]).name == cases.name
    return bool(student["model"] == model and same_cases and student["harness"].split("/")[0] == harness)


def _upskill(*words: str, runs: Path, **more: str) -> int:
    variables = {**SET, **more, "UPSKILL_RUNS_DIR": str(runs.relative_to(ROOT))}
    print("$ " + " ".join([*(f"{name}={value}" for name, value in variables.items()), "upskill", *words]), flush=True)
    ended = subprocess.run([UPSKILL, *words], cwd=ROOT, env={**os.environ, **variables}, check=False).returncode
    if ended not in (EXIT_DONE, EXIT_FAILED):  # a run without a verdict is a result, too
        raise SystemExit(ended)
    return ended


if __name__ == "__main__":
    sys.exit(main())
