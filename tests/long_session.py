"""A long Claude Code session, made up the same way every time, with error and fix pairs planted far apart in it.

Around the pairs is what fills real sessions: files read, searches, plans, edits that fix nothing, checks that pass.
"""

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = "/home/dev/looms"
TASK = "Port the weaving engine to the new thread pool and get `make check` green on all targets."
CORRECTIONS = (
    "No, never touch the generated tables under gen/. Regenerate them with tools/regen instead.",
    "Stop. Use the arena allocator everywhere, not malloc.",
)
_WORDS = [
    "warp",
    "weft",
    "shuttle",
    "heddle",
    "reed",
    "treadle",
    "bobbin",
    "selvage",
    "loom",
    "pattern",
    "draft",
    "sley",
    "shed",
    "pick",
    "beam",
    "raddle",
    "lease",
    "castle",
    "thread",
    "tension",
    "batten",
    "sample",
    "gauge",
    "yarn",
    "twill",
    "satin",
    "plain",
    "basket",
    "damask",
]


@dataclass(frozen=True)
class Planted:
    """One error with its fix. Both marks must be found for the pair to be held."""

    error: str
    fix: str


@dataclass(frozen=True)
class _Pair:
    failing: str
    output: str
    passing: str
    planted: Planted
    edits: tuple[tuple[str, str, str], ...] = ()
    between: tuple[tuple[str, str], ...] = ()
    again: int = 0


def _pairs() -> list[_Pair]:
    edit = FOLDER + "/src/"
    return [
        _Pair(
            "make check",
            "src/warp.c:88:5: error: implicit declaration of function 'warp_flush_all'\n"
            "make: *** [Makefile:12: warp.o] Error 1",
            "make check",
            Planted("implicit declaration of function 'warp_flush_all'", "#include <warp/flush.h>"),
            edits=((edit + "warp.c", "#include <warp.h>", "#include <warp.h>\n#include <warp/flush.h>"),),
        ),
        _Pair(
            "python tools/regen.py --all",
            'Traceback (most recent call last):\n  File "tools/regen.py", line 3, in <module>\n'
            "ModuleNotFoundError: No module named 'heddlefmt'",
            "python3 tools/regen.py --all",
            Planted("No module named 'heddlefmt'", "pip install heddlefmt==2.4"),
            between=(("pip install heddlefmt==2.4", "Successfully installed heddlefmt-2.4"),),
        ),
        _Pair(
            "pytest tests/test_shed.py -x -q",
            "E       AssertionError: assert shed_depth == 7\nE        +  where 5 = shed_depth\n"
            "FAILED tests/test_shed.py::test_depth",
            "pytest tests/test_shed.py",
            Planted("assert shed_depth == 7", "depth = len(picks) + 2"),
            edits=((edit + "shed.py", "depth = len(picks)", "depth = len(picks) + 2"),),
            again=2,
        ),
        _Pair(
            "cargo build --release",
            "error[E0277]: `Rc<Bobbin>` cannot be sent between threads safely\n  --> src/bobbin.rs:41:9",
            "cargo build --release --all-targets",
            Planted("`Rc<Bobbin>` cannot be sent between threads", "Arc<Bobbin>"),
            edits=((edit + "bobbin.rs", "let b: Rc<Bobbin> = Rc::new(x);", "let b: Arc<Bobbin> = Arc::new(x);"),),
        ),
        _Pair(
            "cmake -B build -S .",
            "CMake Error at CMakeLists.txt:14 (find_package):\n"
            '  Could not find a package configuration file provided by "Treadle"',
            "cmake -B build -S . -DTreadle_DIR=/opt/treadle/cmake",
            Planted('configuration file provided by "Treadle"', "-DTreadle_DIR=/opt/treadle/cmake"),
        ),
        _Pair(
            "npm run build",
            "src/draft.ts(19,7): error TS2322: Type 'string | null' is not assignable to type 'DraftName'.",
            "npm run build",
            Planted("is not assignable to type 'DraftName'", "toDraftName(raw)"),
            edits=((edit + "draft.ts", "const name: DraftName = raw", "const name: DraftName = toDraftName(raw)"),),
        ),
        _Pair(
            "go test ./reed/...",
            "--- FAIL: TestReedCount (0.00s)\n    reed_test.go:33: deadlock: all goroutines are asleep in ReedCount",
            "go test ./reed/... -race",
            Planted("all goroutines are asleep in ReedCount", "defer reed.mu.Unlock()"),
            edits=((edit + "reed.go", "reed.mu.Lock()", "reed.mu.Lock()\n\tdefer reed.mu.Unlock()"),),
        ),
        _Pair(
            "docker build -t looms .",
            'ERROR: failed to solve: process "/bin/sh -c apt-get install -y libselvage" failed: exit code: 100',
            "docker build -t looms .",
            Planted("apt-get install -y libselvage", "libselvage-dev"),
            edits=(
                (FOLDER + "/Dockerfile", "RUN apt-get install -y libselvage", "RUN apt-get install -y libselvage-dev"),
            ),
        ),
        _Pair(
            "./scripts/verify.sh twill",
            "bash: ./scripts/verify.sh: Permission denied for twill target",
            "./scripts/verify.sh twill",
            Planted("Permission denied for twill target", "chmod +x scripts/verify.sh"),
            between=(("chmod +x scripts/verify.sh", ""),),
        ),
        _Pair(
            "mypy src/satin",
            'src/satin/pool.py:71: error: Item "None" of "SatinPool | None" has no attribute "drain"  [union-attr]',
            "mypy src/satin",
            Planted('has no attribute "drain"', "if pool is not None:"),
            edits=((edit + "satin/pool.py", "pool.drain()", "if pool is not None:\n    pool.drain()"),),
        ),
        _Pair(
            "make bench TARGET=damask",
            "bench: error: damask kernel exceeds 48 KB of shared memory (needs 61440 bytes)\nmake: *** [bench] Error 3",
            "make bench TARGET=damask",
            Planted("damask kernel exceeds 48 KB of shared memory", "TILE_ROWS = 32"),
            edits=((edit + "damask.cu", "constexpr int TILE_ROWS = 64;", "constexpr int TILE_ROWS = 32;"),),
            again=1,
        ),
        _Pair(
            "terraform plan -out loom.plan",
            'Error: Unsupported argument\n  on pool.tf line 9: An argument named "thread_count" is not expected here.',
            "terraform plan -out loom.plan",
            Planted('An argument named "thread_count" is not expected here', "worker_threads = 8"),
            edits=((FOLDER + "/pool.tf", "thread_count = 8", "worker_threads = 8"),),
        ),
    ]


