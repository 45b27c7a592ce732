"""Finds the coding agent that a person has installed. Never takes one from the folder that is worked in."""

import os
import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path

from upskill import processes
from upskill.domain import harness_info
from upskill.errors import UsageError
from upskill.trials.coding_agents.adapter import AgentAdapter, AgentProgram

VERSION_SECONDS = 120


def find_agent(adapter: AgentAdapter, *, named: Path | None = None) -> AgentProgram:
    """The agent that `--agent-bin` names, or the one on the search path. Raises `UsageError`."""
    if named is not None:
        if not named.is_file():
            raise UsageError(f"--agent-bin {named}: there is no such file")
        return adapter.program(named.absolute())
    info = harness_info(adapter.name)
    found = processes.find_program(info.program)
    if found is None:
        raise UsageError(
            f"the harness {adapter.name} needs the program `{info.program}`, which is not installed",
            hint=f"install it with `npm install -g {info.package}`, or name it with --agent-bin PATH",
        )
    return adapter.program(Path(found))


@cache
def version_of(program: Path) -> str:
    """The version that a program reports, asked once per process. Raises `UsageError` where it reports none."""
    try:
        # It runs outside of any sandbox: without keys, and where it finds no configuration of a project or a person.
        with tempfile.TemporaryDirectory(prefix="upskill-version-", ignore_cleanup_errors=True) as home:
            variables = {"PATH": os.defpath, "HOME": home, "LANG": "C.UTF-8"}
            ran = processes.run(
                "agent_version", [program, "--version"], cwd=home, seconds=VERSION_SECONDS, variables=variables
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UsageError(f"{program}: cannot be run ({error})") from None
    found = re.search(r"\d+\.\d+[\w.+-]*", ran.stdout.decode("utf-8", "replace"))
    if ran.returncode != 0 or found is None:
        raise UsageError(f"{program}: did not report its version")
    return found.group()
