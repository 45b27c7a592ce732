"""The escape suite: 44 attempts on a real sandbox, each in a fresh one, in the strict form."""

from collections.abc import Callable, Collection, Iterator, Sequence

from sandbox.escapes import files, host, kernel, limits, memory
from upskill.sandbox import Sandbox, SandboxSpec, profile
from upskill.sandbox.probes import QUICK, Bait, Probe, Result, Scene, attempt

_SLOW = (*files.PROBES, *host.PROBES, *kernel.PROBES, *limits.PROBES, *memory.PROBES)
PROBES: tuple[Probe, ...] = tuple(sorted((*QUICK, *_SLOW), key=lambda probe: probe.id))
OF_A_GROUP = frozenset({20, 38, 39, 40, 41})
"""Probes of the memory of a whole sandbox, which only a control group bounds."""


def run_probes(
    open_one: Callable[[SandboxSpec], Sandbox], *, only: Collection[int] | None = None, first: Sequence[str] = ()
) -> Iterator[Result]:
    """Each probe, or only some, in a sandbox of its own, one after the other. `first` is the command of process 1."""
    first = first or profile.command(profile.find_interpreter())
    spec = SandboxSpec()
    with Bait() as bait:
        for probe in PROBES:
            if only is None or probe.id in only:
                with open_one(spec) as sandbox:
                    yield attempt(probe, Scene(sandbox=sandbox, bait=bait, spec=spec, open_one=open_one, first=first))
