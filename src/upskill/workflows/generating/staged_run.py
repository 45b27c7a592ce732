"""What every `generate` has, whatever its stages make: a run folder with its record, a budget, a teacher, an end."""

import os
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from upskill.domain import Cap
from upskill.domain.finding import Finding
from upskill.domain.generated import AttemptSummary, GenerateResult
from upskill.errors import EngineError
from upskill.models import Ask, Endpoint, ServedModel, Teacher
from upskill.redaction import redactor_from
from upskill.reporting.generated import caution_lines, generated_json
from upskill.storage.runs import now
from upskill.storage.skill_meta import HeldOutUse, note_use, read_meta
from upskill.storage.teaching_runs import RefiningRecord, TeachingEnd, TeachingFolder, TeachingRecord
from upskill.workflows.evaluating.spending import client_for
from upskill.workflows.generating.findings import NOBODY, Accept, DraftSearch, agreed_findings
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.resuming import cap_notes, resume_command
from upskill.workflows.generating.shown_path import shown_path
from upskill.workflows.generating.spending import PriorSpending
from upskill.workflows.generating.teachers import ask_function
from upskill.workflows.handoff import handoff_for
from upskill.workflows.progress import RunProgress


class StagedRun(ABC):
    """A `generate` that runs stage by stage. The result of each is saved when it ends; a resumed run finds it again."""

    def __init__(
        self,
        folder: TeachingFolder,
        record: TeachingRecord,
        inputs: GenerateInputs,
        *,
        progress: RunProgress,
        accept: Accept = NOBODY,
    ) -> None:
        self.record = record
        self._accept, self._search = accept, DraftSearch()
        self._folder, self._inputs, self._progress = folder, inputs, progress
        self._client = client_for(inputs.settings.values)
        self._spending = PriorSpending(folder, self._client)
        self._redactor = redactor_from(os.environ)
        self._notes: list[str] = list(inputs.gathered.notes)
        self._attempts: tuple[AttemptSummary, ...] = ()
        self.best_draft: str | None = None
        """The best new version so far, for a person: where it lies and how it did. `None` before there is one."""

    @abstractmethod
    def run(self) -> GenerateResult:
        """Run all stages, to what is saved."""

    def ended_by(self, reason: str) -> TeachingEnd:
        """The end of a run without a result."""
        return TeachingEnd(reason=reason, teacher=self._spending.by_teacher, students=self._spending.by_students)

    @property
    def exhausted(self) -> Cap | None:
        """The cap of the run that was reached; `None` while there is room."""
        return self._client.exhausted

    def _ask(self, endpoint: Endpoint, served: ServedModel) -> Ask:
        """Asks this teacher, or finds in the journal what it answered before."""
        handoff = handoff_for(endpoint, run=self._folder.path, wait=self._inputs.order.wait, report=self._progress.note)
        teacher = Teacher(self._client, endpoint, window=served.window, handoff=handoff)
        return ask_function(teacher, self._folder.journal, self._redactor)

    def _ended(self, stage: str) -> None:
        self.record = replace(self.record, stage=stage)
        self._folder.write_record(self.record)

    def _note(self, line: str) -> None:
        self._notes.append(line)
        self._progress.note(line)

    def _keep_attempt(self, attempt: AttemptSummary, *, best: int) -> None:
        """Keep how an attempt did, for the report of the run; `best` is the number of the best one so far."""
        earlier = (replace(one, chosen=one.number == best) for one in self._attempts)
        self._attempts = (*earlier, attempt)
        self._folder.write_attempts(RefiningRecord(attempts=self._attempts))

    def _earlier_uses(self, held_out: tuple[str, ...], *, noun: str) -> tuple[bool, ...]:
        """For each earlier use of one of these held-out cases or prompts, by digest, whether it proved something.

        This one is recorded before anything is bought, since each look spends error. Exchanging one does not begin
        again at the first level.
        """
        skill = self._inputs.gathered.skill_folder
        if skill is None or not skill.is_dir() or not held_out:
            return ()
        run = self._folder.path.name
        earlier = [use for use in read_meta(skill).held_out_uses if use.run != run]
        try:
            note_use(skill, HeldOutUse(cases=held_out, run=run, at=now()))
        except EngineError as error:
            if self._inputs.target.in_place:
                raise
            self._notes.append(f"this look at its held-out {noun} could not be recorded: {error.message}")
        return tuple(use.helped for use in earlier if not set(held_out).isdisjoint(use.cases))

    def _agreed(self, found: tuple[Finding, ...], copy: Path) -> tuple[Finding, ...]:
        """The findings as they are saved with the skill. Raises where nobody agrees to a danger."""
        self.record = replace(self.record, findings=found)
        for line in caution_lines(found):
            self._progress.note(line)
        return agreed_findings(
            found,
            draft=copy,
            previous=self._folder.previous,
            accept=self._accept,
            shown=shown_path(copy),
            accepting=resume_command(self._folder.path, "--accept-findings"),
        )

    def _all_notes(self, measured: Iterable[str] = ()) -> tuple[str, ...]:
        """The notes of the result, each once."""
        return tuple(dict.fromkeys((*self._notes, *measured, *cap_notes(self.exhausted, self._folder.path))))

    def _finished(self, result: GenerateResult) -> GenerateResult:
        """Record the result."""
        self.record = replace(
            self.record, status="finished", stage="saved", finished_at=now(), results=generated_json(result)
        )
        self._folder.write_record(self.record)
        return result
