"""A long Claude Code session, made up and always the same: what a day's work leaves behind, with things hidden in it.

By bytes it is like the sessions people have: envelopes, outputs written twice, pictures, some lines of several
megabytes; subagents in files of their own, compactions, rewound branches; and five failures with their fixes.
`python -m tools.simulation.session FILE` reads one, in a process whose memory is its own, and prints what it found.
"""

import json
import random
import resource
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

MEGABYTE = 1_000_000
PAIRS = 5
CORRECTION = "No, never edit the generated headers by hand, run make headers."
REWOUND = "REWOUND"
WORDS = (
    "kernel block thread warp shared memory load store reduce index stride launch bound test build link object "
    "header module compile warning note line column token scope static inline const float double return"
)


@dataclass
class Session:
    """The session while it is being written."""

    path: Path
    seed: int = 20261115
    written: int = 0
    parent: str | None = None
    number: int = 0
    draw: random.Random = field(default_factory=random.Random)
    lines: list[str] = field(default_factory=list)


def failure(number: int) -> str:
    """What the planted failure prints."""
    return f"unit_{number}.cu(7{number}): error: planted failure {number}: no symbol plan_{number}"


def fix(number: int) -> str:
    """What its fix writes into the file."""
    return f"plan_{number}_sync(mask)"


