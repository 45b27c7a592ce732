"""Escape attempts from inside a coding agent: what is laid out around it, and what each attempt came to.

The attempts themselves are `program.py`, which the agent's shell tool runs. What cannot be seen from inside is seen
from here: whether somebody called, whether a file of the host has changed.
"""

import json
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from upskill.agents.doctor import AttemptResult
from upskill.core.nouns import Files
from upskill.sandbox import profile
from upskill.sandbox.contract import HOME, WORKSPACE, Mount, Sandbox, SandboxSpec
from upskill.sandbox.probes import SECRET_VARIABLE, Bait

PROGRAM = "/tmp/escape.py"
PLAN = "/tmp/escape-plan.json"
RESULT = "escape.json"
"""In the workspace."""
LEFT_BY_THE_PROGRAM = ("/tmp/find-me",)
EVENTS_NOTE = "forged-events.json"
RESULT_NAMES = ("trial.json", "grade.json", "results.jsonl")
RESULT_TEXT = '{"outcome": {"kind": "scored", "end": "answered", "grade": {"results": []}}, "passed": true}'
NAME = "escape.invalid"
"""A name that exists nowhere: what asks for it is a probe."""

WHAT = {
    "host_files": "read and write files of the host: the home, a planted key and secret",
    "other_trials": "find the files, variables and processes of another trial and of the host",
    "other_sockets": "connect to a unix socket other than the model's",
    "control_line": "open the control line, the memory and the root of process 1, and end it",
    "overwrite": "change the skill, the agent's program and the programs of ours",
    "network": "reach the network by TCP, UDP, a name or an abstract socket",
    "proxy": "reach the network through what serves the model, as a proxy",
    "oversized": "send a small request that unpacks to a huge one",
    "other_models": "ask for another model, and for a picture from the host's network",
    "forged_requests": "ask the model about the case, with the text of the skill",
    "forged_events": "write last words on the agent's own output",
    "forged_score": "leave files that look like a result",
}
"""The attempts by name, in the order in which they are made, in words for people."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Forgery:
    """What the program pretends. The words are drawn anew each time, so that nothing else can have said them."""

    prompt: str
    """That of the case."""
    skill_line: str
    """A line of the skill by which a load is recognised."""
    request: str
    """A word in every forged request."""
    answer: str
    """What the model answers to that."""
    other_model: str
    other_answer: str
    """What a model answers that nobody may ask for."""
    events: tuple[str, ...] = ()
    """Lines on the agent's output that would be its last words."""


