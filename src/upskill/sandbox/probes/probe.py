"""What a probe is: an attempt inside a real sandbox, and what must be true afterwards, inside and on the host."""

import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from upskill.sandbox import profile
from upskill.sandbox.contract import CommandResult, Sandbox, SandboxSpec

SECRET_VARIABLE = "UPSKILL_PROBE_SECRET"


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeOutcome:
    """Whether the sandbox held, and what was seen that says so."""

    held: bool
    saw: str


class Bait:
    """What a program that broke out would find: a victim folder, a key, a listener, a secret in our environment.

    Everything lies in one temporary folder and is removed at the end.
    """

    def __init__(self) -> None:
        self.secret = f"bait-{secrets.token_hex(12)}"
        self.folder = Path(tempfile.mkdtemp(prefix="upskill-bait-")).resolve()
        self.folder.chmod(0o755)
        self.victim = self.folder / "victim"
        self.key = self.folder / "home" / ".ssh" / "id_ed25519"
        for folder in (self.victim, self.key.parent):
            folder.mkdir(parents=True)
        # Open to everybody: what keeps a program away from them must be the sandbox and not their modes.
        (self.victim / "secret").write_text(self.secret, encoding="ascii")
        self.victim.chmod(0o777)
        self.key.write_text(self.secret, encoding="ascii")
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.abstract = socket.socket(socket.AF_UNIX)
        self.abstract_name = f"\0upskill-{secrets.token_hex(8)}"
        self.abstract.bind(self.abstract_name)
        self.abstract.listen()
        self.abstract.setblocking(False)
        self._before = os.environ.get(SECRET_VARIABLE)
        os.environ[SECRET_VARIABLE] = self.secret

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.listener.close()
        self.abstract.close()
        if self._before is None:
            os.environ.pop(SECRET_VARIABLE, None)
        else:
            os.environ[SECRET_VARIABLE] = self._before
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def victims(self) -> list[str]:
        return sorted(path.name for path in self.victim.iterdir())

    def was_called(self) -> bool:
        """Whether somebody connected to one of the two listeners."""
        for listener in (self.listener, self.abstract):
            with suppress(BlockingIOError):
                listener.accept()[0].close()
                return True
        return False


@dataclass(frozen=True, kw_only=True, slots=True)
class Scene:
    """One fresh sandbox and the bait around it, and how to open another."""

    sandbox: Sandbox
    bait: Bait
    spec: SandboxSpec
    open_one: Callable[[SandboxSpec], Sandbox]
    interpreter: str | None = None
    """The program that runs Python inside; `None` for the one that this machine lends."""

    def python(self, code: str, *words: object, seconds: float = 20) -> CommandResult:
        program = self.interpreter or profile.find_interpreter().program
        return self.sandbox.run([program, "-I", "-B", "-c", code, *map(str, words)], seconds=seconds)

    def shell(self, script: str, *words: object, seconds: float = 20) -> CommandResult:
        return self.sandbox.run(["sh", "-c", script, "sh", *map(str, words)], seconds=seconds)


@dataclass(frozen=True, kw_only=True, slots=True)
class Probe:
    """One row of the suite: what a program tries to do, in words and as an attempt."""

    id: int
    what: str
    attempt: Callable[[Scene], ProbeOutcome]


def outcome(held: bool, good: str, otherwise: str) -> ProbeOutcome:
    return ProbeOutcome(held=held, saw=good if held else otherwise)


def must_print(expected: Sequence[str], number: int, what: str, code: str, *words: object, good: str) -> Probe:
    """A probe in Python that must run to its end and print these lines; `good` sums them up for people."""

    def attempt(scene: Scene) -> ProbeOutcome:
        ran = scene.python(code, *words)
        return outcome(finished(ran) and lines(ran) == list(expected), good, printed(ran))

    return Probe(id=number, what=what, attempt=attempt)


def lines(ran: CommandResult) -> list[str]:
    return ran.stdout.decode("utf-8", "replace").splitlines()


def finished(ran: CommandResult) -> bool:
    """The program ran to its end: an attempt that never happened proves nothing."""
    return ran.ended == "exit" and ran.exit_code == 0


def ending(ran: CommandResult) -> str:
    """How the program ended, for people."""
    how = f"exit {ran.exit_code}" if ran.ended == "exit" else f"ended: {ran.ended}"
    complaint = ran.stderr.decode("utf-8", "replace").strip().splitlines()
    return f"{how}, {complaint[-1]}" if complaint else how


def printed(ran: CommandResult) -> str:
    """What the program printed, on one line."""
    text = "; ".join(line.strip() for line in lines(ran) if line.strip())
    return text if finished(ran) else f"{text} ({ending(ran)})" if text else ending(ran)


def processes_named(marker: str) -> list[int]:
    """Processes of this machine whose command line holds a word that only a probe uses."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with suppress(OSError):
                if marker.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
    return [process for process in found if process != os.getpid()]
