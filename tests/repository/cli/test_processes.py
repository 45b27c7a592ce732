"""Every command, typed in a folder that a stranger made: nothing of it is executed, and what is started is ours.

The folder has modules with the names of Python's own, programs with the names of those that are started, settings of
git and of coding agents that name programs, and the search path leads to it. An audit hook in every process of ours
notes what is started.
"""

import ast
import json
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from forking import COMMAND
from upskill.cli import commands

ROOT = Path(__file__).parents[3]
SRC = ROOT / "src" / "upskill"
CANARY = "sk-canary-0123456789abcdef"
"""A key that no process may see but a worker of ours."""
MODULES = (
    *("multiprocessing", "json", "site", "sitecustomize", "usercustomize", "sigstore", "subprocess", "asyncio", "re"),
    *("encodings", "upskill", "inspect_ai", "ray", "click", "yaml", "runpy", "importlib", "resource_tracker"),
)
PROGRAMS = (
    *(
        "git",
        "bwrap",
        "setpriv",
        "unshare",
        "mount",
        "sh",
        "docker",
        "podman",
        "opencode",
        "codex",
        "claude",
        "rg",
    ),
    *("xdg-open", "open", "python", "python3", "uname", "lsb_release", "ldconfig", "gcc", "node"),
)
HOOK = """
import json, os, sys
STARTS = {"subprocess.Popen", "pty.spawn"} | {
    "os." + name for name in ("exec", "posix_spawn", "spawn", "fork", "forkpty", "system")
}
def note(event, arguments):
    if event not in STARTS:
        return
    frame, files = sys._getframe(), []
    while frame is not None:
        files.append(frame.f_code.co_filename)
        frame = frame.f_back
    seen = {"event": event, "by": files, "words": None, "environment": None}
    if event == "subprocess.Popen":
        program, words, folder, environment = arguments
        seen["words"] = [os.fsdecode(one) for one in (words if isinstance(words, (list, tuple)) else [words])]
        seen["program"] = os.fsdecode(program)
        if environment is not None:
            seen["environment"] = {os.fsdecode(name): os.fsdecode(value) for name, value in environment.items()}
    with open(LOG, "a") as log:
        log.write(json.dumps(seen) + "\\n")
sys.addaudithook(note)
"""


@dataclass(frozen=True, kw_only=True)
class Tour:
    """A hostile folder, and what happened while commands were typed in it."""

    base: Path
    codes: dict[tuple[str, ...], int] = field(default_factory=dict)
    said: dict[tuple[str, ...], str] = field(default_factory=dict)

    @property
    def here(self) -> Path:
        return self.base / "here"

    @property
    def executed(self) -> list[str]:
        """What of the folder was executed."""
        file = self.base / "executed"
        return file.read_text().splitlines() if file.exists() else []

    @cached_property
    def started(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.base / "started.jsonl").read_text().splitlines()]

    def prepare(self) -> None:
        """Lay out the folder, the home of the person and the hook."""
        for folder in (self.here, self.base / "home", self.base / "hook"):
            folder.mkdir(parents=True)
        shutil.copytree(ROOT / "examples", self.here / "examples")
        self._git("init", "-q")
        self._git("add", "-A")
        self._git("commit", "-qm", "First")
        skill = self.here / "examples" / "tarnctl" / "SKILL.md"
        skill.write_text(skill.read_text() + "\nOne line more.\n")
        note = f"echo %s >> {self.base / 'executed'}"
        for name in PROGRAMS:
            program = self.here / name
            program.write_text(f"#!/bin/sh\n{note % f'program {name}'}\nexit 1\n")
            program.chmod(0o755)
        for name in MODULES:
            (self.here / name).mkdir(exist_ok=True)
            for file in ("__init__.py", "__main__.py"):
                planted = f"open({str(self.base / 'executed')!r}, 'a').write('module {name}\\n')"
                (self.here / name / file).write_text(f"{planted}\nraise ImportError('planted')\n")
        self._git("config", "core.fsmonitor", "./git")
        self._git("config", "core.sshCommand", "./git")
        plugins = self.here / ".opencode" / "plugin"
        plugins.mkdir(parents=True)
        (plugins / "planted.js").write_text(
            f'import {{ appendFileSync }} from "fs"\nappendFileSync({str(self.base / "executed")!r}, "plug-in\\n")\n'
            "export const Planted = async () => ({})\n"
        )
        (self.base / "home" / ".local" / "share" / "opencode").mkdir(parents=True)
        (self.base / "hook" / "sitecustomize.py").write_text(
            HOOK.replace("LOG", repr(str(self.base / "started.jsonl")))
        )

    def _git(self, *words: str) -> None:
        person = {
            "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b.c",
            "GIT_COMMITTER_NAME": "a",
            "GIT_COMMITTER_EMAIL": "a@b.c",
        }
        subprocess.run(
            ["/usr/bin/git", *words], cwd=self.here, check=True, env={**person, "HOME": str(self.base / "home")}
        )

    def type(self, *words: str, variables: Mapping[str, str] | None = None, seconds: float = 240) -> str:
        """Type a command in the folder; a feature that was removed has none."""
        if words[0] not in commands():
            return ""
        agents = ROOT / "build" / "agents" / "node_modules" / ".bin"
        environment = {
            "PATH": f".::{self.here}:{agents}:{Path(COMMAND).parent}:/usr/bin:/bin",
            "HOME": str(self.base / "home"),
            "PYTHONPATH": str(self.base / "hook"),
            "LANG": "C.UTF-8",
            "OPENAI_API_KEY": CANARY,
            "UPSKILL_ENDPOINT_KEY": CANARY,
            **(variables or {}),
        }
        done = subprocess.run(
            [COMMAND, *words],
            cwd=self.here,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=seconds,
            check=False,
        )
        self.codes[words] = done.returncode
        self.said[words] = done.stdout + done.stderr
        return done.stdout