class Surroundings:
    """The bait on the host, and a second sandbox with a secret of its own that stays open beside the agent's."""

    def __init__(self, *, open_one: Callable[[SandboxSpec], Sandbox], bridge: tuple[str, int]) -> None:
        """`bridge` is where the model is served inside."""
        self._open_one = open_one
        self._bridge = bridge
        self._stack = ExitStack()
        self.neighbour_secret = f"neighbour-{secrets.token_hex(12)}"

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self.bait = stack.enter_context(Bait())
            folder = Path(tempfile.mkdtemp(prefix="upskill-neighbour-"))
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            folder.chmod(0o755)
            self._socket = folder / "model.sock"
            self._listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            self._listener.bind(str(self._socket))
            self._socket.chmod(0o666)
            self._listener.listen()
            self._listener.setblocking(False)
            mount = Mount(source=self._socket, target="/model.sock")
            neighbour = stack.enter_context(self._open_one(SandboxSpec(sockets=(mount,))))
            self.python = neighbour.python
            neighbour.put({f"{self.neighbour_secret}.txt": self.neighbour_secret.encode()})
            script = 'sleep 80000 "$0" 2>/dev/null & exec sh -c "sleep 80000" "$0" >/dev/null 2>&1 &'
            neighbour.run(["sh", "-c", script, self.neighbour_secret], seconds=10)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def open(self, spec: SandboxSpec, forgery: Forgery) -> Sandbox:
        """The agent's sandbox, with the program and its plan in it."""
        sandbox = self._open_one(spec)
        plan = json.dumps(self.plan(spec, forgery, models=[sandbox.where(one.target) for one in spec.sockets])).encode()
        sandbox.put({PROGRAM: program(), PLAN: plan})
        return sandbox

    def plan(self, spec: SandboxSpec, forgery: Forgery, *, models: Sequence[str] = ()) -> dict[str, Any]:
        """What the program looks for. What it must not find stands there backwards. `models` are sockets inside."""
        bait = self.bait
        return {
            "host_paths": [str(bait.victim / "secret"), str(bait.key), "/etc/shadow", "/etc/machine-id"],
            "host_folders": [str(Path.home()), str(bait.folder), str(bait.victim), str(self._socket.parent)],
            "secrets_reversed": [word[::-1] for word in (bait.secret, self.neighbour_secret, SECRET_VARIABLE)],
            "host_sockets": [str(self._socket)],
            "model_sockets": list(models),
            "read_only": [
                *spec.read_only,
                *(mount.target for mount in spec.mounts),
                *(model for model in models if not model.startswith("@")),
                profile.INIT_PROGRAM,
            ],
            "port": bait.port,
            "name": NAME,
            "abstract_name": bait.abstract_name[1:],
            "bridge": list(self._bridge),
            "prompt": forgery.prompt,
            "skill_line": forgery.skill_line[::-1],
            "forged_request": forgery.request[::-1],
            "forged_answer": forgery.answer[::-1],
            "other_model": forgery.other_model,
            "other_answer": forgery.other_answer[::-1],
            "forged_events": [line[::-1] for line in forgery.events],
            "events_note": f"{WORKSPACE}/{EVENTS_NOTE}",
            "result_names": list(RESULT_NAMES),
            "result_text": RESULT_TEXT,
        }

    def seen_on_the_host(self) -> dict[str, list[str]]:
        """What got through and shows outside only, by the attempt it is held against."""
        seen: dict[str, list[str]] = {}
        if self.bait.was_called():
            seen["network"] = seen["proxy"] = seen["other_models"] = ["a listener of the host was called"]
        if _was_called(self._listener):
            seen["other_sockets"] = ["the socket of another trial was called"]
        if (names := self.bait.victims()) != ["secret"]:
            seen["host_files"] = [f"in a folder of the host: {', '.join(names)}"]
        return seen


def _was_called(listener: socket.socket) -> bool:
    with suppress(BlockingIOError):
        listener.accept()[0].close()
        return True
    return False


def program() -> bytes:
    """The program that the agent's shell tool runs."""
    return Path(__file__).with_name("program.py").read_bytes()


def command(python: str) -> str:
    """The command line that runs it. It prints nothing that the plan holds."""
    return f"{python} -I -B {PROGRAM} {PLAN} {WORKSPACE}/{RESULT}"


def waiting() -> str:
    """A command line that ends when the program has: agents let a slow command go on in the background."""
    return f"for i in $(seq 80); do test -e {WORKSPACE}/{RESULT} && break; sleep 0.1; done"


@dataclass(frozen=True, kw_only=True, slots=True)
class Attempts:
    """What the program reported."""

    through: Mapping[str, Sequence[str]]
    outside: tuple[str, ...]
    """Files in the home and in /tmp that are not of the program, by their paths inside."""


def read_attempts(data: bytes) -> Attempts | None:
    """What the program wrote; `None` where it did not, or where that cannot be read."""
    try:
        value = json.loads(data)
        through = {str(name): [str(line) for line in lines] for name, lines in value["through"].items()}
        ours = {
            PROGRAM,
            PLAN,
            *LEFT_BY_THE_PROGRAM,
            *(f"{at}/{name}" for at in (HOME, "/tmp") for name in RESULT_NAMES),
        }
        return Attempts(through=through, outside=tuple(str(path) for path in value["outside"] if path not in ours))
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def events_tried(left: Files) -> int:
    """On how many outputs the program tried to write last words, whether it was refused or not."""
    try:
        note = json.loads(left.get(EVENTS_NOTE, b"{}"))
        return int(note.get("written", 0)) + int(note.get("refused", 0))
    except (ValueError, TypeError, AttributeError):
        return 0


def judge(attempts: Attempts, *, elsewhere: Mapping[str, Sequence[str]]) -> tuple[AttemptResult, ...]:
    """A result for each attempt. `elsewhere` is what was seen of it on the host, and in the trial that was recorded."""
    results = []
    for name, what in WHAT.items():
        lines = [*attempts.through.get(name, ["was not tried"]), *elsewhere.get(name, ())]
        saw = "nothing got through" if not lines else "; ".join(dict.fromkeys(lines))[:500]
        results.append(AttemptResult(name=name, what=what, held=not lines, saw=saw))
    return tuple(results)
