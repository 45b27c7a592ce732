"""How a command asks by hand-off: in which folder, as the only one there, and by which rules answers are taken."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from upskill.core.models import Endpoint, Handoff, HandoffOpen
from upskill.core.models.handoff import Side, State, make_side, prepare_side, write_state
from upskill.core.models.teacher_answers import UnusableAnswer, value_in
from upskill.core.nouns.answer_schemas import without_thinking
from upskill.core.runs.run_folders import only_one_in
from upskill.errors import UsageError

CloseSide = Callable[[Side, str], None]
"""Tells a side of a hand-off that it is done, and what came of it."""


def form_problems(text: str, schema: Mapping[str, Any] | None) -> Sequence[str]:
    """Everything that is wrong with the form of an answer, by the rules by which teachers' answers are read."""
    if schema is None:
        return () if without_thinking(text) else ("it is empty",)
    try:
        value_in(text, schema)
    except UnusableAnswer as unusable:
        return unusable.problems
    return ()


def handoff_for(
    endpoint: Endpoint,
    *,
    run: Path | None,
    wait: bool = True,
    report: Callable[[str], None] = lambda _: None,
    count: Callable[[str], int] | None = None,
) -> Handoff | None:
    """Where a teacher is asked by hand-off; `None` for a model. Raises `UsageError` where no folder is known."""
    if not endpoint.is_handoff:
        return None
    folder = handoff_folder(endpoint, run=run)
    return Handoff(folder=folder, problems=form_problems, wait=wait, report=report, count=count)


def handoff_folder(endpoint: Endpoint, *, run: Path | None) -> Path:
    """The folder that was named, or `handoff` in the run folder."""
    if endpoint.folder is not None:
        return Path(endpoint.folder)
    if run is None:
        raise UsageError(
            "handoff: this command has no run folder for the questions",
            hint="name a folder: --model handoff/DIR",
        )
    return run / "handoff"


@contextmanager
def asking_in(sides: Sequence[tuple[Path, Side]]) -> Iterator[CloseSide]:
    """Asks in these folders as the only one, and leaves word in each whether more will be asked.

    Yields what tells a side that nothing more will be asked of it, and what came of it.
    """
    with ExitStack() as stack:
        paths: dict[Side, list[Path]] = {}
        closed: set[Path] = set()
        for folder, side in sides:
            stack.enter_context(only_one_in(make_side(folder, side)))
            paths.setdefault(side, []).append(prepare_side(folder, side))

        def close(side: Side, outcome: str) -> None:
            for path in paths.get(side, ()):
                closed.add(path)
                write_state(path, "finished", outcome)

        state: State = "stopped"
        try:
            yield close
            state = "finished"
        except HandoffOpen:
            state = "waiting"
            raise
        finally:
            with suppress(OSError):  # where a disk is full, what happened matters more
                for path in (path for mine in paths.values() for path in mine if path not in closed):
                    write_state(path, state)
