"""What confines whatever is executed in a run: asked for once, recorded, and kept when the run is taken up again."""

from dataclasses import asdict
from functools import partial
from pathlib import Path

from pydantic import JsonValue

from upskill.checks import GradingContext
from upskill.sandbox import Backend, Sandbox, SandboxFacts, SandboxSpec, SandboxUnavailable, open_sandbox
from upskill.storage import RunRecord


def grading_context_for(sandbox: SandboxFacts | None, scratch: Path) -> GradingContext:
    """The grading context: with sandboxes where something is executed, without them elsewhere."""
    if sandbox is None:
        return GradingContext()
    return GradingContext(open_sandbox=partial(open_sandbox, backend=sandbox.backend, scratch=scratch))


def no_sandbox(spec: SandboxSpec) -> Sandbox:  # noqa: ARG001 - the signature of whoever opens one
    """Where nothing was to be executed, nothing is."""
    raise SandboxUnavailable("this run was prepared without a sandbox, so nothing is executed in it")


def recorded(sandbox: SandboxFacts | None) -> dict[str, JsonValue] | None:
    """As a run records it."""
    if sandbox is None:
        return None
    return {**asdict(sandbox), "probes": list(sandbox.probes)}


def recorded_backend(record: RunRecord) -> Backend:
    """What confined a run. Only somebody who typed it can have asked for nothing."""
    return "none" if record.sandbox is not None and record.sandbox.get("backend") == "none" else "bubblewrap"


def unconfined_notes(backend: Backend | None) -> tuple[str, ...]:
    """What every report of a run says where nothing was confined."""
    if backend != "none":
        return ()
    return ("NOTHING WAS CONFINED: what models wrote ran on this machine with your rights (--sandbox none)",)
