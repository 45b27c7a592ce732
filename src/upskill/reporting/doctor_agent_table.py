"""What `upskill doctor --harness` found, for people and for programs."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.domain.agent_diagnosis import AgentDiagnosis
from upskill.reporting.doctor_table import SCHEMA
from upskill.reporting.listings import print_table
from upskill.sandbox import SandboxFacts

MOST_FILES = 8
"""So many files outside of the workspace are named; the rest are counted."""


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
