"""Quick probes: attempts inside a real sandbox before every run, and what must be true afterwards, inside and outside.

Sends nothing and writes to a temporary folder. The tests attack the sandbox in many more ways.
"""

import os
import secrets
import socket
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from upskill import disk
from upskill.sandbox import profile
from upskill.sandbox.contract import HOME, CommandResult, Sandbox, SandboxGone, SandboxSpec

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
        disk.write(self.victim / "secret", self.secret, mode=0o644)
        self.victim.chmod(0o777)
        disk.write(self.key, self.secret, mode=0o644)
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
        disk.remove_folder(self.folder)

    @property
    def port(self) -> int:
        return int(self.listener.getsockname()[1])

    def victims(self) -> list[str]:
        return [path.name for path in disk.listed(self.victim)]

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
    first: Sequence[str] = ()
    """The command line of process 1, where a probe looks at it."""

    def python(self, code: str, *words: object, seconds: float = 20) -> CommandResult:
        return self.sandbox.run([self.sandbox.python, "-I", "-B", "-c", code, *map(str, words)], seconds=seconds)

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


def _works(scene: Scene) -> ProbeOutcome:
    ran = scene.shell("echo here > probe && cat probe && id -u && pwd")
    expected = ["here", "1000", "/workspace"]
    held = finished(ran) and lines(ran) == expected and scene.sandbox.read("probe") == b"here\n"
    return outcome(held, "file written, uid 1000, /workspace", printed(ran))


_WRITE_VICTIM = """
import os, sys
try:
    os.makedirs(sys.argv[1], exist_ok=True)
    open(sys.argv[1] + "/planted", "w").write("x")
    print("written inside only", flush=True)
except OSError as error:
    print("refused:", error.strerror, flush=True)
"""


def _victim_untouched(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_WRITE_VICTIM, scene.bait.victim)
    found = scene.bait.victims()
    held = finished(ran) and found == ["secret"]
    return outcome(held, f"{printed(ran)}; nothing on the host", f"{printed(ran)}; on the host: {found}")


_READ = """
import os, sys
for path in sys.argv[1:]:
    try:
        print(open(path, errors="replace").read(), flush=True)
    except OSError as error:
        pass
try:
    print("homes", os.listdir("/home"), os.listdir("/root"), flush=True)
except OSError:
    print("homes", os.listdir("/home"), flush=True)
"""


def _reads_no_secret(scene: Scene) -> ProbeOutcome:
    bait = scene.bait
    ran = scene.python(_READ, bait.victim / "secret", bait.key, "/etc/shadow", "/etc/passwd")
    text = ran.stdout.decode("utf-8", "replace")
    found = [word for word in (bait.secret, "root:") if word in text]
    held = finished(ran) and not found and lines(ran)[-1] in ("homes ['agent']", "homes ['agent'] []")
    return outcome(held, "no secret, no key, no password entry, no home", f"found {found}; {printed(ran)}")


_ENVIRONMENT = """
import os
for name, value in sorted(os.environb.items()):
    print("own", name.decode(), value.decode("utf-8", "replace"), flush=True)
try:
    for pair in open("/proc/1/environ", "rb").read().split(b"\\0"):
        if pair:
            print("first", *pair.decode("utf-8", "replace").split("=", 1), flush=True)
except OSError as error:
    print("first is closed", flush=True)
"""


def _environment(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_ENVIRONMENT)
    allowed = {("HOME", HOME), ("LANG", "C.UTF-8"), ("PATH", profile.PATH)}
    expected = {f"{whose} {name} {value}" for whose in ("own", "first") for name, value in allowed}
    others = [line for line in lines(ran) if line not in expected and line != "first is closed"]
    own = sum(line.startswith("own ") for line in lines(ran))
    held = finished(ran) and not others and own == len(allowed) and scene.bait.secret.encode() not in ran.stdout
    return outcome(held, "PATH, HOME and LANG of the sandbox, nothing else", f"also {others}")


_CONNECT = """
import socket, sys
line = socket.socket(socket.AF_INET if sys.argv[1] == "tcp" else socket.AF_UNIX)
line.settimeout(5)
try:
    line.connect(("127.0.0.1", int(sys.argv[2])) if sys.argv[1] == "tcp" else "\\0" + sys.argv[2])
    print("connected", flush=True)
except OSError as error:
    print(type(error).__name__, flush=True)
"""


def connects(scene: Scene, kind: str, address: object, good: str) -> ProbeOutcome:
    ran = scene.python(_CONNECT, kind, address)
    called = scene.bait.was_called()
    held = finished(ran) and lines(ran) == ["ConnectionRefusedError"] and not called
    return outcome(held, good, f"{printed(ran)}; heard: {called}")


def _loopback(scene: Scene) -> ProbeOutcome:
    return connects(scene, "tcp", scene.bait.port, "refused, the listener saw nothing")


_STATUS = """
for line in open("/proc/self/status"):
    if line.startswith(("NoNewPrivs", "CapEff", "CapBnd", "CapPrm", "Seccomp:")):
        print(line.strip().replace("\\t", " "), flush=True)
"""


def _rights(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_STATUS)
    facts = dict(line.split(": ", 1) for line in lines(ran) if ": " in line)
    expected = {"NoNewPrivs": 1, "CapEff": 0, "CapBnd": 0, "CapPrm": 0, "Seccomp": 2}
    held = finished(ran) and {name: int(value, 16) for name, value in facts.items()} == expected
    return outcome(held, "no new privileges, no capability", printed(ran))


_VSOCK = """
import errno, socket
for family in (40, 16, 17, 38):
    try:
        socket.socket(family, socket.SOCK_RAW if family != 40 else socket.SOCK_STREAM)
        print(family, "opened", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
"""


def _other_families(scene: Scene) -> ProbeOutcome:
    ran = scene.python(_VSOCK)
    held = finished(ran) and lines(ran) == ["EAFNOSUPPORT"] * 4
    return outcome(held, "address family not supported", printed(ran))


QUICK: tuple[Probe, ...] = (
    Probe(id=1, what="write and read a file in the workspace", attempt=_works),
    Probe(id=3, what="write into a folder of the host", attempt=_victim_untouched),
    Probe(id=4, what="read secrets, keys, /etc/shadow, homes", attempt=_reads_no_secret),
    Probe(id=5, what="print the environment, also that of process 1", attempt=_environment),
    Probe(id=6, what="connect to a port on the host's loopback", attempt=_loopback),
    Probe(id=14, what="read its own privileges", attempt=_rights),
    Probe(id=33, what="open sockets that ignore network namespaces", attempt=_other_families),
)
"""Shown before every run. They leave nothing behind, so all are tried in one sandbox."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What came of one probe."""

    id: int
    what: str
    held: bool
    saw: str


def run_quick_probes(open_one: Callable[[SandboxSpec], Sandbox]) -> list[Result]:
    """Try the quick probes in one sandbox. Whatever opening it raises, this raises."""
    spec = SandboxSpec()
    with Bait() as bait, open_one(spec) as sandbox:
        scene = Scene(sandbox=sandbox, bait=bait, spec=spec, open_one=open_one)
        return [attempt(probe, scene) for probe in QUICK]


def attempt(probe: Probe, scene: Scene) -> Result:
    """Try a probe. A sandbox that broke under it has not held."""
    try:
        seen = probe.attempt(scene)
    except (SandboxGone, OSError, ValueError, IndexError) as error:
        seen = ProbeOutcome(held=False, saw=f"could not be tried: {type(error).__name__}: {error}")
    return Result(id=probe.id, what=probe.what, held=seen.held, saw=seen.saw)
