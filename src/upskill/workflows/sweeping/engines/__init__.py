"""Engines run the assignments of a sweep, here or on a cluster. They know nothing of what a job measures.

Only `ray.py` imports Ray.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A worker died with a job: nobody knows how far it came."""

    why: str


class Engine(Protocol):
    """Runs assignments and hands out one end for each, in any order. It may run one twice."""

    @property
    def workers(self) -> int:
        """How many assignments run at the same time."""
        ...

    def run(self, take: Callable[[], tuple[str, str] | None]) -> Iterator[tuple[str, str | Lost]]:
        """The ends, each as soon as it is there: the job's id, with what `run_attempt` returned or with `Lost`.

        `take` gives the next job's id and the text of its assignment, or `None` if none may start now; it is asked
        again after each end. The iteration is over when nothing runs and `take` gives `None`.
        """
        ...