def write_session(path: Path, *, megabytes: int, seed: int = 20261115) -> None:
    """Write the session, and its subagents beside it, until it has about this size."""
    session = Session(path, seed=seed)
    session.draw.seed(seed)
    size = megabytes * MEGABYTE
    at = [size * (2 * place + 1) // (2 * PAIRS) for place in range(PAIRS)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for record in _work(session, size, at):
            line = json.dumps(record, ensure_ascii=False) + "\n"
            session.written += len(line.encode())
            file.write(line)


def _work(session: Session, size: int, planted_at: list[int]) -> Iterator[dict[str, Any]]:
    yield _user(session, "Port the whole kernel library to the new toolkit and keep every test green.")
    turns = pairs = 0
    while session.written < size:
        turns += 1
        if pairs < PAIRS and session.written >= planted_at[pairs]:
            yield from _planted(session, pairs)
            pairs += 1
        for _ in range(session.draw.randint(20, 60)):
            yield from _call(session)
        if turns % 4 == 0:
            yield from _rewind(session)
        if turns % 5 == 0:
            yield from _subagent(session, turns)
        if turns % 7 == 0:
            yield from _compaction(session)
        if turns % 9 == 0:
            yield _user(session, CORRECTION)
        yield _said(session, "This part is done. " + _text(session, 300))
        yield _user(session, f"Go on with part {turns + 1}.")
    for number in range(pairs, PAIRS):
        yield from _planted(session, number)
    yield _said(session, "All parts are ported and every test passes.")


def _envelope(session: Session, kind: str, **more: Any) -> dict[str, Any]:
    session.number += 1
    uuid = f"{session.number:08x}-0000-4000-8000-{session.seed:012x}"
    record = {
        "parentUuid": session.parent,
        "isSidechain": False,
        "userType": "external",
        "cwd": "/home/dev/kernels",
        "sessionId": "5e551011-0000-4000-8000-000000000000",
        "version": "2.1.257",
        "gitBranch": "port",
        "type": kind,
        "uuid": uuid,
        "timestamp": f"2026-09-{1 + session.number // 86_400:02}T{_clock(session.number)}.000Z",
        **more,
    }
    session.parent = uuid
    return record


def _clock(seconds: int) -> str:
    return f"{seconds // 3_600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def _user(session: Session, text: str) -> dict[str, Any]:
    return _envelope(session, "user", message={"role": "user", "content": text})


def _agent(session: Session, *content: dict[str, Any]) -> dict[str, Any]:
    usage = {"input_tokens": 9, "cache_read_input_tokens": 180_000, "output_tokens": 60, "service_tier": "standard"}
    message = {"id": f"msg_{session.number}", "type": "message", "role": "assistant", "model": "claude-opus-5"}
    return _envelope(
        session,
        "assistant",
        requestId=f"req_{session.number}",
        message={**message, "content": list(content), "usage": usage},
    )


def _said(session: Session, text: str) -> dict[str, Any]:
    return _agent(session, {"type": "text", "text": text})


def _use(session: Session, name: str, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    call = f"toolu_{session.number}"
    return call, _agent(session, {"type": "tool_use", "id": call, "name": name, "input": given})


def _result(
    session: Session, call: str, content: Any, *, error: bool | None = False, copy: Any = None
) -> dict[str, Any]:
    block = {"type": "tool_result", "tool_use_id": call, "content": content}
    if error is not None:
        block["is_error"] = error
    return _envelope(session, "user", message={"role": "user", "content": [block]}, toolUseResult=copy)


def _text(session: Session, length: int) -> str:
    words = WORDS.split()
    found: list[str] = []
    while length > 0:
        line = " ".join(session.draw.choices(words, k=12))
        found.append(line)
        length -= len(line) + 1
    return "\n".join(found)


def _call(session: Session) -> Iterator[dict[str, Any]]:
    """One call with its output, of one of the kinds that fill a session."""
    kind = session.draw.random()
    if kind < 0.35:
        text = _text(session, session.draw.choice((100, 400, 2_000, 9_000)))
        call, record = _use(session, "Read", {"file_path": f"/home/dev/kernels/unit_{session.number % 400}.cu"})
        yield record
        yield _result(session, call, text, error=None, copy={"type": "text", "file": {"content": text}})
    elif kind < 0.70:
        size = session.draw.choice((40, 100, 400, 3_000)) if session.draw.random() > 0.001 else 2 * MEGABYTE
        text = _text(session, size)
        call, record = _use(session, "Bash", {"command": f"make build-{session.number % 90}", "description": "Build"})
        yield record
        yield _result(session, call, text, copy={"stdout": text, "stderr": "", "interrupted": False})
    elif kind < 0.995:
        path, old, new = f"/home/dev/kernels/unit_{session.number % 400}.cu", _text(session, 300), _text(session, 400)
        call, record = _use(session, "Edit", {"file_path": path, "old_string": old, "new_string": new})
        yield record
        copy = {"filePath": path, "oldString": old, "newString": new, "originalFile": _text(session, 2_000)}
        yield _result(session, call, f"The file {path} has been updated.", error=None, copy=copy)
    else:
        data = session.draw.randbytes(150_000).hex()
        call, record = _use(session, "Read", {"file_path": "/home/dev/kernels/profile.png"})
        yield record
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
        yield _result(session, call, [image], error=None, copy={"type": "image", "file": {"base64": data}})


def _planted(session: Session, number: int) -> Iterator[dict[str, Any]]:
    """A failure, its fix, and the same command passing."""
    command, path = f"make test-plan-{number}", f"/home/dev/kernels/unit_{number}.cu"
    call, record = _use(session, "Bash", {"command": command})
    yield record
    text = f"Exit code 2\n{failure(number)}\nmake: *** [Makefile:9: test-plan-{number}] Error 1"
    yield _result(session, call, text, error=True, copy=f"Error: {text}")
    edit = {"file_path": path, "old_string": f"plan_{number}(mask)", "new_string": fix(number)}
    call, record = _use(session, "Edit", edit)
    yield record
    yield _result(session, call, f"The file {path} has been updated.", error=None)
    call, record = _use(session, "Bash", {"command": command})
    yield record
    yield _result(session, call, f"PASS test-plan-{number} 12/12", copy={"stdout": "PASS", "stderr": ""})


def _rewind(session: Session) -> Iterator[dict[str, Any]]:
    """A prompt that the person took back, with the work that came of it."""
    back = session.parent
    yield _user(session, f"{REWOUND}: rewrite it all in another language.")
    for _ in range(3):
        yield from _call(session)
    yield _said(session, f"{REWOUND}: rewritten.")
    session.parent = back


def _subagent(session: Session, number: int) -> Iterator[dict[str, Any]]:
    prompt = f"Find every use of intrinsic {number}."
    agent = f"a{number:06x}"
    call, record = _use(session, "Task", {"description": "Look", "prompt": prompt, "subagent_type": "Explore"})
    yield record
    folder = session.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True, exist_ok=True)
    own = Session(folder / f"agent-{agent}.jsonl", seed=session.seed + number)
    own.draw.seed(own.seed)
    records = [_user(own, prompt)]
    for _ in range(10):
        records.extend(_call(own))
    records.append(_said(own, f"Intrinsic {number} is used in 3 places."))
    own.path.write_text(
        "".join(json.dumps({**record, "isSidechain": True, "agentId": agent}) + "\n" for record in records),
        encoding="utf-8",
    )
    meta = {"agentType": "Explore", "toolUseId": call}
    (folder / f"agent-{agent}.meta.json").write_text(json.dumps(meta), encoding="utf-8")
    answer = [{"type": "text", "text": f"Intrinsic {number} is used in 3 places."}]
    yield _result(session, call, answer, error=None, copy={"status": "completed", "agentId": agent, "content": answer})


def _compaction(session: Session) -> Iterator[dict[str, Any]]:
    before, session.parent = session.parent, None
    yield _envelope(
        session,
        "system",
        subtype="compact_boundary",
        logicalParentUuid=before,
        compactMetadata={"trigger": "auto", "preTokens": 155_000},
    )
    summary = "This session is being continued from a previous conversation. " + _text(session, 8_000)
    message = {"role": "user", "content": summary}
    yield _envelope(session, "user", isCompactSummary=True, message=message)


@dataclass(frozen=True)
class Found:
    """What was read, and what was found of what was hidden in it."""

    megabytes: float
    steps: int
    subagents: int
    rewound: int
    rewound_seen: bool
    corrections: int
    pairs: int
    kept_characters: int
    resident_megabytes: float
    """The most it held, as the process itself saw it: what the system tells its parent counts the parent's own too."""


def find(path: Path) -> Found:
    """Read the recording in this process."""
    from upskill.traces.readers import read_traces

    reading = read_traces(path)
    (trace,) = reading.traces
    texts = [step.text for step in trace.steps]
    texts += [call.arguments for step in trace.steps for call in step.calls]
    texts += [output.content for step in trace.steps for output in step.observations]
    failures = [output.content for step in trace.steps for output in step.observations if output.failed]
    return Found(
        megabytes=reading.size / 1e6,
        steps=len(trace.steps),
        subagents=len(trace.subtraces),
        rewound=trace.dropped_branches,
        rewound_seen=any(REWOUND in text for text in texts),
        corrections=sum(step.text == CORRECTION for step in trace.steps if step.source == "person"),
        pairs=sum(
            any(failure(number) in text for text in failures) and any(fix(number) in text for text in texts)
            for number in range(PAIRS)
        ),
        kept_characters=sum(map(len, texts)),
        resident_megabytes=_resident_megabytes(),
    )


def _resident_megabytes() -> float:
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    print(json.dumps(asdict(find(Path(sys.argv[1])))))
