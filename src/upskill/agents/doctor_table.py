"""What `upskill doctor --harness` found, for people and for programs."""

import platform
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.agents.escape_attempts import AttemptResult
from upskill.errors import EXIT_DONE, EXIT_NOT_SHOWN
from upskill.report.console import print_table
from upskill.sandbox import SandboxFacts
from upskill.terminal.display import StepProgress
from upskill.terminal.output import console as make_console
from upskill.terminal.output import print_json

SCHEMA = "upskill.doctor/1"

MOST_FILES = 8
"""So many files outside of the workspace are named; the rest are counted."""


@dataclass(frozen=True, kw_only=True, slots=True)
class AgentDiagnosis:
    """One coding agent on this machine: a scripted model made it load a skill, run a command, and finish."""

    harness: str
    path: str
    version: str
    known: bool
    """Whether the adapter was measured with this version."""
    requests: int
    """Model requests that the agent sent."""
    listed: bool
    loaded_turn: int | None
    """The turn after which the skill had been loaded; `None` where it was not."""
    wrote_file: bool
    finished: bool
    """Whether the model's last words became the answer."""
    outside: tuple[str, ...]
    """Addresses that the agent tried to reach, all refused."""
    home_files: tuple[str, ...]
    """Files that it wrote outside of the workspace; they are gone with the sandbox."""
    attempts: tuple[AttemptResult, ...]
    seconds: float
    faults: tuple[str, ...] = ()
    """What went wrong with a trial as a whole, in words."""

    @property
    def problems(self) -> tuple[str, ...]:
        """Everything that keeps this agent from being measured, in words; empty where it may be."""
        steps = (
            (self.listed, "the skill was not listed"),
            (self.loaded_turn is not None, "the skill was not loaded"),
            (self.wrote_file, "the command did not write its file in the workspace"),
            (self.finished, "the last words of the model did not become the answer"),
        )
        missing = [words for reached, words in steps if not reached]
        broken = [f"an attempt from inside succeeded: {one.what} ({one.saw})" for one in self.attempts if not one.held]
        return (*self.faults, *missing, *broken)

    @property
    def ok(self) -> bool:
        return not self.problems


def examine_agent(harness: str, agent_bin: Path | None, *, as_json: bool) -> int:
    """Run a coding agent in the sandbox, print what it did and return the exit code."""
    from upskill.agents.doctor import examine_installed

    with StepProgress() as steps:
        found, facts = examine_installed(harness, agent_bin=agent_bin, progress=steps)
    if as_json:
        print_json(agent_json(found, facts, kernel=platform.release()))
    else:
        show_agent(found, facts, console=make_console())
    return EXIT_DONE if found.ok else EXIT_NOT_SHOWN


def show_agent(found: AgentDiagnosis, facts: SandboxFacts, *, console: Console) -> None:
    """Which agent it is, a row per attempt, what it did, and ok or not."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("a program in the agent tried to", overflow="fold", ratio=5)
    table.add_column("", no_wrap=True)
    table.add_column("seen", overflow="fold", ratio=3)
    for number, one in enumerate(found.attempts, 1):
        state = Text("held", style="green") if one.held else Text("BROKE", style="bold red")
        table.add_row(Text(str(number)), Text(one.what), state, Text(one.saw))
    print_table(table, console)
    console.print()
    for line in agent_lines(found, facts):
        console.print(Text(line))


def agent_lines(found: AgentDiagnosis, facts: SandboxFacts) -> list[str]:
    """The important line last."""
    tested = (
        "tested with upskill" if found.known else "not tested with upskill: this check decides whether it can measure"
    )
    lines = [
        f"agent     {found.harness}, {found.path}",
        f"version   {found.version}, {tested}",
        f"sandbox   {facts.backend} {facts.version or ''}".rstrip(),
        f"requests  {found.requests} to the model; {_steps(found)}",
        f"outside   {_outside(found)}",
        f"files     {_files(found)}",
        f"time      {found.seconds:.1f} s",
    ]
    held = sum(one.held for one in found.attempts)
    lines.append(f"{held} of {len(found.attempts)} attempts to get out or to forge a result held")
    lines += [f"problem: {problem}" for problem in found.problems]
    lines.append(f"{found.harness} {found.version}: {'ok' if found.ok else 'not ok'}")
    return lines


def _steps(found: AgentDiagnosis) -> str:
    loaded = "not loaded" if found.loaded_turn is None else f"loaded after turn {found.loaded_turn}"
    return ", ".join(
        (
            "skill listed" if found.listed else "skill not listed",
            f"skill {loaded}",
            "file written" if found.wrote_file else "file not written",
            "finished" if found.finished else "not finished",
        )
    )


def _outside(found: AgentDiagnosis) -> str:
    if not found.outside:
        return "it tried to reach nothing"
    return f"it tried to reach {', '.join(found.outside)}; refused"


def _files(found: AgentDiagnosis) -> str:
    paths = found.home_files
    if not paths:
        return "none outside of the workspace"
    folders = dict.fromkeys("/".join(path.split("/")[:4]) for path in paths)
    named = ", ".join(list(folders)[:MOST_FILES])
    return f"{len(paths)} outside of the workspace, gone with the sandbox: {named}"


def agent_json(found: AgentDiagnosis, facts: SandboxFacts, *, kernel: str) -> dict[str, object]:
    """One object. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "sandbox": {
            "backend": facts.backend,
            "version": facts.version,
            "profile": facts.profile,
            "memory_by": facts.memory_by,
        },
        "agent": {
            "harness": found.harness,
            "path": found.path,
            "version": found.version,
            "known": found.known,
            "ok": found.ok,
            "problems": list(found.problems),
            "requests": found.requests,
            "listed": found.listed,
            "loaded_turn": found.loaded_turn,
            "wrote_file": found.wrote_file,
            "finished": found.finished,
            "outside": list(found.outside),
            "home_files": list(found.home_files),
            "attempts": [
                {"name": one.name, "what": one.what, "held": one.held, "saw": one.saw} for one in found.attempts
            ],
            "seconds": round(found.seconds, 1),
        },
        "kernel": kernel,
    }
