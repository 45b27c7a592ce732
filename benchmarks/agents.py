"""Students with tools in parallel: wall and memory per trial, and whether any errored.

`python -m benchmarks.agents [TRIALS_IN_FLIGHT]`: a trial waits for no model. It runs five commands, writes files and
starts Python, so that what is measured is ours: the engine, the sandbox and the loop. What the commands of a real
student and the answers of a real model take comes on top.
"""

import json
import os
import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

IN_FLIGHT = 8
CASES, REPEATS = 8, 3
COMMANDS = (
    "ls -la; cat input.txt",
    "python3 -c 'print(sum(i * i for i in range(200000)))' > sum.txt",
    "mkdir -p out && for n in $(seq 20); do echo line $n > out/$n.txt; done",
    "cat /skills/*/SKILL.md 2>/dev/null; head -c 200000 /dev/urandom | sha256sum > digest.txt",
    "python3 -c 'x = bytearray(60 << 20); print(len(x))'",
)


def main() -> None:
    """Evaluate a scripted student that works, and print what it took."""
    in_flight = int(sys.argv[1]) if len(sys.argv) > 1 else IN_FLIGHT
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.chdir(folder)
        skill, script = _skill(folder), _script(folder)
        from upskill.core.settings import resolve_settings
        from upskill.evaluation.evaluate import evaluate
        from upskill.evaluation.order import EvaluationOrder
        from upskill.evaluation.past_runs import trials_of

        flags = {"models": (f"scripted/{script}",), "harness": "agent", "concurrency": in_flight}
        settings = resolve_settings(flags, environment={}, folder=folder, user_folder=folder)
        # The first evaluation of a process imports the engine; it is not what is measured.
        evaluate(EvaluationOrder(skill=skill, repeats=1, baseline=False), settings=settings)
        with Watch() as watch:
            started = time.perf_counter()
            evaluation = evaluate(EvaluationOrder(skill=skill, repeats=REPEATS), settings=settings)
            wall = time.perf_counter() - started
        trials = list(trials_of(Path(evaluation.run)))
        seconds = sorted(trial.seconds or 0.0 for trial in trials)
        errored = sum(arm.errored for arm in evaluation.students[0].arms)
    print(
        f"{len(trials)} answers of {len(COMMANDS)} commands, {in_flight} in flight, {os.cpu_count()} cores: "
        f"{wall:.1f} s in all, {wall / len(trials):.2f} s per answer; one answer {statistics.median(seconds):.2f} s "
        f"(median), {seconds[-1]:.2f} s (longest); {errored} errored;"
    )
    print(
        f"peak memory: {watch.own:.0f} MB for this process, {watch.inside:.0f} MB for everything in sandboxes, "
        f"{watch.inside / max(1, watch.sandboxes):.0f} MB for each of {watch.sandboxes}"
    )


class Watch:
    """Looks at the memory of this process and of its children, four times a second."""

    def __init__(self) -> None:
        self.own = self.inside = 0.0
        self.sandboxes = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(0.25):
            self.own = max(self.own, _proportional(os.getpid()))
            children = _children()
            inside = sum(_proportional(pid) for pid in children)
            if inside > self.inside:
                self.inside, self.sandboxes = inside, sum("bwrap" in _name(pid) for pid in children)


def _children() -> list[int]:
    parents = {}
    for entry in Path("/proc").iterdir():
        try:
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            continue
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found and pid not in found}:
        found |= more
    return sorted(found - {os.getpid()})


def _proportional(pid: int) -> float:
    """Megabytes, pages shared with others counted in part."""
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text()
    except OSError:
        return ""


def _skill(folder: Path) -> Path:
    skill = folder / "busy"
    skill.mkdir()
    (skill / "SKILL.md").write_text("---\nname: busy\ndescription: Keeps busy.\n---\nDo all five things.\n")
    case = {"files": {"input.txt": "x" * 10_000}, "checks": [{"contains": "done"}, {"file": "sum.txt"}]}
    cases = [{"id": f"c{n}", "input": f"Case {n}.", **case} for n in range(CASES)]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return skill


def _script(folder: Path) -> Path:
    rules: list[dict[str, object]] = [
        {"turn": turn, "replies": [{"tool": "shell", "arguments": {"command": command}}]}
        for turn, command in enumerate(COMMANDS, 1)
    ]
    script = folder / "student.json"
    script.write_text(json.dumps({"rules": [*rules, {"replies": ["done"]}]}))
    return script


if __name__ == "__main__":
    main()
