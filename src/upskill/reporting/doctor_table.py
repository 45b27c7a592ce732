"""What `upskill doctor` found, for people and for programs."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from upskill.errors import UpskillError
from upskill.reporting.listings import print_table
from upskill.sandbox import SandboxFacts
from upskill.sandbox.probes import Result

SCHEMA = "upskill.doctor/1"
WITHOUT_GROUP = (
    "No control group (cgroup) is available here. Instead, a thread measures the memory of each sandbox every 0.2 s: "
    "processes, files and folders, socket buffers.",
    "Not limited this way: memory taken between two measurements; shared memory that a program frees except for one "
    "page; queued inotify events, up to 1 GB for all sandboxes of a user. Pipes, timers, locks and epoll can add a few "
    "hundred MB. If the machine runs out of memory, the kernel ends programs in sandboxes first.",
)
"""What a person without a control group should know. Named even when every probe held."""

OF_DOCKER = (
    "upskill was never run on a real docker engine, only on a stand-in for it; these are the quick probes only",
)
"""What a person who asks for containers should know. Named even when every probe held."""


def show_diagnosis(facts: SandboxFacts, results: tuple[Result, ...], *, by_root: bool, console: Console) -> None:
    """A row per probe, then what it comes to."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    table.add_column("", justify="right", no_wrap=True)
    table.add_column("a program tried to", overflow="fold", ratio=5)
    table.add_column("", no_wrap=True)
    table.add_column("seen", overflow="fold", ratio=4)
    for result in results:
        state = Text("held", style="green") if result.held else Text("BROKE", style="bold red")
        table.add_row(Text(str(result.id)), Text(result.what), state, Text(result.saw))
    print_table(table, console)
    console.print()
    for line in closing_lines(facts, results, by_root=by_root):
        console.print(Text(line))


def closing_lines(facts: SandboxFacts, results: tuple[Result, ...], *, by_root: bool) -> list[str]:
    """The important line last."""
    lines = [f"sandbox   {facts.backend} {facts.version}, profile {(facts.profile or '')[:19]}"]
    if by_root:
        lines.append("user      root; its privileges are dropped before each sandbox starts")
    if facts.memory_by == "cgroup":
        lines.append("memory    limited by a control group")
    else:
        lines += [f"memory    {WITHOUT_GROUP[0]}", *(f"          {line}" for line in WITHOUT_GROUP[1:])]
    if facts.backend == "docker":
        lines += [f"note      {line}" for line in OF_DOCKER]
    held = sum(result.held for result in results)
    broken = ", ".join(str(result.id) for result in results if not result.held)
    lines.append(f"{held} of {len(results)} probes held" + (f"; broken: {broken}" if broken else ""))
    return lines


def diagnosis_json(facts: SandboxFacts, results: tuple[Result, ...], *, kernel: str) -> dict[str, object]:
    """One object. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "sandbox": {
            "backend": facts.backend,
            "version": facts.version,
            "profile": facts.profile,
            "memory_by": facts.memory_by,
            "notes": [
                *(WITHOUT_GROUP if facts.memory_by == "watcher" else ()),
                *(OF_DOCKER if facts.backend == "docker" else ()),
            ],
            "probes": [
                {"id": result.id, "what": result.what, "held": result.held, "saw": result.saw} for result in results
            ],
        },
        "kernel": kernel,
    }


def refusal_json(error: UpskillError, *, kernel: str) -> dict[str, object]:
    """The same object where there is no sandbox."""
    return {
        "schema": SCHEMA,
        "sandbox": {"backend": None, "probes": [], "missing": error.message, "hint": error.hint},
        "kernel": kernel,
    }
