"""Where a sandbox comes from. Fails closed: nothing here falls back to less than what was asked for."""

from pathlib import Path

from upskill.sandbox.place import Backend, Furnishing, Sandbox, SandboxFacts


def open_sandbox(
    furnishing: Furnishing | None = None,
    *,
    backend: Backend = "bubblewrap",
    scratch: Path | None = None,  # noqa: ARG001
) -> Sandbox:
    """A new sandbox. Raises `SandboxUnavailable`. `scratch` is a folder for the backend `none`, which has no other."""
    from upskill.sandbox.bubblewrap import Bubblewrap

    furnishing = furnishing or Furnishing()
    if backend == "none":
        raise NotImplementedError
    return Bubblewrap(furnishing)


def require_sandbox(backend: Backend = "bubblewrap") -> SandboxFacts:
    """Show by a real one that a sandbox holds here, before anything is bought. Raises `SandboxUnavailable`."""
    with open_sandbox(backend=backend) as sandbox:
        sandbox.run(["true"], seconds=10)
    return SandboxFacts(backend=backend, version=None, profile=None, memory_by="watcher", probes=())
