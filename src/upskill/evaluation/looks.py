"""Looks of an evaluation: what was answered already is not asked again, and what is looked at again is tested more
strictly. Reads the ledger before a run and writes to it after one."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from os.path import relpath
from pathlib import Path

from upskill.core import checks, statistics
from upskill.core.models import Endpoint
from upskill.core.nouns import Case, Evaluation, Purchase, Scored, Student, StudentReport, Trial, digest_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.look import (
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
    words_of,
)
from upskill.core.runs.look_ledger import LookLedger, default_ledger_path
from upskill.core.runs.records import RunRecord, named_run, now, read_run
from upskill.core.settings import Settings
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import identity
from upskill.core.trials.measure import stored_trials
from upskill.core.trials.schedule import Schedule
from upskill.errors import UpskillError
from upskill.evaluation.cases import split_side
from upskill.evaluation.prepare import PreparedEvaluation
from upskill.report.json_report import UnreadableResult, evaluation_json, read_evaluation


def open_ledger(settings: Settings, *, compared: bool, scripted: bool) -> LookLedger | None:
    """The ledger that is named, or the user's; `None` where nothing is compared, or scripts answer and none is named.

    Open it before the run: the engine is given a cache folder of its own.
    """
    if not compared:
        return None
    if settings.ledger is not None:
        return LookLedger(Path(settings.ledger), contradiction=statistics.contradiction)
    if scripted:
        return None
    return LookLedger(default_ledger_path(), contradiction=statistics.contradiction)


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierLooks:
    """The looks that were there before an evaluation begins."""

    ledger: LookLedger
    looks: tuple[Look, ...]
    prepared: PreparedEvaluation
    settings: Settings

    def recorded(self) -> dict[str, Look]:
        """By student, the look that has answered already what is asked now."""
        if self.prepared.order.fresh:
            return {}
        limit = datetime.now(UTC) - timedelta(days=self.settings.store_days)
        found = {
            student.name: statistics.recorded_look(self.looks, self._next(student), unknown_after=limit)
            for student in self._counted()
        }
        return {name: look for name, look in found.items() if look is not None}

    def terms(self) -> dict[str, LookTerms]:
        """By student, how strictly this look is tested and what it is pooled with."""
        found = {}
        for student in self._counted():
            coming = self._next(student)
            present: frozenset[str] = frozenset()
            if any(look.model == coming.model for look in self.looks):
                present = frozenset(map(instance_of, stored_trials(self.prepared.experiment, self.settings, student)))
            found[student.name] = statistics.look_terms(self.looks, coming, present=present)
        return found

    def _next(self, student: Student) -> statistics.NextLook:
        return next_look(self.prepared, student, ledger=self.ledger.path)

    def _counted(self) -> Iterable[Student]:
        counted = counted_students(self.prepared.experiment.endpoints, self.settings)
        return (student for student in self.prepared.experiment.plan.students if student.name in counted)


def earlier_looks(prepared: PreparedEvaluation, settings: Settings) -> EarlierLooks | None:
    """The looks in the ledger of this evaluation; `None` where it has no ledger."""
    compared, scripted = prepared.experiment.plan.against is not None, prepared.experiment.is_scripted
    ledger = open_ledger(settings, compared=compared, scripted=scripted)
    if ledger is None:
        return None
    return EarlierLooks(ledger=ledger, looks=ledger.read(), prepared=prepared, settings=settings)


def has_recorded_verdict(prepared: PreparedEvaluation, settings: Settings) -> bool:
    """Whether the ledger answers all that is asked, so that nothing is bought."""
    earlier = None if prepared.order.ceiling is not None else earlier_looks(prepared, settings)
    return earlier is not None and len(earlier.recorded()) == len(prepared.experiment.plan.students)


def counted_students(endpoints: Mapping[str, Endpoint], settings: Settings) -> tuple[str, ...]:
    """The students whose looks are kept, by name: scripts only where a ledger is named."""
    return tuple(name for name, one in endpoints.items() if settings.ledger is not None or not one.is_scripted)


def next_look(prepared: PreparedEvaluation, student: Student, *, ledger: Path) -> statistics.NextLook:
    """What the next look at a student is about. The place of its skill counts from the ledger: both may be moved."""
    plan, harness = prepared.experiment.plan, load_harness(prepared.experiment.plan.harness)
    judge = identity(prepared.experiment.judge)
    served = prepared.experiment.served[student.name]
    conditions = harness.identity(prepared.experiment.trial_limits, files="")
    return statistics.NextLook(
        student=student.name,
        model=model_key(student, weights=served.weights or served.only),
        kind=kind_key(student, harness=harness.version, conditions=conditions, known=served.is_known),
        served=None if served.fingerprint is None else digest_of(served.fingerprint)[:16],
        skill=prepared.experiment.skill.name,
        place=digest_of(relpath(prepared.order.skill.resolve(), ledger.parent.resolve()))[:16],
        version=prepared.experiment.skill.digest,
        sketch=sketch_of(prepared.experiment.skill),
        against="baseline" if prepared.experiment.previous is None else prepared.experiment.previous.digest,
        design=plan.design,
        repeats=plan.repeats,
        min_lift=prepared.order.min_lift,
        cases={case.id: (case_key(case), _checks(case, judge)) for case in plan.cases},
        families={case_key(case): case.family for case in plan.cases if case.family is not None},
        words={case_key(case): words_of(case) for case in plan.cases},
        rejected=frozenset(map(case_key, prepared.rejected)),
    )


def terms_at_end(
    ledger: LookLedger, prepared: PreparedEvaluation, record: RunRecord, *, run: Path, known: Iterable[Trial]
) -> dict[str, LookTerms]:
    """The terms of a run that ends or goes on: as strict as what was looked at since it began demands.

    Otherwise runs that were begun together, or begun and stopped, would each end as a first look.
    """
    found, kept = dict(record.looks), ledger.read()
    if not any(look.at >= record.started_at for look in kept):
        return found
    present, name = frozenset(map(instance_of, known)), Path(named_run(str(run.resolve()))).name
    for student in prepared.experiment.plan.students:
        coming = next_look(prepared, student, ledger=ledger.path)
        own = [look for look in kept if look.is_of(name) and look.student == student.name]
        if student.name in found and all(look.unfinished for look in own):
            now_terms = statistics.look_terms([look for look in kept if look not in own], coming, present=present)
            if now_terms.level < found[student.name].level:
                told = replace(now_terms, prior=found[student.name].prior, removed=found[student.name].removed)
                found[student.name] = told
    return found


def _checks(case: Case, judge: str | None) -> str:
    """The digest of a case's checks; another judge is another check."""
    digest = checks_digest(case)
    return digest_of([digest, judge])[:16] if "judge" in checks.needs(case) else digest


