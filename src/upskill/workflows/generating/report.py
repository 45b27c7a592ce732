"""The report of a `generate`: how its skill came about, and what the held-out test showed, from its run folder.

The folder may be a stranger's: no path of its records is followed out of it, and what is damaged is named and left out.
"""

import os
from dataclasses import dataclass, replace
from pathlib import Path

from upskill.domain.skill_text import SkillText
from upskill.errors import UpskillError
from upskill.redaction import redactor_from
from upskill.reporting.html import RunFacts, report_page
from upskill.reporting.html.story import TeachingStory
from upskill.reporting.sufficient_students import ENOUGH
from upskill.storage.run_folders import HELD_OUT, RUN_FILE
from upskill.storage.teaching_runs import TeachingRecord, read_teaching_run
from upskill.workflows.evaluating.report import Report, keep_page, read_report, settings_shown
from upskill.workflows.generating.story import StoryReader


@dataclass(frozen=True, kw_only=True, slots=True)
class GenerateReport:
    """A run of `generate`, read and ready to be shown."""

    facts: RunFacts
    story: TeachingStory
    skill: SkillText | None
    held_out: Report | None
    """`None` where no held-out case was used."""

    @property
    def measured(self) -> Report | None:
        """The held-out test as a part of this run; `None` where no held-out case was used."""
        if self.held_out is None:
            return None
        return replace(self.held_out, facts=self.facts, story=self.story, skill=self.skill)

    def page(self) -> str:
        """The page, with the held-out test where there was one."""
        if (measured := self.measured) is not None:
            return measured.page()
        clean = redactor_from(os.environ).clean_own
        return clean(report_page(None, self.facts, skill=self.skill, story=self.story))


def read_generate_report(run: Path, *, enough: float = ENOUGH) -> GenerateReport:
    """Read a run of `generate`, however far it got. Raises where `generate.json` itself cannot be read."""
    record = read_teaching_run(run)
    reader = StoryReader(run, record)
    held_out = _held_out(run, reader, enough=enough)
    skill = reader.skill()
    story = reader.story(None if held_out is None else held_out.evaluation)
    return GenerateReport(
        facts=_facts(run, record, held_out, name=reader.name), story=story, skill=skill, held_out=held_out
    )


def _held_out(run: Path, reader: StoryReader, *, enough: float) -> Report | None:
    """The held-out test; `None` where there was none, or where it cannot be read."""
    stage = run / HELD_OUT
    if not (stage / RUN_FILE).is_file():
        return None
    if stage.resolve() != run.resolve() / HELD_OUT:
        reader.left_out(f"{HELD_OUT} is outside the run folder and was not read")
        return None
    try:
        return read_report(stage, enough=enough)
    except UpskillError as error:
        reader.left_out(f"{HELD_OUT} could not be read: {error.message}")
        return None


def _facts(run: Path, record: TeachingRecord, held_out: Report | None, *, name: str) -> RunFacts:
    """Where the numbers come from: the run as a whole, and the held-out test as far as it was measured."""
    begun = RunFacts(
        skill=name,
        folder=run.name,
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        versions=record.versions,
        settings=settings_shown(record.settings),
    )
    if held_out is None:
        return begun
    return replace(
        held_out.facts,
        skill=name,
        folder=run.name,
        status=record.status,
        started_at=record.started_at,
        finished_at=record.finished_at,
        settings=begun.settings,
    )


def keep_generate_report(run: Path) -> str | None:
    """Write `report.html` into the run folder. What went wrong is returned, in words: the result does not change."""
    return keep_page(run, lambda: read_generate_report(run).page())
