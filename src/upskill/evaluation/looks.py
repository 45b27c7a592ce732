"""Looks of an evaluation: opened in the ledger before the first answer is bought, closed by the verdict. What is
looked at again is tested more strictly."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from os.path import relpath
from pathlib import Path

from upskill.core import checks, statistics
from upskill.core.models import Endpoint
from upskill.core.nouns import Arm, Case, Evaluation, Scored, Student, Trial, TrialPlan, digest_of
from upskill.core.nouns.look import (
    NOTHING,
    Look,
    LookTerms,
    SeenCase,
    SeenPair,
    case_key,
    checks_digest,
    instance_of,
    kind_key,
    model_key,
    sketch_of,
)
from upskill.core.runs.look_ledger import LookLedger, default_ledger_path
from upskill.core.runs.records import named_run, now
from upskill.core.runs.trial_store import KEPT
from upskill.core.settings import Settings
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import identity
from upskill.core.trials.measure import known_instances, stored_trials
from upskill.core.trials.schedule import Schedule
from upskill.evaluation.cases import split_side
from upskill.evaluation.prepare import PreparedEvaluation


def open_ledger(settings: Settings, *, scripted: bool) -> LookLedger | None:
    """The ledger that is named, or the user's; `None` where scripts answer and none is named.

    Open it before the run: the engine is given a cache folder of its own.
    """
    if settings.ledger is not None:
        return LookLedger(Path(settings.ledger))
    return None if scripted else LookLedger(default_ledger_path())


@dataclass(frozen=True, kw_only=True, slots=True)
class Looks:
    """The looks of one evaluation, of every student whose looks are kept."""

    ledger: LookLedger
    prepared: PreparedEvaluation
    settings: Settings

    def terms(self) -> dict[str, LookTerms]:
        """By student, how strictly its look is tested as the ledger stands now."""
        looks = self.ledger.read()
        return {student.name: self._terms(looks, student) for student in self._counted()}

    def opened(self, run: Path, *, level: float | None = None) -> dict[str, LookTerms]:
        """The terms, once a line in the ledger says that these looks are taken: call it before anything is bought.

        `level` is set by who counts the uses of these cases in another way; it is never raised by that.
        """
        terms: dict[str, LookTerms] = {}
        with self.ledger.alone():
            looks = self.ledger.read()
            for student in self._counted():
                known = self._terms(looks, student)
                named = replace(known, id=known.id or Path(named_run(run.as_posix())).name, at=known.at or now())
                if level is not None:
                    named = replace(named, level=min(level, known.level))
                terms[student.name] = named
                if known.id is None or not any(look.id == known.id and not look.is_open for look in looks):
                    self.ledger.append(self._opened(student, named, run))
        return terms

    def close(
        self,
        evaluation: Evaluation,
        finished: Iterable[Trial],
        *,
        run: Path,
        terms: Mapping[str, LookTerms],
        schedules: Mapping[str, Schedule],
    ) -> None:
        """Write what became of every look."""
        seen: dict[str, list[Trial]] = {name: [] for name in terms}
        for trial in finished:
            if trial.student in seen and schedules[trial.student].counts(trial):
                seen[trial.student].append(trial)
        known = {(look.id, look.student): look for look in self.ledger.read()}
        plan = self.prepared.experiment.plan
        for report in evaluation.students:
            name = report.student.name
            if name not in terms:
                continue
            opened = self._opened(report.student, terms[name], run)
            arm, against = report.compared
            look = replace(
                opened,
                cases=_seen_cases(opened.cases, plan.cases, seen[name], arm=arm, against=plan.against),
                lost=statistics.count_losses(seen[name], arm=arm).lost,
                lost_against=statistics.count_losses(seen[name], arm=against).lost,
                ended_at=now(),
                verdict=report.verdict,
                claim=report.claim,
                lift=report.lifts[0].mean if report.lifts else None,
                shown_lift=self.prepared.order.min_lift if report.clears else None,
                sentence=report.sentence,
                end=report.end,
            )
            if not _says_the_same(known.get((look.id, look.student)), look):
                self.ledger.append(look)

    def days(self, terms: Mapping[str, LookTerms]) -> float:
        """How old answers may be that are used again: those of a look that is gone on with are as old as it is."""
        goes_on = bool(terms) and all(one.id is not None for one in terms.values())
        known = all(served.is_known for served in self.prepared.experiment.served.values())
        return KEPT.days if goes_on and known else self.settings.store_days

    def _terms(self, looks: Sequence[Look], student: Student) -> LookTerms:
        coming = next_look(self.prepared, student, ledger=self.ledger.path, remembered=self._remembers)
        mine = [look for look in looks if look.model == coming.model]
        if not mine:
            return statistics.FIRST_LOOK
        known = self.prepared.experiment.served[student.name].is_known
        limit = datetime.now(UTC) - (KEPT if known else timedelta(days=self.settings.store_days))
        stored = stored_trials(self.prepared.experiment, self.settings, student, newest_after=limit)
        helped = {look.id: look.answers for look in mine if look.helped()}
        return statistics.look_terms(
            mine, coming, present=frozenset(map(instance_of, stored)), known=known_instances(helped, self.settings)
        )

    def _opened(self, student: Student, terms: LookTerms, run: Path) -> Look:
        assert terms.id is not None
        assert terms.at is not None
        coming = next_look(self.prepared, student, ledger=self.ledger.path, remembered=self._remembers)
        return coming.opened(id=terms.id, at=terms.at, run=named_run(Path(relpath(run)).as_posix()), level=terms.level)

    @property
    def _remembers(self) -> bool:
        return self.settings.store

    def _counted(self) -> Iterable[Student]:
        counted = counted_students(self.prepared.experiment.endpoints, self.settings)
        return (student for student in self.prepared.experiment.plan.students if student.name in counted)


def looks_of(prepared: PreparedEvaluation, settings: Settings) -> Looks | None:
    """The looks of an evaluation; `None` where it asks nothing of the skill, or has no ledger."""
    plan = prepared.experiment.plan
    if not {"with_skill", "offered"} & set(plan.arms):
        return None
    ledger = open_ledger(settings, scripted=prepared.experiment.is_scripted)
    return None if ledger is None else Looks(ledger=ledger, prepared=prepared, settings=settings)


def is_answered(prepared: PreparedEvaluation, settings: Settings) -> bool:
    """Whether this was evaluated before and all its answers are there, so that nothing is bought."""
    looks = looks_of(prepared, settings)
    terms = {} if looks is None else looks.terms()
    return all_answered(prepared.experiment.plan, terms)


def all_answered(plan: TrialPlan, terms: Mapping[str, LookTerms]) -> bool:
    """Whether nothing has to be bought. The ledger knows nothing of arms that are run beside the compared ones."""
    counted = len(terms) == len(plan.students) and all(one.answered for one in terms.values())
    return counted and plan.arms == plan.deciding


def counted_students(endpoints: Mapping[str, Endpoint], settings: Settings) -> tuple[str, ...]:
    """The students whose looks are kept, by name: scripts only where a ledger is named."""
    return tuple(name for name, one in endpoints.items() if settings.ledger is not None or not one.is_scripted)


def next_look(
    prepared: PreparedEvaluation, student: Student, *, ledger: Path, remembered: bool = True
) -> statistics.NextLook:
    """What the next look at a student is about. The place of its skill counts from the ledger: both may be moved."""
    experiment, plan = prepared.experiment, prepared.experiment.plan
    harness, judge = load_harness(plan.harness), identity(experiment.judge)
    served = experiment.served[student.name]
    conditions = harness.identity(experiment.trial_limits, files="")
    against = "baseline" if experiment.previous is None else experiment.previous.digest
    return statistics.NextLook(
        student=student.name,
        model=model_key(student, weights=served.weights or served.only),
        kind=kind_key(student, harness=harness.version, conditions=conditions, known=served.is_known),
        served=None if served.fingerprint is None else digest_of(served.fingerprint)[:16],
        skill=experiment.skill.name,
        place=digest_of(relpath(prepared.order.skill.resolve(), ledger.parent.resolve()))[:16],
        version=experiment.skill.digest,
        sketch=sketch_of(experiment.skill),
        against=NOTHING if plan.against is None else against,
        design=plan.design,
        repeats=plan.repeats,
        min_lift=prepared.order.min_lift,
        cases={case.id: (case_key(case), _checks(case, judge)) for case in plan.cases},
        families={case_key(case): case.family for case in plan.cases if case.family is not None},
        rejected=frozenset((case_key(case), _checks(case, judge)) for case in prepared.rejected),
        practice=prepared.order.practice,
        remembered=remembered,
    )


def _checks(case: Case, judge: str | None) -> str:
    """The digest of a case's checks; another judge is another check."""
    digest = checks_digest(case)
    return digest_of([digest, judge])[:16] if "judge" in checks.needs(case) else digest