def recorded_evaluation(earlier: EarlierLooks, recorded: Mapping[str, Look]) -> Evaluation | None:
    """What the ledger says of these students; `None` where that cannot be read any more."""
    prepared, plan = earlier.prepared, earlier.prepared.experiment.plan
    students = [student for student in plan.students if student.name in recorded]
    looks = [recorded[student.name] for student in students]
    gone = {name: look for name, look in recorded.items() if not _has_run(look)}
    kept = [
        (gone[student.name], frozenset(map(instance_of, stored_trials(prepared.experiment, earlier.settings, student))))
        for student in students
        if student.name in gone
    ]
    said = dict.fromkeys((*prepared.notes, *(note for look in looks for note in look.notes)))
    empty = Evaluation(
        skill=prepared.experiment.skill,
        run=looks[0].run,
        cases=len(plan.cases),
        repeats=plan.repeats,
        planned=len(plan),
        design=plan.design,
        students=(),
        case_states=prepared.qualifications,
        bought=Purchase(calls=0, failed_calls=0, tokens=0, cost=0.0),
        # What the verdict itself rests on goes first: a terminal shows three notes.
        notes=(*_gone_notes(kept, earlier.ledger.path), *unchanged_notes(recorded, of=len(plan.students)), *said),
        sandbox=None if prepared.experiment.sandbox is None else prepared.experiment.sandbox.backend,
        others=prepared.experiment.others,
    )
    # What holds among the models of one run was not tested among those of several.
    among = {} if len({look.run for look in looks}) == 1 else {"holds_among": None}
    reports: list[Json] = [
        {**look.report, **among, "model": student.name} for look, student in zip(looks, students, strict=True)
    ]
    try:
        read = read_evaluation(
            {**evaluation_json(empty), "students": reports},
            run=empty.run,
            skill=prepared.experiment.skill,
            students=students,
            min_lift=prepared.order.min_lift,
        )
    except UnreadableResult:
        return None
    return replace(read, run_is_here=students[0].name not in gone)


