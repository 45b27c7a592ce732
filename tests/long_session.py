"""A long Claude Code session, made up the same way every time, with error and fix pairs planted far apart in it.

Around the pairs is what fills real sessions: files read, searches, plans, edits that fix nothing, checks that pass.
"""

import json
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = "/home/dev/looms"
TASK = "Port the weaving engine to the new thread pool and get `make check` green on all targets."
CORRECTIONS = (
    "No, never touch the generated tables under gen/. Regenerate them with tools/regen instead.",
    "Stop. Use the arena allocator everywhere, not malloc.",
)
_WORDS = [
    "warp", "weft", "shuttle", "heddle", "reed", "treadle", "bobbin", "selvage", "loom", "pattern", "draft", "sley",
    "shed", "pick", "beam", "raddle", "lease", "castle", "thread", "tension", "batten", "sample", "gauge", "yarn",
    "twill", "satin", "plain", "basket", "damask",
]  # fmt: skip


@dataclass(frozen=True)
class _Pair:
    failing: str
    output: str
    passing: str
    error: str
    fix: str
    edits: Sequence[tuple[str, str, str]] = ()
    between: Sequence[tuple[str, str]] = ()
    again: int = 0


PLANTED = tuple(_Pair(**pair) for pair in yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text("utf-8")))
"""Errors with their fixes. Both marks must be found for a pair to be held."""


def write_long_session(path: Path, *, megabytes: float, seed: int = 7) -> None:
    """A session of about this size, with the pairs evenly spread over it."""
    wanted = int(megabytes * 1_000_000)
    written = 0
    with path.open("w", encoding="utf-8") as file:
        session = Session(seed)

        def put(records: Iterator[dict[str, Any]]) -> None:
            nonlocal written
            for record in records:
                written += file.write(json.dumps(record, ensure_ascii=False) + "\n")

        put(session.person(TASK))
        for number, pair in enumerate(PLANTED):
            due = wanted * (number + 1) // (len(PLANTED) + 1)
            while written < due:
                put(session.noise())
            if number in (4, 9):
                put(session.person(CORRECTIONS[0 if number == 4 else 1]))
            put(session.pair(pair))
        while written < wanted:
            put(session.noise())
        put(session.call("Bash", {"command": "make check"}, "all 412 checks passed"))
        put(session.agent("The engine runs on the new pool; `make check` is green on all targets."))


class Session:
    """Writes the records of a session, one after the other."""

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
