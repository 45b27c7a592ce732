"""The escape suite: 44 attempts on a real sandbox, each in a fresh one, in the strict form.

Shipped, because a sandbox is shown to hold only where it was tried. Sends nothing and writes to a temporary folder.
"""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from upskill.sandbox.contract import Sandbox, SandboxGone, SandboxSpec
from upskill.sandbox.probes import files, host, kernel, limits, memory
from upskill.sandbox.probes.probe import Bait, Probe, ProbeOutcome, Scene

PROBES: tuple[Probe, ...] = tuple(
    sorted((*files.PROBES, *host.PROBES, *kernel.PROBES, *limits.PROBES, *memory.PROBES), key=lambda probe: probe.id)
)
QUICK = frozenset({1, 3, 4, 5, 6, 14, 33})
"""What is shown before every run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """What came of one probe."""

    id: int
    what: str
    held: bool
    saw: str


def run_probes(
    open_one: Callable[[SandboxSpec], Sandbox], *, only: Collection[int] | None = None, spec: SandboxSpec | None = None
) -> Iterator[Result]:
    """Each probe in a sandbox of its own, one after the other. Whatever opening one raises, this raises."""
    spec = spec or SandboxSpec()
    with Bait() as bait:
        for probe in _chosen(only):
            with open_one(spec) as sandbox:
                yield _attempt(probe, Scene(sandbox=sandbox, bait=bait, spec=spec, open_one=open_one))


def run_quick_probes(open_one: Callable[[SandboxSpec], Sandbox], *, python: str | None = None) -> list[Result]:
    """Those that leave nothing behind, all in one sandbox: what can be afforded before every run.

    `python` is the interpreter inside, where it is not that of this machine.
    """
    spec = SandboxSpec()
    with Bait() as bait, open_one(spec) as sandbox:
        scene = Scene(sandbox=sandbox, bait=bait, spec=spec, open_one=open_one, interpreter=python)
        return [_attempt(probe, scene) for probe in _chosen(QUICK)]


def _chosen(only: Collection[int] | None) -> list[Probe]:
    return [probe for probe in PROBES if only is None or probe.id in only]


def _attempt(probe: Probe, scene: Scene) -> Result:
    """A sandbox that broke under a probe has not held."""
    try:
        seen = probe.attempt(scene)
    except (SandboxGone, OSError, ValueError, IndexError) as error:
        seen = ProbeOutcome(held=False, saw=f"could not be tried: {type(error).__name__}: {error}")
    return Result(id=probe.id, what=probe.what, held=seen.held, saw=seen.saw)


__all__ = ["PROBES", "QUICK", "Bait", "Probe", "Result", "run_probes", "run_quick_probes"]
