"""`upskill doctor`: does a sandbox hold here, can a coding agent be measured in it, what does a server have?"""

import json
import os
import platform
import re
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Protocol

import click
from rich.console import Console
from rich.text import Text

from upskill import plugin
from upskill.errors import EXIT_DONE, EXIT_FAILED, UpskillError, UsageError
from upskill.plugin import Offer
from upskill.report.console import show_probes
from upskill.sandbox import ENGINES, Backend, SandboxFacts, SandboxUnavailable, describe_sandbox, open_sandbox
from upskill.sandbox.probes import Result, run_quick_probes
from upskill.terminal import options
from upskill.terminal.output import console, print_json, print_lines

SCHEMA = "upskill.doctor/1"
WITHOUT_GROUP = (
    "No control group (cgroup) is available here: memory is limited for each process of a sandbox, not for all "
    "together. If the machine runs out of it, the kernel ends programs in sandboxes first."
)
"""What a person without a control group should know. Named even when every probe held."""

CONFINING: tuple[Backend, ...] = ("bubblewrap", *ENGINES)
OF_CONTAINERS = (
    "Programs share the kernel of the engine's machine, and the engine itself can do everything on it; an engine that "
    "runs as root gives programs the user 1000 of that machine, without a user namespace.",
)
"""What a person who asks for containers should know. Named even when every probe held."""

_LISTED = re.compile(r"[\w./~][\w./:@+~=,() -]{0,199}", re.ASCII)
"""A name that a server may choose for the person."""


class ExamineAgent(Protocol):
    """Runs a coding agent in the sandbox, prints what it did, and gives the exit code."""

    def __call__(self, harness: str, agent_bin: Path | None, *, backend: Backend, as_json: bool) -> int: ...


EXAMINE_AGENT: Offer[ExamineAgent] = Offer("examine a coding agent")


@click.command("doctor")
@click.option(
    "--harness",
    type=click.Choice([*plugin.names("harnesses")]),
    help="Examine this coding agent instead: a scripted model makes it load a skill, run a command and try to escape.",
)
@click.option(
    "--sandbox",
    type=click.Choice(CONFINING),
    default="bubblewrap",
    help="Which sandbox.  [default: bubblewrap]",
)
@click.option("--base-url", metavar="URL", help="Examine this server instead: its models, slots and window.")
@click.option("-m", "--model", metavar="NAME", help="With --base-url: this model.  [default: the first that is listed]")
@click.option("--write", is_flag=True, help="With --base-url: write the server and the model to a new upskill.toml.")
@options.JSON
def command(
    harness: str | None, sandbox: Backend, base_url: str | None, model: str | None, write: bool, as_json: bool
) -> int:
    """Start a real sandbox and attack it in 7 ways. Exits with 3 if there is no sandbox, or if an attack succeeds.

    With --harness, run a coding agent in the sandbox and see that it can be measured. Exits with 1 if it cannot.
    Neither calls a model, sends anything or leaves anything behind. Takes a second; with --harness half a minute.

    With --base-url, ask a model server what it has, and show how it would be measured. Exits with 2 or 3, and the
    cause, if it cannot be. A name that the server does not list is tried with one short request.
    """
    if base_url is not None:
        return _examine_server(base_url, model, write=write, as_json=as_json)
    if model is not None or write:
        raise UsageError("--model and --write are about a server", hint="add --base-url URL")
    if harness is not None:
        chosen = options.resolved({"harness": harness}, uses=["agent_bin"]).values
        return EXAMINE_AGENT.load()(harness, options.agent_program(chosen), backend=sandbox, as_json=as_json)
    return _examine_sandbox(sandbox, as_json=as_json)


