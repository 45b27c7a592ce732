"""Coding agents under upskill against the bare programs: wall time, memory, and whether any of many errs.

    python -m benchmarks.coding_agents [--agents codex,claude-code,opencode] [--rounds 5] [--write PAGE]

One server on loopback answers both sides, in the dialect it is asked in: load the skill, write a file, finish. A bare
run is the agent's own command with the same settings, in a folder instead of a sandbox. The sides take turns. What a
real model takes comes on top of both, so that the ratio is the largest there can be. The agents are those of
`make agents`.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from upskill.agents.harness import AgentAdapter, Launch, ToolRequest
from upskill.agents.streams import Dialect, stream

ROOT = Path(__file__).parent.parent
BINARIES = ROOT / "build" / "agents" / "node_modules" / ".bin"
SKILL, PROMPT = "zebra-greeting", "Write the greeting of the house into hello.txt."
IN_PARALLEL, CASES = 8, 8
MOST_RATIO = 2.0
HEADING = "# Coding agents under upskill, against the bare programs"
_INSIDE = re.compile(r"(?<![\w/])(/home/agent|/opt/(?!python)|/workspace)")


@dataclass(kw_only=True)
class Figures:
    """What was measured of one agent."""

    agent: str
    version: str
    bare: list[float] = field(default_factory=list)
    ours: list[float] = field(default_factory=list)
    memory_mb: float = 0.0
    trials: int = 0
    errored: int = 0
    parallel_seconds: float = 0.0

    @property
    def ratio(self) -> float:
        """Of the medians."""
        return statistics.median(self.ours) / statistics.median(self.bare)

    @property
    def row(self) -> str:
        """A row of the table."""
        return (
            f"| {self.agent} {self.version} | {_seconds(self.bare)} | {_seconds(self.ours)} | {self.ratio:.2f} "
            f"| {self.memory_mb:.0f} MB | {self.errored} of {self.trials} | "
            f"{self.parallel_seconds / max(1, self.trials):.2f} s |"
        )


def _seconds(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.2f} s ({min(values):.2f} to {max(values):.2f})"


def main() -> int:
    """Measure, print the table, and exit with 1 where a figure is beyond its limit."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--agents", default="codex,claude-code,opencode")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--write", type=Path)
    given = parser.parse_args()
    # opencode needs ripgrep, which comes with Codex.
    found = [str(path.parent) for path in (ROOT / "build" / "agents").glob("**/codex-path/rg")]
    os.environ["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), *found])
    measured = [measure(name, rounds=given.rounds) for name in given.agents.split(",")]
    lines = [
        HEADING,
        "",
        "Written by `python -m benchmarks.coding_agents --write`; do not edit. One answer has three model calls, which",
        "the server answers at once. Seconds are medians, with the smallest and the largest; memory is the peak of all",
        f"processes in one sandbox. The last columns: {CASES} cases in three arms, {IN_PARALLEL} answers at a time,",
        f"on {os.cpu_count()} cores.",
        "",
        "| agent | bare program | under upskill | ratio | memory | errored | time per answer in parallel |",
        "|---|---|---|---|---|---|---|",
        *(figures.row for figures in measured),
        "",
    ]
    print("\n".join(lines))
    if given.write is not None:
        from benchmarks.page_sections import write_last_section

        write_last_section(given.write, "\n".join(lines))
    return int(any(figures.ratio > MOST_RATIO or figures.errored for figures in measured))


def measure(name: str, *, rounds: int) -> Figures:
    """The figures of one agent."""
    from upskill.agents.harness import CodingAgent
    from upskill.core.nouns import harness_info
    from upskill.core.trials.harness import load_harness

    harness = load_harness(name)
    if not isinstance(harness, CodingAgent):
        raise SystemExit(f"{name} is no coding agent")
    adapter, binary = harness.adapter, BINARIES / harness_info(name).program
    with tempfile.TemporaryDirectory() as folder, serve(adapter) as url:
        os.chdir(folder)
        one, many = _skill(Path(folder, "one"), 1), _skill(Path(folder, "many"), CASES)
        figures = Figures(agent=name, version=adapter.program(binary).version)
        # The first evaluation of a process imports the engine; it is not what is measured.
        _evaluate(one, name, binary, url, baseline=False)
        with Memory() as memory:
            for number in range(rounds):
                figures.bare.append(_bare(adapter, binary, one, url))
                figures.ours += _evaluate(one, name, binary, url, baseline=False).seconds
                print(f"{name} {number}: {figures.bare[-1]:.2f} {figures.ours[-1]:.2f}", file=sys.stderr, flush=True)
        figures.memory_mb = memory.peak / 2**20
        started = time.monotonic()
        parallel = _evaluate(many, name, binary, url, baseline=True)
        figures.parallel_seconds = time.monotonic() - started
        figures.trials, figures.errored = len(parallel.seconds), parallel.errored
        return figures


@dataclass(frozen=True)
class _Evaluated:
    seconds: list[float]
    errored: int


def _evaluate(skill: Path, harness: str, binary: Path, url: str, *, baseline: bool) -> _Evaluated:
    """The wall time of every answer by the engine's clock, with waits, and how many errored."""
    from inspect_ai.log import read_eval_log

    from upskill.core.nouns import Errored
    from upskill.core.settings import resolve_settings
    from upskill.evaluation.evaluate import evaluate
    from upskill.evaluation.order import EvaluationOrder
    from upskill.evaluation.past_runs import trials_of

    here = Path.cwd()
    flags = {"models": ("any",), "base_url": f"{url}/v1", "harness": harness, "concurrency": IN_PARALLEL}
    settings = resolve_settings(
        {**flags, "store": False, "report": False}, environment={}, folder=here, user_folder=here
    )
    order = EvaluationOrder(skill=skill, repeats=1, baseline=baseline, agent_bin=binary)
    run = here / evaluate(order, settings=settings).run
    errors = [trial.outcome for trial in trials_of(run) if isinstance(trial.outcome, Errored)]
    for error in errors:
        print(f"{harness}: {error.fault}: {error.message}", file=sys.stderr)
    logs = [read_eval_log(str(path)) for path in sorted((run / "logs").glob("*.eval"))]
    seconds = [float(sample.total_time or 0.0) for log in logs for sample in log.samples or ()]
    return _Evaluated(seconds, len(errors))


def _skill(folder: Path, cases: int) -> Path:
    folder = folder / SKILL
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(
        f"---\nname: {SKILL}\ndescription: Greets people in the way of the house.\n---\n"
        "The greeting of the house is always written exactly as ZEBRA-HELLO-7413.\n"
    )
    items = [
        {"id": f"c{number}", "input": f"{PROMPT} Number {number}.", "expected": {"contains": "finished"}}
        for number in range(cases)
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": items}))
    return folder


def _bare(adapter: AgentAdapter, binary: Path, skill: Path, url: str) -> float:
    """Seconds of the agent's own command, with the settings that it has in a sandbox."""
    launch = Launch(base_url=url, prompt=f"{PROMPT} Number 0.")
    program = adapter.program(binary)
    with tempfile.TemporaryDirectory() as name:

        def here(text: str) -> str:
            return _INSIDE.sub(lambda found: f"{name}{found.group(1)}", text)

        for path in ("/workspace", "/home/agent", "/tmp"):
            Path(name + path).mkdir(parents=True)
        for mount in program.mounts:
            Path(name + mount.target).parent.mkdir(parents=True, exist_ok=True)
            Path(name + mount.target).symlink_to(mount.source)
        files = {path: here(data.decode()).encode() for path, data in adapter.files(launch).items()}
        files[f"{adapter.skills_folder}/{SKILL}/SKILL.md"] = (skill / "SKILL.md").read_bytes()
        for path, data in files.items():
            Path(name + path).parent.mkdir(parents=True, exist_ok=True)
            Path(name + path).write_bytes(data)
        refusing = {"HTTPS_PROXY": url, "https_proxy": url, "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
        environment = {
            **{"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": f"{name}/home/agent", "IS_SANDBOX": "1", **refusing},
            **{key: here(value) for key, value in adapter.environment(launch).items()},
        }
        words = [here(word) for word in adapter.argv(program, launch)]
        started = time.monotonic()
        ran = subprocess.run(
            words,
            cwd=f"{name}/workspace",
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        seconds = time.monotonic() - started
        if ran.returncode != 0 or not Path(name, "workspace", "hello.txt").exists():
            raise SystemExit(f"{adapter.name}, bare: {ran.returncode} {ran.stderr[-500:]!r} {ran.stdout[-500:]!r}")
        return seconds


class Memory:
    """The most that all processes behind one relay have had, shared pages counted once."""

    def __init__(self) -> None:
        self.peak = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "Memory":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.1):
            for process in [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]:
                if b"/opt/upskill/relay.py" in _read(f"/proc/{process}/cmdline").split(b"\0"):
                    self.peak = max(self.peak, sum(map(_pss, _tree(process))))


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _tree(process: int) -> Iterator[int]:
    yield process
    for path in Path(f"/proc/{process}/task").glob("*/children"):
        for child in _read(str(path)).split():
            yield from _tree(int(child))


def _pss(process: int) -> int:
    found = re.search(rb"^Pss:\s+(\d+) kB", _read(f"/proc/{process}/smaps_rollup"), re.M)
    return int(found.group(1)) * 1024 if found else 0


# The server


@contextmanager
def serve(adapter: AgentAdapter) -> Iterator[str]:
    """The address of a model that loads the skill, writes a file and finishes, in whatever dialect it is asked."""
    script = (adapter.load(SKILL), adapter.shell("echo ZEBRA-HELLO-7413 > hello.txt"))

    class Serving(_Serving):
        steps = script

    server = ThreadingHTTPServer(("127.0.0.1", 0), Serving)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


class _Serving(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    steps: Sequence[ToolRequest]

    def do_HEAD(self) -> None:
        self._send(b"", "text/plain")

    def do_GET(self) -> None:
        self._send(b'{"object": "list", "data": [{"id": "any"}]}', "application/json")

    def do_CONNECT(self) -> None:
        self.send_error(403)

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        path = self.path.partition("?")[0]
        dialect: Dialect = (
            "responses" if path.endswith("/responses") else "messages" if path.endswith("/messages") else "completions"
        )
        done = sum(_is_result(entry) for entry in _entries(dialect, asked))
        step = self.steps[done] if asked.get("tools") and done < len(self.steps) else None
        answer = _ANSWERS[dialect](step, done)
        if asked.get("stream"):
            self._send(stream(dialect, answer), "text/event-stream")
        else:
            self._send(json.dumps(answer).encode(), "application/json")

    def _send(self, body: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


def _entries(dialect: Dialect, asked: dict[str, Any]) -> list[dict[str, Any]]:
    if dialect == "responses":
        return list(asked["input"])
    if dialect == "completions":
        return list(asked["messages"])
    contents = [message["content"] for message in asked["messages"] if isinstance(message["content"], list)]
    return [block for content in contents for block in content]


def _is_result(entry: dict[str, Any]) -> bool:
    return entry.get("type") in ("function_call_output", "tool_result") or entry.get("role") == "tool"


def _responses(step: ToolRequest | None, number: int) -> dict[str, Any]:
    text = [{"type": "output_text", "text": "It is finished.", "annotations": []}]
    item: dict[str, Any] = {"type": "message", "id": f"m{number}", "role": "assistant", "content": text}
    if step is not None:
        item = {"type": "function_call", "id": f"f{number}", "call_id": f"c{number}", "name": step.tool}
        item["arguments"] = json.dumps(step.arguments)
    used = {"input_tokens": 100, "output_tokens": 7, "total_tokens": 107}
    details = {"input_tokens_details": {"cached_tokens": 0}, "output_tokens_details": {"reasoning_tokens": 0}}
    return {
        "id": f"r{number}",
        "object": "response",
        "status": "completed",
        "output": [item],
        "usage": {**used, **details},
    }


def _messages(step: ToolRequest | None, number: int) -> dict[str, Any]:
    block: dict[str, Any] = {"type": "text", "text": "It is finished."}
    if step is not None:
        block = {"type": "tool_use", "id": f"toolu_{number}", "name": step.tool, "input": step.arguments}
    return {
        **{"id": f"msg_{number}", "type": "message", "role": "assistant", "model": "any", "content": [block]},
        **{"stop_reason": "end_turn" if step is None else "tool_use", "stop_sequence": None},
        "usage": {"input_tokens": 100, "output_tokens": 7},
    }


def _completions(step: ToolRequest | None, number: int) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "It is finished."}
    if step is not None:
        function = {"name": step.tool, "arguments": json.dumps(step.arguments)}
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": f"call_{number}", "type": "function", "function": function}]
    choice = {"index": 0, "message": message, "finish_reason": "stop" if step is None else "tool_calls"}
    usage = {"prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}
    return {
        **{"id": f"c{number}", "object": "chat.completion", "created": 1, "model": "any"},
        **{"choices": [choice], "usage": usage},
    }


_ANSWERS = {"responses": _responses, "messages": _messages, "completions": _completions}


if __name__ == "__main__":
    sys.exit(main())