_FEWEST_SPLIT = 12
"""With fewer cases a half of them proves nothing about new ones."""


def look_notes(terms: Mapping[str, LookTerms]) -> tuple[str, ...]:
    """What a person is told of the looks before this one, once where it is the same for all students."""
    notes = {name: one.note for name, one in terms.items() if one.note is not None}
    if len(notes) == len(terms) and len(set(notes.values())) == 1:
        return (next(iter(notes.values())),)
    return tuple(f"{name}: {note}" for name, note in notes.items())


def first_look_line(terms: Mapping[str, LookTerms], cases: Sequence[Case], *, split: str) -> str | None:
    """What a second look will cost, before the first one; `None` elsewhere, or where the cases are too few to be split.

    `split` is the command that splits them.
    """
    if not terms or any(one.earlier or one.id for one in terms.values()):
        return None
    after = "after a change of the skill the next look needs stronger evidence"
    if any(map(split_side, cases)):
        return f"this is the first look at these held-out cases; {after}, so practise before it (--practice)"
    if len(cases) < _FEWEST_SPLIT:
        return None
    return f"this is the first look at these cases; {after}. To try changes first: {split}, then eval with --practice"


def _says_the_same(known: Look | None, look: Look) -> bool:
    """Whether the ledger has this already, of a run before."""
    return known is not None and replace(known, run=look.run, ended_at=look.ended_at) == look and not known.is_open