def unchanged_notes(recorded: Mapping[str, Look], *, of: int) -> tuple[str, ...]:
    """Since when nothing has changed, one note for all students where that is the same day."""
    notes = {
        name: f"unchanged since {look.at[:10]}, so this is the recorded verdict and no model was asked "
        "(--fresh asks again)"
        for name, look in recorded.items()
    }
    if len(notes) == of and len(set(notes.values())) == 1:
        return (next(iter(notes.values())),)
    return tuple(f"{name}: {note}" for name, note in notes.items())


def _has_run(look: Look) -> bool:
    """Whether the run folder is here: a run of the same skill."""
    try:
        return read_run(Path(look.run)).skill_digest == look.version
    except (UpskillError, OSError):
        return False


def _gone_notes(gone: Iterable[tuple[Look, frozenset[str]]], ledger: Path) -> Iterator[str]:
    """What is told of looks without a run folder, each with the answers that the trial store has: also whether those
    are what the verdict rests on."""
    stored: list[Look] = []
    unseen: list[Look] = []
    for look, present in gone:
        (stored if look.answers and look.answers <= present else unseen).append(look)
    if stored:
        runs = ", ".join(sorted({look.run for look in stored})[:3])
        yield f"the run folder is missing, so there are no answers to show: {runs}"
    if unseen:
        days = ", ".join(sorted({look.at[:10] for look in unseen})[:3])
        yield (
            f"the verdict comes from ledger {ledger}, of {days}; its answers are neither in a run folder "
            "nor in the cache, so they were not checked"
        )


def with_recorded(evaluation: Evaluation, recorded: Evaluation, order: Sequence[Student]) -> Evaluation:
    """Both together, in the order in which the students were asked for."""
    place = {student.name: number for number, student in enumerate(order)}
    both = (replace(report, holds_among=None) for report in (*evaluation.students, *recorded.students))
    students = tuple(sorted(both, key=lambda report: place[report.student.name]))
    new = tuple(note for note in recorded.notes if note not in evaluation.notes)
    return replace(evaluation, students=students, notes=(*evaluation.notes, *new))


def look_notes(terms: Mapping[str, LookTerms]) -> tuple[str, ...]:
    """What a person is told of the looks before this one, once where it is the same for all students."""
    notes = {name: one.note for name, one in terms.items() if one.note is not None}
    if len(notes) == len(terms) and len(set(notes.values())) == 1:
        return (next(iter(notes.values())),)
    return tuple(f"{name}: {note}" for name, note in notes.items())


def first_look_line(terms: Mapping[str, LookTerms], cases: Iterable[Case]) -> str | None:
    """What a second look will cost, before the first look at cases that were held out; `None` elsewhere."""
    if not terms or any(one.earlier for one in terms.values()) or not any(map(split_side, cases)):
        return None
    first, second = (f"{100 * (1 - 2 * statistics.level_after(helped)):.3g}%" for helped in ([], [False]))
    return (
        f"this is the first look at these held-out cases, with an interval of {first}; after a change of the skill the "
        f"second has {second} and is wider, so practise before it (--practice)"
    )