def _examine_server(base_url: str, name: str | None, *, write: bool, as_json: bool) -> int:
    from upskill.core.models.endpoint import student_endpoint
    from upskill.core.models.preflight import fitted, probe
    from upskill.core.nouns.text import count, on_one_line
    from upskill.core.settings import PROJECT_FILE, Settings, user_settings_folder, without_secrets
    from upskill.core.settings.trust import trust_own
    from upskill.setup.init_command import write_new_files

    wait = partial(print_lines, err=True)
    settings = replace(Settings(), base_url=base_url)
    began = time.monotonic()
    if name is None:
        listed = probe(student_endpoint("any", settings), needs_key=False, announce=wait).offers
        if not listed:
            raise UsageError(f"{base_url}: the server lists no model", hint="name one with -m NAME")
        name = listed[0]
        if not _LISTED.fullmatch(name):
            raise UsageError(
                on_one_line(f"{base_url}: the server lists {name!r}, which is no name of a model"),
                hint="name one with -m NAME",
            )
    endpoint = student_endpoint(name, settings)
    if not endpoint.is_custom or not name.isprintable():
        raise UsageError(on_one_line(f"{base_url}: {name!r} is no model of a server"), hint="name one with -m NAME")
    served = probe(endpoint, announce=wait)
    took = time.monotonic() - began
    base_url = without_secrets(base_url)
    fit, _ = fitted(settings, [served], unchosen=("concurrency", "max_output_tokens"))
    if write:
        written = {"base_url": base_url, "models": [name]}
        # Of printable text, JSON without escapes for other alphabets is TOML; with them, an emoji is two halves.
        lines = [f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in written.items()]
        if Path(PROJECT_FILE).exists():
            raise UsageError(f"{PROJECT_FILE} exists and was not changed; add to it:", problems=lines)
        write_new_files(Path(), {PROJECT_FILE: "".join(f"{line}\n" for line in lines)})
        trust_own(Path(PROJECT_FILE), user_settings_folder())  # the person who typed the address had it written
    if as_json:
        server = {"base_url": base_url, "model": name, "offers": list(served.offers), "slots": served.slots}
        server |= {"window": served.window, "concurrency": fit.concurrency, "max_output_tokens": fit.max_output_tokens}
        print_json({"schema": SCHEMA, "server": {**server, "written": PROJECT_FILE if write else None}})
        return EXIT_DONE
    others = [one for one in served.offers if one != name]
    window = "unknown" if served.window is None else f"{served.window:,} tokens for question, skill and answer"
    slots = "how many answers at once is unknown" if served.slots is None else f"{count(served.slots, 'slot')}"
    print_lines(
        f"server    {base_url}, answers in {took:.1f} s",
        f"model     {name}" + ("" if name in served.offers else ", which it does not list but answers to"),
        *([f"others    {', '.join(others[:8])}" + (" …" if len(others) > 8 else "")] if others else []),
        f"slots     {slots}; upskill asks for {fit.concurrency} at a time",
        f"window    {window}; answers are cut at {fit.max_output_tokens:,}",
    )
    typed = "" if write else f" -m {quote(name)} --base-url {quote(base_url)}"
    print_lines(*([f"wrote     {PROJECT_FILE}"] if write else []), f"next      upskill eval SKILL{typed}")
    return EXIT_DONE


def _examine_sandbox(backend: Backend, *, as_json: bool) -> int:
    found = find_sandboxes()
    try:
        facts = describe_sandbox(backend)
        results = run_quick_probes(partial(open_sandbox, backend=backend))
    except SandboxUnavailable as error:
        if as_json:
            print_json({**refusal_json(error, kernel=platform.release()), "sandboxes": found})
        else:
            print_lines(*sandbox_lines(found), err=True)
        raise
    if as_json:
        print_json({**diagnosis_json(facts, results, kernel=platform.release()), "sandboxes": found})
    else:
        print_lines(*sandbox_lines(found), "")
        show_diagnosis(facts, results, by_root=os.geteuid() == 0, console=console())
    return EXIT_DONE if all(result.held for result in results) else EXIT_FAILED


def find_sandboxes() -> list[dict[str, str | None]]:
    """What could confine programs on this machine, in the order in which it is to be preferred. Starts no sandbox."""
    found: list[dict[str, str | None]] = []
    for backend in CONFINING:
        try:
            facts = describe_sandbox(backend)
            found.append({"backend": backend, "version": facts.version, "missing": None, "hint": None})
        except SandboxUnavailable as error:
            missing = error.message.removeprefix("no sandbox: ")
            found.append({"backend": backend, "version": None, "missing": missing, "hint": error.hint})
    return found


def sandbox_lines(found: Sequence[Mapping[str, str | None]]) -> list[str]:
    """A line for each, with what will work in it."""
    lines = []
    for one in found:
        backend, agents = one["backend"], "" if sys.platform != "linux" else ", coding agents"
        says = f"{one['version']}: models with tools{agents}, checks that run commands; --sandbox {backend}"
        if one["version"] is None:
            says = f"not here: {one['missing']}; {one['hint']}"
        lines.append(f"{backend:<10} {says}")
    return lines


def show_diagnosis(facts: SandboxFacts, results: Sequence[Result], *, by_root: bool, console: Console) -> None:
    """A row per probe, then what it comes to."""
    show_probes("a program tried to", [(one.id, one.what, one.held, one.saw) for one in results], console)
    console.print()
    for line in closing_lines(facts, results, by_root=by_root):
        console.print(Text(line))


def closing_lines(facts: SandboxFacts, results: Sequence[Result], *, by_root: bool) -> list[str]:
    """The important line last."""
    lines = [f"sandbox   {facts.backend} {facts.version}, profile {(facts.profile or '')[:19]}"]
    if by_root and facts.backend == "bubblewrap":
        lines.append("user      root; its privileges are dropped before each sandbox starts")
    if facts.memory_by == "cgroup":
        lines.append("memory    limited by a control group")
    else:
        lines.append(f"memory    {WITHOUT_GROUP}")
    if facts.backend in ENGINES:
        lines += [f"note      {line}" for line in OF_CONTAINERS]
    held = sum(result.held for result in results)
    broken = ", ".join(str(result.id) for result in results if not result.held)
    lines.append(f"{held} of {len(results)} probes held" + (f"; broken: {broken}" if broken else ""))
    return lines


def diagnosis_json(facts: SandboxFacts, results: Sequence[Result], *, kernel: str) -> dict[str, object]:
    """One object. Keys are a promise: added, never changed."""
    return {
        "schema": SCHEMA,
        "sandbox": {
            "backend": facts.backend,
            "version": facts.version,
            "profile": facts.profile,
            "memory_by": facts.memory_by,
            "notes": [
                *([WITHOUT_GROUP] if facts.memory_by == "process" else ()),
                *(OF_CONTAINERS if facts.backend in ENGINES else ()),
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
