"""Asks a case writer outside of a run: metered, without secrets, and with what an interrupted command had bought."""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from upskill import storage
from upskill.domain import Cap
from upskill.domain.progress import Progress
from upskill.domain.text import count
from upskill.errors import EngineError, ProviderError, UsageError
from upskill.models import Ask, Endpoint, MeteredClient, NoAnswer, ServedModel, Teacher, probe
from upskill.models.endpoint import untyped_lines
from upskill.models.handoff import Side
from upskill.redaction import redactor_from
from upskill.settings import Settings
from upskill.storage.journal import answer_cache
from upskill.teaching.answers import TeacherUnusable
from upskill.workflows.evaluating.estimate import ASK_ABOVE_DOLLARS, Estimate
from upskill.workflows.evaluating.prepare import students_named
from upskill.workflows.evaluating.spending import PricedPlan
from upskill.workflows.generating.teachers import ask_function, case_writer_for
from upskill.workflows.handoff import asking_in, handoff_folder, handoff_for
from upskill.workflows.models import student_endpoint


@dataclass(frozen=True, kw_only=True, slots=True)
class Writer:
    """The model that writes, and what it is served with."""

    endpoint: Endpoint
    served: ServedModel
    chosen: bool
    """Whether it was chosen because its key is set, not named."""


def find_writer(settings: Settings, *, title: str, announce: Callable[[str], None], needs_key: bool) -> Writer:
    """The model that writes. Raises, before anything is spent, where it cannot be asked.

    `title` is what it is called in the line that `announce` gets, before anything is sent, where its server or alias
    was not typed. Without `needs_key` a missing key is no error: the plan is shown and not run.
    """
    endpoint = case_writer_for(settings, needs_key=needs_key)
    if endpoint.is_handoff:
        handoff_folder(endpoint, run=None)  # raises where none was named
    for line in untyped_lines(f"{title} is", [endpoint]):
        announce(line)
    return Writer(
        endpoint=endpoint,
        served=probe(endpoint, needs_key=needs_key),
        chosen=settings.teacher is None and settings.test_gen_model is None,
    )


def require_models(skill: Path, settings: Settings, *, what: str, hint: str, progress: Progress) -> None:
    """Raise unless there is a writer and every model to be measured answers: nothing is bought for one that does not.

    `what` is what the skill lacks, such as "cases"; `hint` is for who has no writer.
    """
    students = [student_endpoint(name, settings) for name in students_named(settings)]
    try:
        case_writer_for(settings)
    except (ProviderError, UsageError) as error:
        name = storage.read_skill(skill).name
        raise UsageError(
            f"{name}: there are no {what}, and no teacher to write them: {error.message}", hint=hint
        ) from None
    for line in untyped_lines("models are", students):
        progress.announce(line)
    for student in students:
        probe(student)


def announce_writing(
    writer: Writer, estimate: Estimate, *, what: str, progress: Progress, confirm: Callable[[PricedPlan], bool]
) -> None:
    """Say who writes what and at which price, and raise where a person does not agree to a high one."""
    why = " (the strongest with a key)" if writer.chosen else ""
    progress.note(f"{writer.endpoint.name}{why} writes {what}; {estimate.words}")
    if (estimate.price_at_most or 0.0) > ASK_ABOVE_DOLLARS and not confirm(estimate):
        raise UsageError("nothing was run, nothing was spent")


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterSession:
    """How the writer is asked, as long as the block lasts."""

    ask: Ask
    window: int | None
    """The writer's, in tokens."""


@contextmanager
def writer_session(
    writer: Writer,
    *,
    what: str,
    purpose: Mapping[str, str],
    client: MeteredClient,
    settings: Settings,
    progress: Progress,
) -> Iterator[WriterSession]:
    """Ask a writer. What an interrupted command with the same purpose had bought is not bought again.

    A writer that does not answer raises an error that says that no `what` was saved.
    """
    endpoint = writer.endpoint
    handoff = handoff_for(endpoint, run=None, report=progress.note)
    asked_in: list[tuple[Path, Side]] = [] if handoff is None else [(handoff.folder, "cases")]
    # Answers of a script cost nothing and are not cached.
    age = None if endpoint.is_scripted or not settings.store else timedelta(days=settings.store_days)
    with answer_cache(purpose, age_limit=age) as cache, asking_in(asked_in):
        if bought := len(cache.journal.all()):
            progress.note(f"{count(bought, 'answer')} of an interrupted run will be used again")
        teacher = Teacher(client, endpoint, window=writer.served.window, handoff=handoff)
        ask = ask_function(teacher, cache.journal, redactor_from(os.environ))
        try:
            yield WriterSession(ask=ask, window=teacher.window)
        except NoAnswer as error:
            raise _unanswered(error, endpoint, client.exhausted, what=what) from None
        except TeacherUnusable:
            cache.drop()  # else the same unusable answer would be found again
            raise
        cache.drop()  # what was written is saved


def _unanswered(error: NoAnswer, writer: Endpoint, cap: Cap | None, *, what: str) -> ProviderError | EngineError:
    if error.fault == "budget":
        dollars = cap is not None and cap.kind == "dollars"
        how = ", for example --max-cost 10" if dollars else "; `upskill settings` shows where it is set"
        return ProviderError(f"no {what} was saved: {error}", hint=f"raise the cap{how}")
    if error.fault == "crash":
        return EngineError(f"no {what} was saved: {error}")
    return ProviderError(f"no {what} was saved: {writer.name} did not answer: {error}")