SKILL = "examples/tarnctl"
MODEL = ("-m", "scripted/examples/scripted/student.yaml")
MANIFEST = """format = "upskill.sweep/1"
skills = ["examples/tarnctl", "examples/tarn-config"]
students = ["scripted/examples/scripted/student.yaml"]
"""


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    """Every command once, as far as possible to the end."""
    tour = Tour(base=tmp_path_factory.mktemp("tour"))
    tour.prepare()
    tour.type("init", "demo")
    tour.type("trace", "examples/traces/session.jsonl")
    tour.type("trace", "last")
    tour.type("lint", SKILL)
    tour.type("list", "examples")
    tour.type("mine", "examples/traces")
    tour.type("models", "haiku")
    tour.type("settings")
    tour.type("completion", "bash")
    tour.type("trust", "--list")
    tour.type("doctor")
    tour.type("cases", "check", SKILL)
    tour.type("eval", SKILL, *MODEL, "--runs", "1", "--fresh")
    run = json.loads(tour.type("runs", "--json"))["runs"][0]["folder"]
    tour.type("eval", SKILL, *MODEL, "--compare", "git:HEAD", "--runs", "1", "--fresh", "--yes")
    tour.type(
        *("eval", "examples/tarn-config", "-m", "scripted/examples/scripted/agent.yaml", "--harness", "agent"),
        *("--runs", "1", "--fresh", "--yes"),
    )
    prompts = str(ROOT / "docs" / "how-to" / "tarn-triggers.json")
    tour.type(
        "trigger", "examples/tarn-config", "-m", "scripted/examples/scripted/trigger.yaml", "-t", prompts, "--yes"
    )
    tour.type("drift", SKILL, *MODEL, "--start", "--dry-run")
    tour.type(
        *("slim", SKILL, "-m", f"scripted/{ROOT / 'docs' / 'how-to' / 'tarn-reader.yaml'}", "--explain"),
        *("-t", str(ROOT / "docs" / "how-to" / "tarn-slim.json")),
    )
    tour.type("report", run, "--open")
    tour.type("regrade", run)
    tour.type("evidence", SKILL)
    tour.type("verify", SKILL)
    tour.type("install", SKILL, "--for", "codex", "--yes")
    tour.type("publish", SKILL, "--to", str(tour.base / "published"), "--owner", "We", "--yes")
    tour.type(
        *("generate", "use tarnctl", "--from", "examples/traces/session.jsonl", "--yes", "-m"),
        *("scripted/examples/scripted/teacher.yaml", "--eval-model", "scripted/examples/scripted/student.yaml"),
    )
    tour.type("handoff", "questions")
    (tour.here / "sweep.toml").write_text(MANIFEST)
    tour.type("sweep", "plan", "sweep.toml", "--at", "at")
    tour.type("sweep", "run", "at", "-j", "2", "--yes")
    tour.type("sweep", "status", "at")
    tour.type("sweep", "report", "at")
    return tour