PLANTED: tuple[Planted, ...] = tuple(pair.planted for pair in _pairs())


def write_long_session(path: Path, *, megabytes: float, seed: int = 7) -> None:
    """A session of about this size, with the pairs evenly spread over it."""
    wanted = int(megabytes * 1_000_000)
    pairs = _pairs()
    written = 0
    with path.open("w", encoding="utf-8") as file:
        session = _Session(seed)

        def put(records: Iterator[dict[str, Any]]) -> None:
            nonlocal written
            for record in records:
                written += file.write(json.dumps(record, ensure_ascii=False) + "\n")

        put(session.person(TASK))
        for number, pair in enumerate(pairs):
            due = wanted * (number + 1) // (len(pairs) + 1)
            while written < due:
                put(session.noise())
            if number in (4, 9):
                put(session.person(CORRECTIONS[0 if number == 4 else 1]))
            put(session.pair(pair))
        while written < wanted:
            put(session.noise())
        put(session.call("Bash", {"command": "make check"}, "all 412 checks passed"))
        put(session.agent("The engine runs on the new pool; `make check` is green on all targets."))


class _Session:
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._count = 0
        self._parent: str | None = None

    def _record(self, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
        self._count += 1
        record = {
            "parentUuid": self._parent,
            "isSidechain": False,
            "userType": "external",
            "cwd": FOLDER,
            "sessionId": "22222222-2222-4222-8222-222222222222",
            "version": "2.1.257",
            "uuid": f"u{self._count}",
            "timestamp": f"2026-09-01T{self._count // 3600 % 24:02}:{self._count // 60 % 60:02}:{self._count % 60:02}Z",
            "type": kind,
            "message": message,
            **more,
        }
        self._parent = f"u{self._count}"
        return record

    def person(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._record("user", {"role": "user", "content": text})

    def agent(self, text: str) -> Iterator[dict[str, Any]]:
        yield self._assistant([{"type": "text", "text": text}])

    def _assistant(self, content: list[dict[str, Any]]) -> dict[str, Any]:
        message = {"id": f"msg_{self._count + 1}", "type": "message", "role": "assistant", "model": "claude-opus-5"}
        return self._record("assistant", {**message, "content": content}, requestId=f"req_{self._count + 1}")

    def call(
        self, name: str, arguments: dict[str, Any], output: str, *, failed: bool = False
    ) -> Iterator[dict[str, Any]]:
        call_id = f"toolu_{self._count + 1}"
        yield self._assistant([{"type": "tool_use", "id": call_id, "name": name, "input": arguments}])
        result = {"type": "tool_result", "tool_use_id": call_id, "content": output, "is_error": failed}
        yield self._record(
            "user", {"role": "user", "content": [result]}, toolUseResult={"stdout": output, "stderr": ""}
        )

    def pair(self, pair: _Pair) -> Iterator[dict[str, Any]]:
        failing = "Exit code 2\n" + self._lines(12) + "\n" + pair.output
        yield from self.call("Bash", {"command": pair.failing}, failing, failed=True)
        for _ in range(pair.again):
            path = FOLDER + f"/src/{self._word()}.c"
            yield from self.call("Edit", {"file_path": path, "old_string": "a", "new_string": "b"}, "updated")
            yield from self.call("Bash", {"command": pair.failing}, failing, failed=True)
        yield from self.call("Read", {"file_path": FOLDER + f"/src/{self._word()}.c"}, self._lines(80))
        for command, output in pair.between:
            yield from self.call("Bash", {"command": command}, output)
        for path, old, new in pair.edits:
            arguments = {"file_path": path, "old_string": old, "new_string": new}
            yield from self.call("Edit", arguments, "The file has been updated.")
        yield from self.call("Bash", {"command": pair.passing}, self._lines(6) + "\nok, 0 failed")

    def noise(self) -> Iterator[dict[str, Any]]:
        """One of the things that fill a session."""
        match self._random.randrange(10):
            case 0 | 1:
                yield from self.call("Read", {"file_path": FOLDER + f"/src/{self._word()}.c"}, self._lines(200))
            case 2:
                yield from self.call("Grep", {"pattern": self._word(), "path": "src"}, self._lines(60))
            case 3:
                yield from self.agent(self._lines(6))
            case 4:
                path = FOLDER + f"/src/{self._word()}.c"
                old, new = self._lines(12), self._lines(12)
                yield from self.call("Edit", {"file_path": path, "old_string": old, "new_string": new}, "updated")
            case 5:
                # Fails and is never tried again.
                host = f"{self._word()}-{self._count}.test"
                said = f"curl: (7) Failed to connect to {host} port 443: Connection refused"
                yield from self.call("Bash", {"command": f"curl -sf https://{host}/status"}, said, failed=True)
            case 6:
                # An edit that does not fit, and then does: a failure with a fix that teaches nothing.
                path = FOLDER + f"/src/{self._word()}_{self._count}.c"
                arguments = {"file_path": path, "old_string": self._lines(2), "new_string": self._lines(2)}
                yield from self.call("Edit", arguments, "String to replace not found in file.", failed=True)
                yield from self.call("Edit", {**arguments, "old_string": self._lines(2)}, "updated")
            case 7:
                # The same small failure again and again.
                yield from self.call("Bash", {"command": "ruff check src"}, "src/a.py:1:1: F401 unused", failed=True)
                yield from self.call("Bash", {"command": "ruff check src --fix"}, "1 fixed, 0 remaining")
            case 8:
                yield from self.call("Bash", {"command": f"ls -la src/{self._word()}"}, self._lines(40))
            case _:
                found = self._random.random() < 0.7
                command = {"command": f"grep -rn {self._word()} src"}
                yield from self.call("Bash", command, self._lines(50) if found else "Exit code 1", failed=not found)

    def _word(self) -> str:
        return self._random.choice(_WORDS)

    def _lines(self, count: int) -> str:
        return "\n".join(" ".join(self._random.choices(_WORDS, k=9)) for _ in range(count))


def held(text: str) -> int:
    """How many of the planted pairs a text holds, error and fix."""
    return sum(planted.error in text and planted.fix in text for planted in PLANTED)
