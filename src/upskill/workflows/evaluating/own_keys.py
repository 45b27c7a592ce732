"""The user's own keys stay out of what a run keeps: a server can send them back, in an answer or in an error."""

import os
from collections.abc import Callable
from dataclasses import replace

from upskill import storage
from upskill.domain import Scored, Trial
from upskill.redaction import redactor_from
from upskill.storage import RunFolder

Clean = Callable[[str], str]


def without_own_keys(trial: Trial, clean: Clean) -> Trial:
    """The same trial with every text in it cleaned. Nothing else of it changes; the grade was given before."""
    outcome = trial.outcome
    if isinstance(outcome, Scored):
        results = tuple(replace(result, saw=clean(result.saw)) for result in outcome.grade.results)
        outcome = replace(outcome, grade=replace(outcome.grade, results=results))
    else:
        outcome = replace(outcome, message=clean(outcome.message))
    # Any bytes are some text in latin-1, and the same bytes again.
    files = {path: clean(data.decode("latin-1")).encode("latin-1", "replace") for path, data in trial.files.items()}
    served = None if trial.served_model is None else clean(trial.served_model)
    return replace(trial, outcome=outcome, answer=clean(trial.answer), files=files, served_model=served)


def clean_logs(folder: RunFolder) -> tuple[str, ...]:
    """Take them out of the engine's logs, which it writes by itself. A note for each log that cannot be read."""
    redactor = redactor_from(os.environ)
    return storage.clean_logs(folder.logs, redactor.clean_own) if redactor.knows_any else ()
