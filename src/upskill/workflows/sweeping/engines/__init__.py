"""Engines run the assignments of a sweep, here or on a cluster. They know nothing of what a job measures.

Only `ray.py` imports Ray.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, Self

Task = Callable[[str], str]
"""Runs one assignment in the process that it is called in: a function of a module, which every worker can import."""
Take = Callable[[], tuple[str, str] | None]
"""Gives the next job's id and the text of its assignment, or `None` if none may start now."""
JOBS_PER_WORKER = 100
"""After so many a worker is replaced by a new process: to start one takes seconds, and an old one has grown."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Lost:
    """A worker died with a job: nobody knows how far it came."""

    why: str


class Engine(Protocol):
    """Runs assignments and hands out one end for each, in any order. It may run one twice.

    Open it first (`with`): until then it has no workers.
    """

    @property
    def workers(self) -> int:
        """How many assignments run at the same time."""
        ...

    def run(self, take: Take) -> Iterator[tuple[str, str | Lost]]:
        """The ends, each as soon as it is there: the job's id, with what the task returned or with `Lost`.

        `take` is asked again after each end. The iteration is over when nothing runs and `take` gives `None`.
        """
        ...

    def stop(self) -> None:
        """Take no more, and ask the workers to end in good order. A signal handler may call it; it returns at once."""
        ...

    def __enter__(self) -> Self: ...

    def __exit__(self, *error: object) -> None: ...
