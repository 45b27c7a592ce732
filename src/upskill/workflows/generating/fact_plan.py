"""The plan of facts of a `generate`: asked of the case writer, or read from a file that a person edited."""

import os
from dataclasses import replace
from pathlib import Path

from upskill.domain.progress import Progress
from upskill.domain.student_profile import StudentProfile
from upskill.errors import EXIT_DONE, UpskillError, UsageError
from upskill.models import Ask
from upskill.redaction import redactor_from
from upskill.storage.records import keep_text
from upskill.storage.teaching_runs import TeachingFolder
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.case_split import CaseCounts
from upskill.teaching.fact_plan import FactPlan, plan_text, read_plan
from upskill.teaching.fact_questions import plan_facts
from upskill.teaching.material import Material

PLAN_FILE = "plan.json"


class PlanWritten(UpskillError):
    """The plan was written to the file that a person named, to be edited; nothing else was asked for."""

    exit_code = EXIT_DONE


def read_plan_file(path: str, material: Material, counts: CaseCounts) -> FactPlan | None:
    """The plan in a file, without secrets; `None` where there is none yet. Raises `UsageError` where it cannot be used,
    or could not be written."""
    try:
        plan = read_plan(Path(path).read_bytes(), material, counts, where=path)
    except FileNotFoundError:
        if not os.access(Path(path).parent, os.W_OK | os.X_OK):
            raise UsageError(
                f"{path}: cannot be written", hint="name a file in a folder that you can write to"
            ) from None
        return None
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror})") from error
    clean = redactor_from(os.environ).clean
    return FactPlan(facts=tuple(replace(fact, text=clean(fact.text)) for fact in plan.facts))


def plan_of_run(
    folder: TeachingFolder,
    file: str | None,
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts,
    window: int | None,
    profile: StudentProfile | None,
    progress: Progress,
) -> FactPlan | None:
    """The plan that a run has, else that of the file, else a new one; `None`, with a note, where there is none.

    Raises `PlanWritten` where a file is named and does not exist: the plan is in it now.
    """
    saved = folder.saved(PLAN_FILE)
    if saved is not None:
        return read_plan(saved, material, counts, where=str(folder.path / PLAN_FILE))
    plan = None if file is None else read_plan_file(file, material, counts)
    if plan is None:
        plan = new_plan(material, ask, counts=counts, window=window, profile=profile, progress=progress)
        if plan is not None and file is not None:
            keep_text(Path(file), plan_text(plan))
            raise PlanWritten(f"{plan}. The plan is in {file}: edit it, then run the same command again.")
    if plan is not None:
        folder.save(PLAN_FILE, plan_text(plan))
        progress.note(f"{plan} ({PLAN_FILE})")
    return plan


def new_plan(
    material: Material,
    ask: Ask,
    *,
    counts: CaseCounts,
    window: int | None,
    profile: StudentProfile | None = None,
    progress: Progress,
) -> FactPlan | None:
    """What the case writer lists; `None`, with a note, where that cannot be used."""
    if not counts.positive:
        return None
    clean = redactor_from(os.environ).clean
    try:
        return plan_facts(material, ask, counts=counts, window=window, profile=profile, clean=clean)
    except TeacherUnusable as error:
        progress.note(f"note: {NO_PLAN} ({error.message})")
        return None


NO_PLAN = "no plan of facts: cases are written from the material as a whole"
