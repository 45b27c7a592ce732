"""`make full`: the product measured against the figures it is held to. Takes half an hour on two cores.

Every figure is taken by running the installed command or the same code as the product. Writes a section of a page.
"""

import argparse
import json
import os
import platform
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.big_skill import write_big_skill
from benchmarks.page_sections import write_last_section

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
sys.path.insert(0, str(ROOT / "tests"))

from provider import Provider, failing  # noqa: E402 - from tests/, which is not installed


@dataclass(frozen=True)
class Figure:
    """One measured thing."""

    what: str
    target: str
    measured: str
    holds: bool


def cpu_of(command: list[str], *, cwd: Path = ROOT, env: dict[str, str] | None = None) -> tuple[float, float, str]:
    """User and system CPU seconds of a command, and what it printed."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime, done.stdout


@contextmanager
def provider_process(port: int, latency: float) -> Iterator[str]:
    """The loopback provider as a process of its own."""
    process = subprocess.Popen(
        [sys.executable, "provider.py", str(port), "--latency", str(latency)], cwd=ROOT / "tests"
    )
    try:
        time.sleep(1.5)
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        process.kill()
        process.wait()


def help_is_quick() -> Figure:
    """`upskill --help` against importing click, in one run."""
    helps, clicks = [], []
    for _ in range(9):
        helps.append(cpu_of([str(BIN / "upskill"), "--help"])[0])
        clicks.append(cpu_of([sys.executable, "-c", "import click"])[0])
    ratio = statistics.median(helps) / statistics.median(clicks)
    return Figure(
        "`upskill --help` against `import click`, user CPU, median of 9", "at most 3x", f"{ratio:.2f}x", ratio <= 3
    )


def engine_overhead(folder: Path, *, trials: int, repetitions: int) -> list[Figure]:
    """CPU per trial of `upskill eval` against bare Inspect, interleaved."""
    skill = write_big_skill(folder / "big", cases=trials // 2)
    (folder / "upskill.toml").write_text("report = false\n")  # bare Inspect draws nothing either
    ours: list[float] = []
    default: list[float] = []
    lean: list[float] = []
    with provider_process(8797, 0.05) as url:
        for number in range(repetitions):
            bare = [sys.executable, "-m", "benchmarks.bare_engine", url, str(trials), "16"]
            default.append(float(cpu_of([*bare, str(folder / f"d{number}"), "0"])[2].split()[-1]))
            command = [str(BIN / "upskill"), "eval", str(skill), "-m", "any", "--base-url", url, "--json"]
            command += ["--concurrency", "16", "--runs", "1", "--fresh"]
            user, system, _ = cpu_of(command, cwd=folder, env={**os.environ, "UPSKILL_MAX_OUTPUT_TOKENS": "40"})
            ours.append(user + system)
            lean.append(float(cpu_of([*bare, str(folder / f"l{number}"), "1"])[2].split()[-1]))
    figures = []
    for name, bare_cpu in (("as it comes", default), ("with our log settings", lean)):
        ratios = [mine / other for mine, other in zip(ours, bare_cpu, strict=True)]
        per_trial = (
            f"{statistics.mean(ours) / trials * 1000:.1f} against {statistics.mean(bare_cpu) / trials * 1000:.1f} ms"
        )
        worst = max(ratios)
        figures.append(
            Figure(
                f"CPU of {trials:,} chat answers at 50 ms, `upskill eval` without its report against "
                f"bare Inspect {name}, interleaved, {repetitions} repetitions",
                "ratio at most 1.15",
                f"{', '.join(f'{ratio:.2f}' for ratio in ratios)} ({per_trial} per answer)",
                worst <= 1.15,
            )
        )
    return figures


def small_evaluation(folder: Path, *, trials: int = 18, repetitions: int = 5) -> Figure:
    """CPU of a whole small `eval` with a scripted student against bare Inspect as it comes, interleaved."""
    place = folder / "small"
    skill = write_big_skill(place / "big", cases=trials // 2)
    (place / "upskill.toml").write_text("report = false\n")
    (place / "student.yaml").write_text("rules:\n- replies: [a guess]\n")
    ours = ["upskill", "eval", str(skill), "-m", "scripted/student.yaml", "--runs", "1", "--fresh", "--json"]
    bare = ["benchmarks.bare_engine", "mock", str(trials), "10", str(place / "bare"), "0"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    pairs = []
    for _ in range(repetitions):
        taken = [sum(cpu_of([sys.executable, "-m", *words], cwd=place, env=environment)[:2]) for words in (ours, bare)]
        pairs.append((taken[0], taken[1]))
    mine, theirs = (statistics.median(column) for column in zip(*pairs, strict=True))
    parts = []
    for name, words, cpu in (("`eval`", ours, mine), ("Inspect", bare, theirs)):
        imports = import_seconds(words, cwd=place, env=environment)
        work = cpu - sum(imports.values())
        own = f"upskill's imports {imports['upskill']:.2f}, " if words is ours else ""
        parts.append(f"{name} {cpu:.2f} s: imports of Inspect {imports['others']:.2f}, {own}work {work:.2f}")
    return Figure(
        f"CPU of an `eval` of {trials} scripted calls, without its report, against the same samples on bare Inspect "
        f"as it comes, interleaved, median of {repetitions}",
        "ratio at most 1.25",
        f"{mine / theirs:.2f} ({'; '.join(parts)})",
        mine / theirs <= 1.25,
    )


def import_seconds(words: list[str], *, cwd: Path, env: dict[str, str]) -> dict[str, float]:
    """CPU of importing what a module run with `-m` imports, upskill's own modules apart from all others."""
    command = [sys.executable, "-X", "importtime", "-m", *words]
    log = subprocess.run(command, cwd=cwd, env=env, check=True, capture_output=True, text=True).stderr
    names = re.findall(r"^import time: +\d+ \| +\d+ \| +([\w.]+)$", log, re.MULTILINE)
    others = [name for name in names if name.split(".")[0] not in ("upskill", "benchmarks")]
    imports = "import sys, importlib, contextlib\nfor name in sys.argv[1:]:\n"
    imports += "    with contextlib.suppress(ImportError): importlib.import_module(name)"
    alone, together = (
        statistics.median(sum(cpu_of([sys.executable, "-c", imports, *which], env=env)[:2]) for _ in range(3))
        for which in (others, names)
    )
    return {"others": alone, "upskill": max(0.0, together - alone)}


