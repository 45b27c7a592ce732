"""What a sandbox costs, and that hostile ones leave nothing behind. Prints one JSON object.

Usage: `python -m benchmarks.sandboxes [--rounds 100] [--hostile 200]`. Each round measures the bare command, a command
in an open sandbox and a command in a fresh sandbox one after the other: a busy machine is busy for all three.
"""

import argparse
import hashlib
import json
import os
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from upskill.sandbox import Limits, SandboxSpec, describe_sandbox, open_sandbox

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from sandbox.escapes.scenes import processes_named
from upskill.sandbox.probes import Bait

COMMAND = ["sh", "-c", "exit 0"]


def milliseconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def spread(values: Sequence[float]) -> dict[str, float]:
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), 2),
        "p90": round(ordered[int(len(ordered) * 0.9)], 2),
        "most": round(ordered[-1], 2),
    }


def starts(rounds: int) -> dict[str, object]:
    """Times in milliseconds."""
    bare, opening, inside, fresh, added = [], [], [], [], []

    def once() -> None:
        with open_sandbox() as sandbox:
            sandbox.run(COMMAND, seconds=30)

    for _ in range(rounds):
        alone = milliseconds(lambda: subprocess.run(COMMAND, check=True, env={}))
        began = time.perf_counter()
        with open_sandbox() as sandbox:
            opening.append((time.perf_counter() - began) * 1000)
            inside.append(milliseconds(lambda: sandbox.run(COMMAND, seconds=30)))
        whole = milliseconds(once)
        bare.append(alone)
        fresh.append(whole)
        added.append(whole - alone)
    return {
        "rounds": rounds,
        "bare_command": spread(bare),
        "opening": spread(opening),
        "command_in_an_open_sandbox": spread(inside),
        "command_in_a_fresh_sandbox": spread(fresh),
        "added_per_check": spread(added),
    }


HOSTILE = (
    "rm -rf / 2>/dev/null; echo x > $VICTIM/planted; ln -s $VICTIM away; echo x > away/planted; cat $VICTIM/secret",
    "mkdir -p $VICTIM; echo x > $VICTIM/planted; chmod 000 /workspace; (setsid sleep $MARK &)",
    "nohup sleep $MARK >/dev/null 2>&1 & (sleep $MARK &) ; sleep $MARK",
    'python3 -c "import os\nwhile True:\n try: os.fork()\n except OSError: pass"',
    "yes $MARK",
    'python3 -c "b = [bytearray(50 << 20) for _ in range(40)]"; head -c 300000000 /dev/zero > big',
    "for p in /proc/1/mem /proc/sys/kernel/panic /dev/mem /etc/passwd $VICTIM/secret; do echo x > $p; cat $p; done",
    "kill -9 -1; kill -9 1; sleep $MARK & while :; do :; done",
    "mkdir d; cd d; for n in 1 2 3 4 5 6 7 8 9; do ln -s / r$n; mkfifo f$n; done; echo ../../../../$VICTIM > n",
    "curl -s http://127.0.0.1:1/; mount -t tmpfs x /tmp; unshare -U true; sleep $MARK & exit 3",
)


def digest(folders: Sequence[Path]) -> tuple[str, int]:
    """Of every name, kind, mode, size and time below, and of the contents of small files."""
    whole, count = hashlib.sha256(), 0
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            facts = path.lstat()
            whole.update(f"{path}\0{facts.st_mode}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode(errors="replace"))
            count += 1
    return whole.hexdigest(), count


def hostile(trials: int) -> dict[str, object]:
    """Each a sandbox of its own with one of ten attacks, four at a time; then the host is looked at again."""
    marker = f"70000.{os.getpid():09d}"
    with Bait() as bait:
        # Small tools and settings of the host, and the whole source tree; what others write meanwhile is left out.
        watched = [Path("/etc"), Path("/usr/local/bin"), Path("/opt"), Path(__file__).parents[1] / "src", bait.folder]
        before, entries = digest(watched)
        descriptors = len(list(Path("/proc/self/fd").iterdir()))
        ends: list[str] = []
        leaked: list[int] = []

        def attack(number: int) -> None:
            with open_sandbox(SandboxSpec(limits=Limits(memory_mb=256))) as sandbox:
                environment = {"VICTIM": str(bait.victim), "MARK": marker}
                script = HOSTILE[number % len(HOSTILE)]
                ran = sandbox.run(["sh", "-c", script], seconds=1.5, environment=environment)
                ends.append(ran.ended)
                if bait.secret.encode() in ran.stdout + ran.stderr:
                    leaked.append(number)

        started = time.perf_counter()
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(attack, range(trials)))
        took = time.perf_counter() - started
        after, _ = digest(watched)
        return {
            "trials": trials,
            "seconds": round(took, 1),
            "ends": {end: ends.count(end) for end in sorted(set(ends))},
            "host_entries_watched": entries,
            "host_tree_unchanged": after == before,
            "processes_left": len(processes_named(marker)),
            "descriptors_left": len(list(Path("/proc/self/fd").iterdir())) - descriptors,
            "secrets_seen": len(leaked),
        }


def parallel(count: int) -> dict[str, object]:
    """So many sandboxes at once, each compiling bytecode: wall time per trial, memory of an init process."""
    walls: list[float] = []
    resident: list[int] = []
    gate = threading.Barrier(count)

    def trial(_: int) -> None:
        gate.wait()
        started = time.perf_counter()
        with open_sandbox() as sandbox:
            sandbox.put({"a.py": b"print(sum(range(1_000_000)))\n"})
            for _ in range(5):
                ran = sandbox.run(["python3", "a.py"], seconds=60)
                assert ran.exit_code == 0, ran
            said = sandbox.run(["sh", "-c", "grep VmRSS /proc/1/status"], seconds=30).stdout.split()
            resident.append(int(said[1]))
        walls.append(time.perf_counter() - started)

    with ThreadPoolExecutor(count) as pool:
        list(pool.map(trial, range(count)))
    return {
        "trials": count,
        "wall_seconds": spread(walls),
        "keeper_resident_mb": round(max(resident) / 1024, 1),
        "errored": count - len(walls),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--hostile", type=int, default=200)
    chosen = parser.parse_args()
    facts = describe_sandbox()
    load = os.getloadavg()[0]
    found = {
        "machine": {
            "cores": os.cpu_count(),
            "kernel": platform.release(),
            "python": platform.python_version(),
            "load_before": round(load, 1),
            "root": os.geteuid() == 0,
        },
        "sandbox": {"backend": facts.backend, "version": facts.version, "memory_by": facts.memory_by},
        "starts_milliseconds": starts(chosen.rounds),
        "parallel": parallel(8),
        "hostile": hostile(chosen.hostile),
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