def keep_looks(
    ledger: LookLedger,
    prepared: PreparedEvaluation,
    settings: Settings,
    evaluation: Evaluation,
    finished: Iterable[Trial],
    *,
    schedules: Mapping[str, Schedule],
    terms: Mapping[str, LookTerms],
) -> None:
    """Add a look for every student of which something was seen."""
    experiment, judge = prepared.experiment, identity(prepared.experiment.judge)
    # The same pairs, with a ceiling beside them or of a run at the same time, are not counted as a second look.
    counted = ledger.read()
    told: list[Mapping[str, Json]] = evaluation_json(evaluation)["students"]  # type: ignore[assignment]
    seen: dict[str, list[Trial]] = {name: [] for name in counted_students(experiment.endpoints, settings)}
    for trial in finished:
        if trial.student in seen and schedules[trial.student].counts(trial):
            seen[trial.student].append(trial)
    for report, said in zip(evaluation.students, told, strict=True):
        name = report.student.name
        if name in seen and report.verdict is not None and report.lifts:
            level = terms.get(name, statistics.FIRST_LOOK).level
            coming, (arm, against) = next_look(prepared, report.student, ledger=ledger.path), report.compared
            cases = _seen_cases(experiment.plan.cases, judge, seen[name], arm=arm, against=against)
            run, notes = named_run(evaluation.run), evaluation.notes
            look = _look(coming, cases, report, said, seen[name], run=run, level=level, notes=notes)
            if not any(look.cases == other.cases and not other.unfinished for other in counted):
                ledger.append(look)


def _look(
    coming: statistics.NextLook,
    cases: tuple[SeenCase, ...],
    report: StudentReport,
    said: Mapping[str, Json],
    finished: Sequence[Trial],
    *,
    run: str,
    level: float,
    notes: tuple[str, ...],
) -> Look:
    assert report.verdict is not None
    arm, against = report.compared
    look = coming.taken(
        at=now(),
        run=run,
        cases=cases,
        level=level,
        verdict=report.verdict,
        claim=report.claim,
        sentence=report.sentence,
    )
    return replace(
        look,
        lost=statistics.count_losses(finished, arm=arm).lost,
        lost_against=statistics.count_losses(finished, arm=against).lost,
        end=report.end,
        report=said,
        notes=notes,
    )


def _seen_cases(
    cases: Iterable[Case], judge: str | None, finished: Iterable[Trial], *, arm: str, against: str
) -> tuple[SeenCase, ...]:
    scored: dict[tuple[str, str, int], Trial] = {}
    lost: set[tuple[str, str, int]] = set()
    repeats: dict[str, set[int]] = {}
    for trial in finished:
        if trial.lost_answers:
            lost.add((trial.case_id, trial.arm, trial.repeat))
        if isinstance(trial.outcome, Scored):
            scored[trial.case_id, trial.arm, trial.repeat] = trial
            repeats.setdefault(trial.case_id, set()).add(trial.repeat)
    found = []
    for case in cases:
        pairs = []
        for repeat in sorted(repeats.get(case.id, ())):
            keys = (case.id, arm, repeat), (case.id, against, repeat)
            if all(key in scored for key in keys):
                pairs.append(_seen_pair(scored[keys[0]], scored[keys[1]], lost=(keys[0] in lost, keys[1] in lost)))
        checked = _checks(case, judge)
        words = words_of(case)
        found.append(SeenCase(key=case_key(case), checks=checked, words=words, family=case.family, pairs=tuple(pairs)))
    return tuple(found)


def _seen_pair(one: Trial, other: Trial, *, lost: tuple[bool, bool]) -> SeenPair:
    assert isinstance(one.outcome, Scored)
    assert isinstance(other.outcome, Scored)
    return SeenPair(
        instance=instance_of(one),
        instance_against=instance_of(other),
        passed=one.outcome.passed,
        passed_against=other.outcome.passed,
        answers=(one.answer_digest, other.answer_digest),
        lost=lost,
        repeat=one.repeat,
    )
