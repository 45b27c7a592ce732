"""Starts every process outside a sandbox, and knows which variables of the environment each kind may see.

A program is named by its absolute path and never comes from the folder that is worked in; our own Python leaves that
folder out of its search path. Only what runs inside a sandbox starts processes elsewhere: `sandbox/init_process`,
`sandbox/probes` and `trials/coding_agents/relay.py`.
"""

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Literal

from upskill import disk

Kind = Literal["agent_version", "browser", "container", "editor", "git", "sandbox", "session_export", "worker"]
_PROXIES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")
_NETWORK = (*_PROXIES, *map(str.upper, _PROXIES), "SSL_CERT_FILE", "SSL_CERT_DIR", "CURL_CA_BUNDLE")
_PERSON = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TMPDIR")
_DESKTOP = ("DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR")
_XDG = ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS")
ENVIRONMENTS: Mapping[Kind, tuple[str, ...]] = {
    "agent_version": ("LANG",),
    "browser": (*_PERSON, *_DESKTOP, *_XDG, "XDG_CURRENT_DESKTOP", "XDG_SESSION_TYPE", "DESKTOP_SESSION"),
    "container": (
        *("HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG"),
        *("CONTAINER_HOST", "CONTAINER_CONNECTION", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"),
    ),
    "editor": (*_PERSON, *_DESKTOP, *_XDG, "TERM", "COLORTERM"),
    "git": (*_PERSON, *_NETWORK, "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_SSL_CAINFO", "GIT_CONFIG_GLOBAL"),
    "session_export": (*_PERSON, *_XDG),
    "sandbox": (),
}
"""What each kind sees beside a search path; none of it is a key. A `worker` is upskill itself, and sees everything."""
Worker = subprocess.Popen[bytes]
"""A process of ours, with pipes to it."""
SYSTEM_FOLDERS = ("/usr/bin", "/bin", "/usr/sbin", "/sbin", "/run/current-system/sw/bin")


def find_system_program(name: str) -> str | None:
    """The path of a program in the system's own folders: never through a search path that somebody else can write."""
    candidates = (Path(folder, name) for folder in SYSTEM_FOLDERS)
    return next((str(path) for path in candidates if path.is_file() and os.access(path, os.X_OK)), None)


def find_program(name: str, *, source: Mapping[str, str] = os.environ) -> str | None:
    """The absolute path of a program that a person has installed, on the search path without the working folder."""
    found = shutil.which(name, path=search_path(source))
    return (
        found if found is not None and Path(found).is_absolute() else None
    )  # Windows looks in the working folder first


def search_path(source: Mapping[str, str] = os.environ) -> str:
    """The search path without the repository or folder that is worked in: a project brings no programs.

    The root and a person's home are no projects: below them lies what the person has installed.
    """
    here = _project(Path.cwd().resolve())
    folders = [folder for folder in source.get("PATH", os.defpath).split(os.pathsep) if Path(folder).is_absolute()]
    if here not in (Path(here.anchor), Path.home().resolve()):
        folders = [folder for folder in folders if not Path(folder).resolve().is_relative_to(here)]
    return os.pathsep.join(folders)


def _project(folder: Path) -> Path:
    """The root of the repository that a folder is in, or the folder."""
    return next((one for one in (folder, *folder.parents) if (one / ".git").exists()), folder)


def environment(kind: Kind, *, source: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment of a kind of process, out of `source`."""
    if kind == "worker":
        return dict(source)
    if kind == "sandbox":
        return {}
    names = (*ENVIRONMENTS[kind], *(("SYSTEMROOT",) if os.name == "nt" else ()))
    return {"PATH": search_path(source), **{name: source[name] for name in names if name in source}}


def start(
    kind: Kind,
    words: Sequence[str | Path],
    *,
    cwd: Path | str | None = None,
    stdin: int | IO[bytes] = subprocess.DEVNULL,
    stdout: int | IO[bytes] = subprocess.DEVNULL,
    stderr: int | IO[bytes] | None = None,
    keep: Sequence[int] = (),
    apart: bool = False,
    variables: Mapping[str, str] | None = None,
    source: Mapping[str, str] = os.environ,
) -> "subprocess.Popen[bytes]":
    """Start a program with the environment of its kind, out of `source`, and these `variables`.

    It gets no descriptors but the ones named, and `apart` a session of its own. Raises `OSError` where it cannot start.
    """
    program = str(words[0])
    if not Path(program).is_absolute():
        raise ValueError(f"{program}: a program is started by its absolute path")
    if program == sys.executable and words[1] not in ("-I", "-P"):
        raise ValueError("our own Python is started with -I or -P")
    return subprocess.Popen(
        words,
        cwd=cwd,
        env={**environment(kind, source=source), **(variables or {})},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        pass_fds=tuple(keep),
        start_new_session=apart,
    )


def start_worker(module: str, *arguments: str) -> Worker:
    """Start a module of ours as a process of its own, which no signal of the terminal reaches, with pipes to it."""
    words = [sys.executable, "-P", "-m", module, *arguments]
    return start("worker", words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, apart=True)


def run(
    kind: Kind,
    words: Sequence[str | Path],
    *,
    seconds: float,
    cwd: Path | str | None = None,
    said: bytes | None = None,
    variables: Mapping[str, str] | None = None,
    source: Mapping[str, str] = os.environ,
) -> "subprocess.CompletedProcess[bytes]":
    """Run a program to its end, with `said` on its standard input. Raises `OSError`, `subprocess.TimeoutExpired`."""
    pipe = subprocess.PIPE
    stdin = subprocess.DEVNULL if said is None else pipe
    with start(
        kind, words, cwd=cwd, stdin=stdin, stdout=pipe, stderr=pipe, variables=variables, source=source
    ) as process:
        try:
            out, err = process.communicate(said, timeout=seconds)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(list(words), process.returncode, out, err)


def edited(text: str, *, suffix: str, question: str) -> str | None:
    """The text as a person saved it in $VISUAL or $EDITOR, which opens the question as a second file, for reading.

    `None` where they changed nothing or no editor was started.
    """
    chosen = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    name, *options = shlex.split(chosen) or ["vi"]
    program = name if Path(name).is_absolute() else find_program(name)
    if program is None:
        return None
    with tempfile.TemporaryDirectory(prefix="upskill-edit-") as folder:
        file, beside = Path(folder) / f"answer{suffix}", Path(folder) / "question.md"
        disk.write_new(file, text)
        disk.write_new(beside, question)
        try:
            process = start("editor", [program, *options, file, beside], stdin=0, stdout=1, stderr=2)
        except OSError:
            return None
        process.wait()
        saved = disk.read_text(file)
    return None if saved == text else saved


def open_in_browser(address: str) -> bool:
    """Show an address in the person's browser; false where none could be started."""
    if sys.platform == "win32":
        os.startfile(address)
        return True
    opener = find_system_program("open") if sys.platform == "darwin" else find_system_program("xdg-open")
    if opener is None:
        return False
    try:
        return run("browser", [opener, address], seconds=30).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
