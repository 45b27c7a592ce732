"""The cases of a `generate`: those of a person, those that a teacher writes, and which are held out."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from upskill import checks
from upskill.domain import Case
from upskill.domain.family import by_family, family_notes, with_merged_families
from upskill.domain.student_profile import CountTokens, StudentProfile
from upskill.measuring import more_cases_hint
from upskill.models import Ask
from upskill.storage.teaching_runs import TeachingFolder
from upskill.teaching.case_split import without_doubles
from upskill.workflows.evaluating.select_cases import without_copies
from upskill.workflows.generating.fact_plan import NO_PLAN, plan_of_run
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.write_cases import write_cases_for
from upskill.workflows.progress import RunProgress


class CaseStage:
    """Brings all cases, each with its use, and saves them; a run that is resumed finds them again."""

    def __init__(
        self,
        folder: TeachingFolder,
        inputs: GenerateInputs,
        *,
        profile: StudentProfile | None,
        count: CountTokens,
        progress: RunProgress,
    ) -> None:
        self._folder, self._inputs, self._progress = folder, inputs, progress
        self._profile, self._count = profile, count
        self.notes: list[str] = []
        """For a person: what was dropped, and what is odd about the cases."""
        self.dropped: list[str] = []
        """Cases that were written and not used, a line each with the reason."""

    def run(self, ask: Ask) -> tuple[Case, ...]:
        """All cases, each with its use. They are final before the draft is written."""
        problems = partial(checks.check_problems, judge=True)
        saved = self._folder.read_cases(check_problems=problems)
        if saved is not None:
            return saved
        own = without_copies(self._inputs.own_cases)
        self.notes += own.notes
        cases = own.cases
        if self._inputs.writes_cases:
            self._progress.stage_begun("Generating cases...")
            cases = self._written(ask, self._inputs.staying(cases))
        cases = self._inputs.split(cases)
        self.notes += (*family_notes(cases), *_few_families(cases))
        self._folder.write_cases(cases)
        return cases

    def _written(self, ask: Ask, by_hand: Sequence[Case]) -> tuple[Case, ...]:
        """Cases that a teacher writes from a plan of facts, and those of a person."""
        order, material = self._inputs.order, self._inputs.gathered.material
        window = self._inputs.roles.writer_served.window
        plan = plan_of_run(
            self._folder,
            order.plan_file,
            material,
            ask,
            counts=order.counts,
            window=window,
            profile=self._profile,
            progress=self._progress,
        )
        if plan is None:
            self.notes.append(NO_PLAN)
        written = write_cases_for(
            material,
            ask,
            skill=None,
            counts=order.counts,
            backend=order.sandbox,
            progress=self._progress,
            window=window,
            plan=plan,
            profile=self._profile,
            count=self._count,
            known=by_hand,
        )
        for dropped in written.dropped:
            self._drop(dropped)
        return self._joined(by_hand, written.cases, planned=plan is not None)

    def _joined(self, by_hand: Sequence[Case], written: Sequence[Case], *, planned: bool) -> tuple[Case, ...]:
        """Both, without written cases that repeat a person's: one could be learned from and the other held out.

        Without a plan, written ones lose their side where there are others: families that now span both are split as
        one. With a plan none is like a person's.
        """
        if not by_hand:
            return tuple(written)
        known = {case.id for case in by_hand}
        new: list[Case] = []
        for case, double in without_doubles(written, known=by_hand):
            if double is not None:
                self._drop(f"{case.id} asks the same as {double.id}")
            else:
                new.append(case if case.id not in known else replace(case, id=f"{case.id}-{case.digest[:6]}"))
        sideless = (case if planned or case.use == "negative" else replace(case, use=None) for case in new)
        return with_merged_families((*by_hand, *sideless), by_hand=by_hand)

    def _drop(self, line: str) -> None:
        self.dropped.append(line)
        self.notes.append(f"dropped: {line}")


def _few_families(cases: Sequence[Case]) -> tuple[str, ...]:
    """A note where held-out cases share so few families that little can be said of others."""
    held_out = [case for case in cases if case.use == "held-out"]
    families = len(by_family(held_out))
    hint = more_cases_hint(cases=len(held_out), families=families)
    return () if hint is None or families == len(held_out) else (hint,)