FAILING = {
    ("trace", "last"): "there is no session of this folder",
    ("handoff", "questions"): "there is no such folder",
}
"""Commands of the tour that come to no end, and why: it is not what is tested here."""


def test_the_tour_types_every_command_and_they_come_to_an_end(tour: Tour) -> None:
    assert {words[0] for words in tour.codes} == set(commands())
    failed = {words: tour.said[words][-600:] for words, code in tour.codes.items() if code and words not in FAILING}
    assert failed == {}


def test_nothing_in_the_working_folder_is_executed(tour: Tour) -> None:
    assert tour.executed == []


def test_one_module_starts_programs_by_their_absolute_path_and_with_a_listed_environment(tour: Tour) -> None:
    kinds = set()
    for one in tour.started:
        assert one["event"] == "subprocess.Popen", one
        assert any(file.endswith("/upskill/processes.py") for file in one["by"]), one
        program = Path(one["program"])
        assert program.is_absolute(), one
        assert not program.is_relative_to(tour.here), one
        assert one["environment"] is not None, one
        own = program == Path(COMMAND).parent / program.name and program.name.startswith("python")
        if own:
            assert one["words"][1] in ("-I", "-P"), one
        if "-m" not in one["words"]:  # upskill itself asks models
            assert CANARY not in str(one["environment"]), one
            assert not {name for name in one["environment"] if "KEY" in name or "TOKEN" in name}, one
        kinds.add("python" if own else program.name)
    expected = {"git", "opencode", "bwrap", *(["python"] if "sweep" in commands() else [])}  # a sweep's workers
    assert expected <= kinds | {Path(word).name for one in tour.started for word in one["words"]}


STARTERS = {"Popen", "check_call", "check_output", "getoutput", "getstatusoutput", "call", "create_subprocess_exec"} | {
    *(
        "create_subprocess_shell",
        "fork",
        "forkpty",
        "system",
        "popen",
        "posix_spawn",
        "posix_spawnp",
        "ProcessPoolExecutor",
    ),
    *(
        "execv",
        "execve",
        "execvp",
        "execvpe",
        "execl",
        "execlp",
        "execle",
        "spawnv",
        "spawnve",
        "startfile",
        "open_process",
    ),
    *("run_process",),
}
MODULES_THAT_START = {"multiprocessing", "pty", "webbrowser", "concurrent.futures.process"}
EXCEPTIONS = ("processes.py", "sandbox/init_process/", "agents/relay.py")


def _starts(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.Import(names=names):
                yield from (one.name for one in names if one.name in MODULES_THAT_START)
            case ast.ImportFrom(module=str(module), names=names):
                if module in MODULES_THAT_START:
                    yield module
                if module in ("subprocess", "os", "asyncio", "anyio", "concurrent.futures"):
                    yield from (one.name for one in names if one.name in {*STARTERS, "run"})
            case ast.Call(func=ast.Attribute(value=ast.Name(id="subprocess" | "os" | "asyncio" | "anyio"), attr=name)):
                if name in STARTERS or ast.unparse(node.func) == "subprocess.run":
                    yield name


def test_no_other_module_of_the_package_can_start_a_process() -> None:
    found = {}
    for path in sorted(SRC.rglob("*.py")):
        name = path.relative_to(SRC).as_posix()
        if not name.startswith(EXCEPTIONS) and "setup/example/" not in name and (starts := list(_starts(path))):
            found[name] = starts
    assert found == {}
    assert list(_starts(SRC / "processes.py")), "the search finds what there is"


@pytest.mark.skipif("sweep" not in commands(), reason="the feature was removed")
def test_workers_of_a_ray_cluster_import_nothing_of_the_working_folder(tmp_path: Path) -> None:
    tour = Tour(base=tmp_path / "tour")
    tour.prepare()
    (tour.here / "sweep.toml").write_text(MANIFEST)
    tour.type("sweep", "plan", "sweep.toml", "--at", "at")
    tour.type("sweep", "run", "at", "--ray", "local", "--yes")
    assert set(tour.codes.values()) == {0}, tour.said
    assert tour.executed == []
