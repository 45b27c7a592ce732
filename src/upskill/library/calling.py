"""How every function of the library calls its workflow: arguments become values, and an event loop may be running."""

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar, get_args

from upskill.core.nouns.skill import Among, read_among
from upskill.core.progress import RunProgress
from upskill.core.settings import ResolvedSettings, resolve_settings
from upskill.core.skills.git_version import GIT_PREFIX
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.order import Previous, read_compare
from upskill.interruption import beside_event_loops, raise_if_interrupted
from upskill.redaction import redactor_from
from upskill.sandbox import Backend

T = TypeVar("T")
PathLike = str | os.PathLike[str]
OtherSkillsLike = PathLike | int
"""A folder of skills, a number of those that ship with upskill, or `bundled`."""
_one_at_a_time = threading.Lock()
"""The engine runs once per process. Another call waits for it."""


class Interruptible(RunProgress):
    """Shows nothing but who is asked. Where much is done before the first call, lets an interrupt through."""

    def announce(self, line: str) -> None:
        """Warn: a file or a variable decides where requests go. Not logged, as the engine silences the root logger."""
        warnings.warn(line, UserWarning, stacklevel=2)

    def step(self, what: str, done: int, of: int | None) -> None:
        """Called for every case or answer."""
        raise_if_interrupted()


def refuse_price(price: str) -> bool:
    """Raise `UsageError`: nobody is asked here, so a high price must be agreed to beforehand."""
    raise UsageError(f"{price}. Nothing was run: pass yes=True to run it")


def backend_of(sandbox: Backend) -> Backend:
    """The same. Raises `UsageError` where there is no such backend."""
    if sandbox not in get_args(Backend):
        raise UsageError(f"sandbox must be {' or '.join(get_args(Backend))}, not {sandbox!r}")
    return sandbox


def previous_of(previous: PathLike | None) -> Previous:
    """A text that begins with `git:` is a revision; a path never is, whatever it is called."""
    if isinstance(previous, str) and previous.startswith(GIT_PREFIX):
        return read_compare(previous)
    return Previous(folder=None if previous is None else Path(previous))


def among_of(among: OtherSkillsLike | Sequence[OtherSkillsLike]) -> Among:
    """The other skills, which may be given one by one."""
    return read_among(among_words(among))


def among_words(among: OtherSkillsLike | Sequence[OtherSkillsLike]) -> tuple[str, ...]:
    """The other skills as they would be typed. A path is never taken for a number, whatever it is called."""
    given = [among] if isinstance(among, str | int | os.PathLike) else among
    return tuple(str(Path.cwd() / one) if isinstance(one, os.PathLike) else str(one) for one in given)


def resolved(function: str, settings: dict[str, object], *, models: str | Sequence[str] = ()) -> ResolvedSettings:
    """All settings; those that were given have the function as their origin."""
    given = {"models": (models,) if isinstance(models, str) else tuple(models), **settings}
    return resolve_settings(given, typed=dict.fromkeys(given, function))


def call(work: Callable[[], T]) -> T:
    """Do the work, with an event loop running here or not. Errors show their hints, and no key of the user."""

    def alone() -> T:
        with _one_at_a_time:
            raise_if_interrupted()  # while it waited for another call
            return work()

    try:
        return beside_event_loops(alone)
    except UpskillError as error:
        clean = redactor_from(os.environ).clean_own
        error.message, error.problems = clean(error.message), tuple(map(clean, error.problems))
        error.args = (error.message,)
        if error.hint is not None:
            error.hint = clean(error.hint)
            error.add_note(f"hint: {error.hint}")
        raise
