"""Where a sandbox comes from. Fails closed: nothing here falls back to less than what was asked for."""

from pathlib import Path
from typing import assert_never

from upskill.sandbox.place import Backend, Furnishing, Sandbox, SandboxFacts, SandboxUnavailable


def open_sandbox(
    furnishing: Furnishing | None = None, *, backend: Backend = "bubblewrap", scratch: Path | None = None
) -> Sandbox:
    """A new sandbox. Raises `SandboxUnavailable`. `scratch` is a folder for the backend `none`, which needs one."""
    furnishing = furnishing or Furnishing()
    if backend == "bubblewrap":
        from upskill.sandbox.bubblewrap import open_bubblewrap

        return open_bubblewrap(furnishing)
    if backend == "none":
        from upskill.sandbox.unconfined import open_unconfined

        if scratch is None:
            raise SandboxUnavailable("no sandbox: without confinement, programs need a folder of the run to work in")
        return open_unconfined(furnishing, scratch)
    assert_never(backend)


def require_sandbox(backend: Backend = "bubblewrap") -> SandboxFacts:
    """Show by a real one that a sandbox holds here, before anything is bought. Raises `SandboxUnavailable`."""
    if backend == "none":
        return SandboxFacts(backend="none", version=None, profile=None, memory_by="watcher", probes=())
    with open_sandbox(backend=backend) as sandbox:
        sandbox.run(["true"], seconds=10)
    return SandboxFacts(backend=backend, version=None, profile=None, memory_by="watcher", probes=())
