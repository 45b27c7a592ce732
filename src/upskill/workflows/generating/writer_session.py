"""Asks a case writer outside of a run: metered, without secrets, and with what an interrupted command had bought."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from upskill.domain.progress import Progress
from upskill.domain.text import count
from upskill.models import Ask, Endpoint, MeteredClient, ServedModel, Teacher
from upskill.models.handoff import Side
from upskill.redaction import redactor_from
from upskill.settings import Settings
from upskill.storage.journal import AnswerCache, answer_cache
from upskill.workflows.generating.teachers import ask_function
from upskill.workflows.handoff import asking_in, handoff_for


@dataclass(frozen=True, kw_only=True, slots=True)
class WriterSession:
    """How the writer is asked, as long as the block lasts."""

    ask: Ask
    window: int | None
    """The writer's, in tokens."""
    cache: AnswerCache
    """To be dropped once what was written is saved, or cannot be used."""


@contextmanager
def writer_session(
    writer: Endpoint,
    served: ServedModel,
    *,
    purpose: Mapping[str, str],
    client: MeteredClient,
    settings: Settings,
    progress: Progress,
) -> Iterator[WriterSession]:
    """Ask a writer. What an interrupted command with the same purpose had bought is not bought again."""
    handoff = handoff_for(writer, run=None, report=progress.note)
    asked_in: list[tuple[Path, Side]] = [] if handoff is None else [(handoff.folder, "cases")]
    # Answers of a script cost nothing and are not cached.
    age = None if writer.is_scripted or not settings.store else timedelta(days=settings.store_days)
    with answer_cache(purpose, age_limit=age) as cache, asking_in(asked_in):
        if bought := len(cache.journal.all()):
            progress.note(f"{count(bought, 'answer')} of an interrupted run will be used again")
        teacher = Teacher(client, writer, window=served.window, handoff=handoff)
        ask = ask_function(teacher, cache.journal, redactor_from(os.environ))
        yield WriterSession(ask=ask, window=teacher.window, cache=cache)
