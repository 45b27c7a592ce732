"""Show on this machine what a sandbox holds: a real one is started and attacked in 44 ways."""

import os
import platform
from dataclasses import dataclass
from functools import partial

from upskill.domain.progress import SILENT, Progress
from upskill.sandbox import Backend, SandboxFacts, describe_sandbox, open_sandbox
from upskill.sandbox.probes import PROBES, Result, run_probes, run_quick_probes


@dataclass(frozen=True, kw_only=True, slots=True)
class Diagnosis:
    """The sandbox of this machine, and how each attack on it ended."""

    facts: SandboxFacts
    results: tuple[Result, ...]
    started_by_root: bool
    kernel: str

    @property
    def holds(self) -> bool:
        return all(result.held for result in self.results)


def examine(*, backend: Backend = "bubblewrap", progress: Progress = SILENT) -> Diagnosis:
    """Run the whole suite; with docker, the quick probes only. Raises `SandboxUnavailable` when there is nothing to
    attack."""
    facts = describe_sandbox(backend)
    results: list[Result] = []
    if backend == "docker":
        results += run_quick_probes(partial(open_sandbox, backend=backend), python="python3")
    for result in run_probes(open_sandbox) if backend == "bubblewrap" else ():
        results.append(result)
        progress.step("attacks tried", len(results), len(PROBES))
    return Diagnosis(facts=facts, results=tuple(results), started_by_root=os.geteuid() == 0, kernel=platform.release())
