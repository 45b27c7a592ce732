"""Sessions of Claude Code, made from a few words each: what a person types, what the agent runs and changes."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

BEGAN = datetime(2026, 9, 1, 9, tzinfo=UTC)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """One call with what it brought."""

    tool: str
    given: dict[str, str]
    output: str = "ok"
    failed: bool = False


Turn = str | Ran
"""What the person types, or one call of the agent."""


def ran(command: str, output: str = "ok", *, failed: bool = False) -> Ran:
    return Ran(tool="Bash", given={"command": command}, output=output, failed=failed)


def edited(file: str, new: str, *, old: str = "x") -> Ran:
    return Ran(tool="Edit", given={"file_path": f"/srv/app/{file}", "old_string": old, "new_string": new})


def read(file: str, output: str = "text") -> Ran:
    return Ran(tool="Read", given={"file_path": f"/srv/app/{file}"}, output=output)


def searched(pattern: str, path: str = ".") -> Ran:
    return Ran(tool="Grep", given={"pattern": pattern, "path": path}, output="No matches found")


def write_session(folder: Path, number: int, turns: Sequence[Turn], *, minutes: int = 1) -> Path:
    """A session on the day of its number. Each turn comes so many minutes after the one before it."""
    at = BEGAN + timedelta(days=number)
    name = f"{number:08d}-0000-4000-8000-000000000000"
    lines: list[dict[str, object]] = []

    def add(kind: str, content: object, **more: str) -> None:
        nonlocal at
        at += timedelta(minutes=minutes)
        uuid = f"{name}-{len(lines)}"
        about = {"parentUuid": lines[-1]["uuid"] if lines else None, "isSidechain": False, "cwd": "/srv/app"}
        message = {"role": kind, "content": content, **more}
        lines.append(
            {**about, "sessionId": name, "uuid": uuid, "timestamp": at.isoformat(), "type": kind, "message": message}
        )

    for turn in turns:
        if isinstance(turn, str):
            add("user", turn)
            continue
        call = f"call-{len(lines)}"
        add("assistant", [{"type": "tool_use", "id": call, "name": turn.tool, "input": turn.given}], id=call)
        result = {"type": "tool_result", "tool_use_id": call, "content": turn.output, "is_error": turn.failed}
        add("user", [result])
    path = folder / "projects" / "-srv-app" / f"{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


PEOPLE = ("invoice list", "search box", "login form", "mail preview", "price tag", "audit trail", "chart", "import")
FAULTS = ("is empty", "is slow", "shows the old date", "loses a row", "prints twice", "ignores the filter")


def ordinary(number: int) -> list[Turn]:
    """Work as usual, another each time."""
    part, fault = PEOPLE[number % len(PEOPLE)], FAULTS[number % len(FAULTS)]
    file = f"src/{part.split()[0]}_{number}.py"
    return [
        f"The {part} {fault}, please have a look.",
        read(file),
        edited(file, f"value = {number}"),
        ran("make test", f"{number} passed"),
    ]