def _seen_cases(
    opened: Sequence[SeenCase], cases: Sequence[Case], finished: Collection[Trial], *, arm: Arm, against: Arm | None
) -> tuple[SeenCase, ...]:
    """The cases of a look with their pairs. Where only the skill was asked for, the other half counts as passed."""
    scored: dict[tuple[str, str, int], Trial] = {
        (one.case_id, one.arm, one.repeat): one for one in finished if isinstance(one.outcome, Scored)
    }
    lost = {(one.case_id, str(one.arm), one.repeat) for one in finished if one.lost_answers}
    seen = []
    for place, case in zip(opened, cases, strict=True):
        pairs = []
        for repeat in sorted({number for case_id, _, number in scored if case_id == case.id}):
            key, other_key = (case.id, arm, repeat), (case.id, against or "", repeat)
            if key not in scored or (against is not None and other_key not in scored):
                continue
            one, other = scored[key], scored.get(other_key)
            pairs.append(
                SeenPair(
                    instance=instance_of(one),
                    instance_against="" if other is None else instance_of(other),
                    passed=one.passed,
                    passed_against=True if other is None else other.passed,
                    # What both lost and then answered is no loss, as in a verdict.
                    lost=(key in lost and other_key not in lost, other_key in lost and key not in lost),
                )
            )
        seen.append(replace(place, pairs=tuple(pairs)))
    return tuple(seen)