def planning(folder: Path) -> Figure:
    """Planning 100,000 trials: from the case file to the last identity, in a process of its own."""
    skill = write_big_skill(folder / "plan", cases=10_000)
    seconds, _, said = cpu_of([sys.executable, "-m", "benchmarks.plan_many", str(skill), "5"])
    wall, megabytes, count = said.split()
    holds = float(wall) < 2 and float(megabytes) < 200 and count == "100000"
    return Figure(
        "planning 100,000 answers",
        "under 2 s and 200 MB",
        f"{wall} s, {megabytes} MB ({seconds:.1f} s CPU in all)",
        holds,
    )


def faults(folder: Path, *, trials: int) -> Figure:
    """A fifth of all requests fails at random; every trial is accounted for, no fault counts as an answer."""
    skill = write_big_skill(folder / "faults", cases=trials // 2)
    behave = failing(0.2, seed=7, faults=("500", "reset", "truncated", "stall"), text=lambda _: "never")
    with Provider(behave) as provider:
        provider.keep_requests = False
        command = [str(BIN / "upskill"), "eval", str(skill), "-m", "any", "--base-url", provider.url, "--json"]
        command += ["--concurrency", "16", "--runs", "1", "--fresh"]
        done = subprocess.run(
            command,
            cwd=folder,
            env={
                "PATH": "/usr/bin:/bin",
                "UPSKILL_ATTEMPT_TIMEOUT_SECONDS": "6",
                "UPSKILL_MAX_RETRY_WAIT_SECONDS": "2",
                "UPSKILL_REPORT": "false",
            },
            capture_output=True,
            text=True,
            check=False,
        )
    arms = json.loads(done.stdout)["students"][0]["arms"].values()
    scored = sum(arm["trials"] for arm in arms)
    errored = sum(arm["errored"] for arm in arms)
    failed = scored - sum(arm["passed"] for arm in arms)
    return Figure(
        f"{trials:,} answers with 20% of requests failing (500, reset, truncated JSON, stall)",
        "every answer accounted for, no fault counted as a failure",
        f"{scored} scored, {errored} errored, {failed} failed",
        scored + errored == trials and failed == 0,
    )


def whole_evaluations(count: int) -> Figure:
    """Evaluations of a student with a true lift of 45 points, concurrency 8, as a person would run them."""
    _, _, said = cpu_of([sys.executable, "-m", "benchmarks.evaluations", str(count)])
    result = json.loads(said.splitlines()[-1])
    right = sum(number for verdict, number in result["verdicts"].items() if verdict.startswith("helps"))
    return Figure(
        f"{count} evaluations through the engine, 20 cases, cap 200 calls, true lift +45, concurrency 8",
        "all verdicts right",
        f"{result['mean_calls']:.1f} calls on average, {result['mean_late']:.1f} of them after the decision; "
        f"{', '.join(f'{number} {verdict}' for verdict, number in result['verdicts'].items())}".replace(
            "cases like these", "new cases of this kind"
        ),
        right == count,
    )


def hard_ends(*, kills: int, disks: int) -> list[Figure]:
    """Killed at random points; a disk that fills up. Both resumed."""
    _, _, said = cpu_of([sys.executable, "-m", "benchmarks.hard_ends", str(kills), str(disks)])
    result = json.loads(said.splitlines()[-1])
    killed, full = result["kills"], result["full_disks"]
    return [
        Figure(
            f"kill -9 at {kills} random points, then resume",
            "the report equals that of an uninterrupted run; nothing lost, duplicated or paid for twice",
            f"{killed['equal']} of {kills} reports equal; {killed['lost']} lost, {killed['doubled']} duplicated, "
            f"{killed['bought_again']} paid for twice",
            killed == {"points": kills, "equal": kills, "lost": 0, "doubled": 0, "bought_again": 0},
        ),
        Figure(
            f"disk full at {disks} points, then resume once there is room",
            "a clear message, earlier results readable, resume works",
            f"{full['message']} messages, {full['readable']} readable, {full['resumed']} resumed",
            full == {"points": disks, "message": disks, "readable": disks, "resumed": disks},
        ),
    ]


def large_run(folder: Path) -> Figure:
    """100,000 stored trials."""
    place = folder / "large-run"
    place.mkdir()
    _, _, said = cpu_of([sys.executable, "-m", "benchmarks.large_run", str(place)])
    reported, resumed, megabytes = said.split()[-3:]
    return Figure(
        "a run of 100,000 saved answers: report, resume",
        "under 5 s each",
        f"{reported} s, {resumed} s, {megabytes} MB",
        float(reported) < 5 and float(resumed) < 5,
    )


def sandboxes(*, rounds: int, hostile: int) -> list[Figure]:
    """What a sandbox costs, and that hostile ones leave nothing behind."""
    words = ["--rounds", str(rounds), "--hostile", str(hostile)]
    found = json.loads(cpu_of([sys.executable, "-m", "benchmarks.sandboxes", *words])[2])
    checked = json.loads(cpu_of([sys.executable, "-m", "benchmarks.command_check", str(rounds)])[2])
    starts, attacked = found["starts_milliseconds"], found["hostile"]
    added = {name: entry["added_ms"] for name, entry in checked.items() if name != "times"}
    return [
        Figure(
            f"starting a sandbox for one command, median of {rounds}, against the bare command in the same run",
            "reported",
            ", ".join(
                f"{name.replace('_', ' ')} {entry['median']} ms"
                for name, entry in starts.items()
                if isinstance(entry, dict)
            ),
            True,
        ),
        Figure(
            f"one `command` check, median of {rounds}, against the bare command in the same run",
            "under 100 ms added",
            "; ".join(
                f"`{name}` {entry['check_ms']} ms, bare {entry['bare_ms']} ms, {entry['added_ms']} ms added"
                for name, entry in checked.items()
                if name != "times"
            ),
            all(milliseconds < 100 for milliseconds in added.values()),
        ),
        Figure(
            f"{hostile} hostile sandboxes",
            "the host's tree unchanged, nothing left",
            f"{'unchanged' if attacked['host_tree_unchanged'] else 'CHANGED'} "
            f"({attacked['host_entries_watched']:,} entries), {attacked['processes_left']} processes, "
            f"{attacked['descriptors_left']} descriptors left, {attacked['secrets_seen']} secrets seen",
            attacked["host_tree_unchanged"] and not attacked["processes_left"] and not attacked["secrets_seen"],
        ),
    ]


def agents() -> Figure:
    """Eight students with tools at once."""
    said = cpu_of([sys.executable, "-m", "benchmarks.agents"])[2]
    return Figure("8 sandboxed agents in parallel", "none errored", " ".join(said.split()), " 0 errored" in said)


def long_trace(*, megabytes: int) -> Figure:
    """A very long session, read and digested by the command."""
    found = json.loads(cpu_of([sys.executable, "-m", "benchmarks.long_trace", str(megabytes)])[2])
    took, pairs = found["command"], found["pairs"]
    return Figure(
        f"`upskill trace --digest` on a session of {megabytes} MB",
        "under 60 s, under 300 MB resident",
        f"{took['seconds']:.1f} s, {took['resident_megabytes']:.0f} MB; planted pairs in the digest {pairs['digest']}, "
        f"in the first 4,000 characters {pairs['first_4000_characters']}",
        took["seconds"] < 60 and took["resident_megabytes"] < 300,
    )


def sweep_tables(*, results: int, evaluations: int) -> list[Figure]:
    """The report of a large sweep, and what its confirmations are worth."""
    found = json.loads(cpu_of([sys.executable, "-m", "benchmarks.sweeps", "read", "--size", str(results)])[2])
    boards = json.loads(
        cpu_of([sys.executable, "-m", "benchmarks.sweeps", "board", "--json", "--size", str(evaluations)])[2]
    )
    none = [board for board in boards if board["effect"] == "none"]
    return [
        Figure(
            f"the report of a sweep with {found['rows']:,} answers, every lift recomputed",
            "under 30 s and 1 GB per million answers",
            f"{found['seconds']:.1f} s, {found['megabytes']:.0f} MB ({found['cpu']:.1f} s CPU)",
            found["seconds"] < 30 * max(1.0, found["rows"] / 1e6) and found["megabytes"] < 1000,
        ),
        Figure(
            f"simulated sweeps of {evaluations:,} evaluations, 2% of the skills help, the others have no effect at all",
            "at most 2% of the confirmed rows false",
            "; ".join(
                f"{board['null']}, {board['cases']} cases: {board['confirmed_false']} of {board['confirmed']} "
                f"(found once: {board['found_false']} of {board['found']})"
                for board in none
            ),
            all(board["confirmed_false"] <= 0.02 * board["confirmed"] for board in none),
        ),
    ]


def main() -> int:
    """Measure everything and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", type=Path, help="the page whose last section is replaced")
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="the small evaluation only")
    options = parser.parse_args()
    if options.small:
        with tempfile.TemporaryDirectory() as name:
            print(small_evaluation(Path(name)).measured)
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = [help_is_quick(), small_evaluation(folder), planning(folder)]
        figures += engine_overhead(folder, trials=options.trials, repetitions=options.repetitions)
        figures.append(faults(folder, trials=options.trials // 2))
        figures.append(large_run(folder))
        figures += sandboxes(rounds=options.trials // 20, hostile=options.trials // 10)
        figures.append(agents())
        figures.append(long_trace(megabytes=options.trials // 10))
        figures += hard_ends(kills=options.trials // 100, disks=options.trials // 200)
        figures.append(whole_evaluations(options.trials * 60 // 2000))
        figures += sweep_tables(results=options.trials // 2, evaluations=options.trials * 10)
    page = [
        "## Measurements",
        "",
        "<!-- `make full` writes this section. -->",
        "",
        f"Taken on {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {platform.machine()}, two cores.",
        "",
        "| what | target | measured | holds |",
        "|---|---|---|---|",
        *(f"| {f.what} | {f.target} | {f.measured} | {'yes' if f.holds else '**no**'} |" for f in figures),
        "",
    ]
    text = "\n".join(page)
    print(text)
    if options.write is not None:
        write_last_section(options.write, text)
    return 0 if all(figure.holds for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
