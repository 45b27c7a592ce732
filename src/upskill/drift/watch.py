"""Watches a skill: buys its history, asks some answers every night, and says what an alarm comes from.

Every answer is in a run folder before it counts, and the state is written after every step: whatever ends a call, the
next one goes on where it was. Nothing is taken from the trial store: what is stored shows no drift.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from pydantic import JsonValue

from upskill.core import checks
from upskill.core.models import MeteredClient
from upskill.core.nouns import Arm, Purchase, Scored, Trial, TrialPlan
from upskill.core.nouns.text import count, on_one_line, shortened
from upskill.core.progress import PricedPlan, Progress, RunProgress
from upskill.core.runs.run_folders import new_folder, only_one_in, run_folder_at
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.core.statistics.intervals import these_cases
from upskill.core.statistics.pairs import Pair, are_copies, pair_trials
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import grade_without_asking, grading_context, identity
from upskill.drift.chart import (
    FEWEST_ANSWERS,
    HISTORY_NIGHTS,
    NIGHTLY,
    YEAR,
    CaseCount,
    alarm_limit,
    change_between,
    changed_side,
    raised,
    rotation,
)
from upskill.drift.state import (
    Alarm,
    Attribution,
    Cause,
    Night,
    Watch,
    WatchedCase,
    acknowledged,
    changed_terms,
    keep_watch,
    read_watch,
    require_unchanged,
    state_path,
)
from upskill.errors import EngineError, UsageError
from upskill.evaluation.estimate import Estimate, client_for, estimate_plan, purchase_since, seconds_per_call
from upskill.evaluation.evaluate import ask_with_skill
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import PreparedEvaluation, prepare

BASELINE_ANSWERS = 2
"""Answers per case without the skill in a history, and in each arm after an alarm."""
MOST_MISSING = 0.20
"""A night, or a part of a history, with a larger share of errored answers does not count, and is asked again."""
BROKEN = 0.05
"""A larger share of stored answers that pass no more when they are graded again: the checks broke."""
LEAST_FALL = 0.05
"""A model that fell is seen in its answers without the skill only where these could fall by so much."""

Clock = Callable[[], datetime]
Event = Literal["history", "watching", "night", "alarm", "acknowledged"]
"""A part of the history is bought or missing; nothing is left to do today; a night without an alarm; an alarm, of today
or before; an alarm was acknowledged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftOrder:
    """What a person asks `upskill drift` for, of one skill and one model."""

    skill: Path
    model: str
    case_file: Path | None = None
    answers: int = 10
    at_once: bool = False
    """Buy the history in one night: what that night has in common stays in it, so the limit is wider."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftPrice:
    """What watching takes, before anything is bought."""

    history: Estimate
    year: Estimate
    alarm: Estimate

    @property
    def lines(self) -> tuple[str, ...]:
        """For a person."""
        return (
            f"history: {self.history.words}",
            f"a year of nights: {self.year.calls}; price {self.year.price}",
            f"each alarm: {self.alarm.calls}; price {self.alarm.price}",
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftResult:
    """What one call came to, for one skill and one model."""

    event: Event
    watch: Watch
    path: Path
    bought: Purchase
    unfinished: bool = False
    """Whether so many answers are missing that this step does not count yet."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Prepared:
    """A watch that was checked, and is not changed yet."""

    order: DriftOrder
    evaluation: PreparedEvaluation
    path: Path
    terms: dict[str, JsonValue]
    cases: tuple[WatchedCase, ...]

    @property
    def plan(self) -> TrialPlan:
        return self.evaluation.experiment.plan

    @property
    def price(self) -> DriftPrice:
        """What it takes, by the prices of today."""
        measured, against = self.plan.measured, self.plan.against or "baseline"
        history = (self._priced(measured, self.order.answers), self._priced(against, BASELINE_ANSWERS))
        night = self._priced(measured, max(1, math.ceil(NIGHTLY / len(self.cases))), turns=NIGHTLY)
        alarm = (self._priced(arm, BASELINE_ANSWERS) for arm in (against, measured))
        return DriftPrice(
            history=Estimate.total(history), year=Estimate.total([night] * YEAR), alarm=Estimate.total(alarm)
        )

    def _priced(self, arm: Arm, repeats: int, *, turns: int | None = None) -> Estimate:
        experiment, settings = self.evaluation.experiment, self.evaluation.settings
        plan = replace(self.plan, arms=(arm,), repeats=repeats, turn_cap=turns, design="fixed")
        pace = seconds_per_call(plan.students, plan.harness, Path(settings.runs_dir))
        limits, judge = experiment.trial_limits, experiment.judge
        return estimate_plan(plan, experiment.requests, trial_limits=limits, judge=judge, pace=pace)


def prepare_watch(
    order: DriftOrder,
    settings: ResolvedSettings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> Prepared:
    """Read, resolve and probe. Raises, with what to do, if no call could succeed."""
    if not FEWEST_ANSWERS <= order.answers <= 1_000:
        raise UsageError(
            f"--answers must be at least {FEWEST_ANSWERS}, not {order.answers}",
            hint="with fewer answers per case a history misses falls of 20 points",
        )
    values = replace(settings.values, models=(order.model,), store=False)
    path = state_path(values, skill=read_skill(order.skill).name, student=order.model)
    known = read_watch(path)
    prepared = prepare(
        EvaluationOrder(skill=order.skill, case_file=order.case_file, repeats=1),
        values,
        known=() if known is None else known.qualifications,
        unchosen=settings.unchosen,
        announce=announce,
        needs_keys=needs_keys,
    )
    experiment = prepared.experiment
    plan = experiment.plan
    (student,) = plan.students
    terms: dict[str, JsonValue] = {
        "skill": experiment.skill.digest,
        "model": student.model,
        "server": student.endpoint,
        "temperature": student.temperature,
        "max_output_tokens": student.max_output_tokens,
        "harness": load_harness(plan.harness).version,
        "judge": identity(experiment.judge),
        "sandbox": None if experiment.sandbox is None else experiment.sandbox.backend,
        "max_turns": experiment.trial_limits.turns,
        "max_trial_tokens": experiment.trial_limits.tokens,
    }
    return Prepared(
        order=order,
        evaluation=prepared,
        path=path,
        terms=terms,
        cases=tuple(
            WatchedCase(id=case.id, digest=case.digest, prompt=shortened(on_one_line(case.prompt), 80))
            for case in sorted(plan.cases, key=lambda case: case.digest)
        ),
    )


def start(
    order: DriftOrder,
    settings: ResolvedSettings,
    *,
    clock: Clock,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> DriftResult:
    """Price the history, and buy the part of today. A history that is begun is continued; one that is complete stays,
    unless something changed or an alarm ended it."""
    prepared = prepare_watch(order, settings, announce=progress.announce)
    try:
        prepared.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{prepared.path.parent}: cannot be created ({error.strerror})") from None
    with only_one_in(prepared.path.parent):
        watch = read_watch(prepared.path)
        if watch is not None and watch.alarm is not None and watch.alarm.attribution is None:
            raise UsageError(
                f"{watch.skill} on {watch.student}: the alarm of {watch.alarm.date} is not attributed yet",
                hint="run `upskill drift` without --start first, or acknowledge the alarm with --acknowledge",
            )
        if watch is None or watch.alarm is not None or changed_terms(watch, prepared.terms, prepared.cases):
            for line in prepared.price.lines:
                progress.note(line)
            if prepared.price.history.is_much and not confirm(prepared.price.history):
                raise UsageError("nothing was run and nothing was spent")
            watch = _begun(prepared, settings, before=watch)
            keep_watch(prepared.path, watch)
    return tonight(prepared, settings, clock=clock, progress=progress)


def _begun(prepared: Prepared, settings: ResolvedSettings, *, before: Watch | None) -> Watch:
    order, experiment = prepared.order, prepared.evaluation.experiment
    parts = 1 if order.at_once else HISTORY_NIGHTS
    past = () if before is None else (*before.past, *(() if before.alarm is None else (before.alarm,)))
    return Watch(
        skill=experiment.skill.name,
        student=order.model,
        terms=prepared.terms,
        case_source=str(prepared.evaluation.case_file),
        cases=prepared.cases,
        qualifications=prepared.evaluation.qualifications,
        answers=-(-order.answers // parts) * parts,
        parts=parts,
        served=experiment.served[order.model].fingerprint,
        run=str(new_folder(settings.place("runs_dir"), f"drift-{experiment.skill.name}").resolve()),
        past=past,
    )


def tonight(
    prepared: Prepared,
    settings: ResolvedSettings,
    *,
    clock: Clock,
    progress: Progress,
    acknowledge: bool = False,
) -> DriftResult:
    """Do what is due today: the next part of the history, a night, or what is left of an alarm. Raises where the skill,
    its cases or the settings are not those of the history."""
    found = read_watch(prepared.path)
    if found is None:
        raise UsageError(
            f"{prepared.evaluation.experiment.skill.name} on {prepared.order.model}: is not watched yet",
            hint="price and buy its history with `upskill drift SKILL -m MODEL --start`",
        )
    run_folder_at(Path(found.run))
    with only_one_in(Path(found.run)):
        # Another process may have changed it before this one got the lock.
        found = read_watch(prepared.path) or found
        today = clock().astimezone(UTC).date().isoformat()
        call = _Call(prepared, found, client_for(settings.values), today=today, progress=progress)
        if acknowledge:
            if found.alarm is None:
                raise UsageError(f"{found.skill} on {found.student}: there is no alarm to acknowledge")
            return call.result("acknowledged", call.kept(acknowledged(found)))
        require_unchanged(found, prepared.terms, prepared.cases)
        if found.alarm is not None:
            return call.attributed()
        if found.mode is None:
            return call.part()
        if max([found.bought[-1], *(night.date for night in found.nights[-1:])]) >= today:
            return call.result("watching", found)
        return call.night()


class _Counted(RunProgress):
    """Shows how many of the answers of one step are there."""

    def __init__(self, progress: Progress, what: str, total: int) -> None:
        self._progress, self._what, self._total, self._done = progress, what, total, 0
        progress.step(what, 0, total)

    def note(self, line: str) -> None:
        self._progress.note(line)

    def trial_finished(self, trial: Trial) -> None:
        self._done += isinstance(trial.outcome, Scored)
        self._progress.step(self._what, min(self._done, self._total), self._total)


class _Call:
    """One call, of one watch: asks, and writes the state after every step."""

    def __init__(
        self, prepared: Prepared, watch: Watch, client: MeteredClient, *, today: str, progress: Progress
    ) -> None:
        self._prepared, self._watch, self._client, self._progress = prepared, watch, client, progress
        self._before = replace(client.spent)
        self._today = today
        self._measured = prepared.plan.measured
        self._against: Arm = prepared.plan.against or "baseline"

    def kept(self, watch: Watch) -> Watch:
        """The state as it is on disk now."""
        keep_watch(self._prepared.path, watch)
        self._watch = watch
        return watch

    def result(self, event: Event, watch: Watch, *notes: str, unfinished: bool = False) -> DriftResult:
        served = self._prepared.evaluation.experiment.served[watch.student].fingerprint
        if served != watch.served:
            notes = (*notes, "the server does not describe the model as it did when the history was bought")
        return DriftResult(
            event=event,
            watch=watch,
            path=self._prepared.path,
            bought=purchase_since(self._client.spent, self._before),
            unfinished=unfinished,
            notes=notes,
        )

    def _ask(self, folder: str, turns: Sequence[tuple[str, int]], arm: Arm, what: str) -> list[Trial]:
        return ask_with_skill(
            self._prepared.evaluation,
            turns,
            run_folder_at(Path(self._watch.run) / folder),
            client=self._client,
            arm=arm,
            progress=_Counted(self._progress, what, len(turns)),
        )

    def _turns(self, repeats: Iterable[int]) -> list[tuple[str, int]]:
        return [(case.id, repeat) for repeat in repeats for case in self._watch.cases]

    def part(self) -> DriftResult:
        """Buy the next part of the history, and what is missing of earlier ones."""
        watch = self._watch
        if watch.bought and watch.bought[-1] >= self._today:
            return self.result("history", watch)
        history = run_folder_at(Path(watch.run) / "history").trials
        if watch.bought and not history.path.exists():
            raise EngineError(
                f"{history.path}: the answers of the history are gone", hint="buy a new history with --start"
            )
        due = watch.answers // watch.parts * (len(watch.bought) + 1)
        # Two answers per case first: where they are copies, no more of them are bought.
        trials: list[Trial] = []
        for repeats in dict.fromkeys((min(2, due), due)):
            turns = self._turns(range(1, repeats + 1))
            trials = self._ask("history", turns, self._measured, "history, with the skill")
            if _missing(trials, turns):
                return self.result(
                    "history", watch, _unfinished(trials, turns, "this part of the history"), unfinished=True
                )
            if repeats > 1 and (copies := _are_copies(trials)):
                self._require_no_temperature()
                break
        else:
            copies = False
        asked = min(BASELINE_ANSWERS, due if watch.parts > 1 else BASELINE_ANSWERS)
        turns = self._turns(range(1, asked + 1))
        baseline = self._ask("history", turns, self._against, "history, without the skill")
        if _missing(baseline, turns):
            return self.result(
                "history", watch, _unfinished(baseline, turns, "this part of the history"), unfinished=True
            )
        skilled, plain = _by_case(trials), _by_case(baseline)
        watch = replace(
            watch,
            bought=(*watch.bought, self._today),
            cases=tuple(
                replace(
                    case,
                    passed=skilled[case.id].passed,
                    answers=skilled[case.id].answers,
                    baseline_passed=plain[case.id].passed,
                    baseline_answers=plain[case.id].answers,
                )
                for case in watch.cases
            ),
        )
        if copies:
            return self.result("history", self.kept(self._complete(replace(watch, mode="case by case"), fewest=1)))
        if len(watch.bought) < watch.parts:
            return self.result("history", self.kept(watch))
        watch = self._complete(watch, fewest=FEWEST_ANSWERS)
        self._progress.step("simulating years without a change", 0, None)
        limit = alarm_limit(watch.expected, seed=watch.run)
        return self.result("history", self.kept(replace(watch, mode="rates", limit=limit)))

    def _complete(self, watch: Watch, *, fewest: int) -> Watch:
        few = [case.id for case in watch.cases if case.answers < fewest or not case.baseline_answers]
        if few:
            raise EngineError(
                f"{watch.skill} on {watch.student}: {count(len(few), 'case')} got fewer than {fewest} answers: "
                f"{', '.join(few[:5])}",
                hint="type the same command to ask for them again; `upskill cases check` shows checks that crash",
            )
        return watch

    def _require_no_temperature(self) -> None:
        if self._watch.terms.get("temperature") != 0:
            raise UsageError(
                f"{self._watch.skill} on {self._watch.student}: the answers to each case are copies of one another, so "
                "a history of them is worth one answer, and a cache would hide every change",
                hint="ask a server that does not cache; or set UPSKILL_TEMPERATURE=0 and start again: then nights are "
                "compared case by case",
            )

    def night(self) -> DriftResult:
        """Ask the answers of a night, and move the chart."""
        watch, expected = self._watch, self._watch.expected
        rates = dict(zip((case.id for case in watch.cases), expected.rates, strict=True))
        asked = rotation(len(watch.cases), first=len(watch.nights) * NIGHTLY)
        turns = [(watch.cases[place].id, watch.answers + 1 + turn) for place, turn in asked]
        trials = self._ask("nights", turns, self._measured, f"night {len(watch.nights) + 1}")
        if _missing(trials, turns):
            return self.result("watching", watch, _unfinished(trials, turns, "this night"), unfinished=True)
        answers = [(trial.case_id, _passed(trial)) for trial in trials]
        by_rate = watch.mode == "rates"
        level = raised(watch.level, [(rates[one], passed) for one, passed in answers]) if by_rate else 0.0
        served = Counter(trial.served_model for trial in trials).most_common(1)[0][0]
        tonight = Night(
            date=self._today,
            passed=tuple(one for one, passed in answers if passed),
            failed=tuple(one for one, passed in answers if not passed),
            expected=math.fsum(rates[one] for one, _ in answers) if by_rate else _same_side(watch, answers),
            level=level,
            served=served,
        )
        watch = replace(watch, nights=(*watch.nights, tonight))
        twice = () if by_rate else _twice(watch)
        if twice or (watch.limit is not None and level > watch.limit):
            alarm = Alarm(
                date=self._today,
                night=len(watch.nights),
                level=level,
                limit=watch.limit,
                since=watch.since_rise[0].date if by_rate else _first_change(watch, twice),
                cases=twice,
            )
            # On disk before anything is asked: an alarm survives whatever ends its attribution.
            self.kept(replace(watch, alarm=alarm))
            return self.attributed()
        return self.result("night", self.kept(watch))

    def attributed(self) -> DriftResult:
        """The alarm with what it comes from; asks only for what is missing of that."""
        watch, alarm = self._watch, self._watch.alarm
        if alarm is None or alarm.attribution is not None:
            return self.result("alarm", watch)
        folder = f"alarm-{len(watch.past) + 1}"
        fresh: dict[Arm, list[Trial]] = {}
        for repeats in range(1, (BASELINE_ANSWERS if watch.mode == "rates" else 1) + 1):
            turns = self._turns(range(1, repeats + 1))
            for arm, words in ((self._against, "without"), (self._measured, "with")):
                fresh[arm] = self._ask(folder, turns, arm, f"alarm, {words} the skill")
                if _missing(fresh[arm], turns) or len(_by_case(fresh[arm])) < len(watch.cases):
                    return self.result(
                        "alarm", watch, _unfinished(fresh[arm], turns, "the attribution"), unfinished=True
                    )
        alarm = replace(alarm, attribution=self._attribution(fresh[self._measured], fresh[self._against], alarm))
        return self.result("alarm", self.kept(replace(watch, alarm=alarm)))

    def _attribution(self, skilled: list[Trial], plain: list[Trial], alarm: Alarm) -> Attribution:
        watch = self._watch
        ids = [case.id for case in watch.cases]
        now, now_plain = ([counts[one] for one in ids] for counts in (_by_case(skilled), _by_case(plain)))
        before = [CaseCount(passed=case.baseline_passed, answers=case.baseline_answers) for case in watch.cases]
        nights = max(1, len(watch.bought))
        with_skill = change_between(watch.counts, now, nights=nights)
        without = change_between(before, now_plain, nights=min(nights, BASELINE_ANSWERS))
        pairing = pair_trials([*skilled, *plain], arm=self._measured, against=self._against)
        lift = these_cases(pairing.tallies)
        graded, now_fail, now_pass = self._graded_again()
        # A model that fell takes the same share of both arms.
        predicted = without.before * with_skill.mean / with_skill.before if with_skill.before else 0.0
        cause: Cause
        sure = True
        if graded and (now_fail - now_pass) / graded >= BROKEN:
            cause = "the checks broke"
        elif with_skill.interval.high >= 0:
            cause = "not confirmed"
        elif predicted > -LEAST_FALL:
            cause, sure = "undecided", False
        elif without.mean <= predicted / 2:
            cause, sure = "the model fell", without.interval.below_zero
        else:
            cause = "the skill hurts now" if lift.below_zero else "the skill helps less"
            sure = without.interval.low > predicted
        rates = watch.expected.rates
        asked = Counter(one for night in watch.since_rise for one in (*night.passed, *night.failed))
        recent = Counter(one for night in watch.since_rise for one in night.passed)
        changed = [
            (one, rate)
            for one, rate, fresh in zip(ids, rates, now, strict=True)
            if one in alarm.cases
            or changed_side(rate, CaseCount(passed=fresh.passed + recent[one], answers=fresh.answers + asked[one]))
        ]
        return Attribution(
            cause=cause,
            sure=sure,
            skilled=with_skill,
            baseline=without,
            lift=sum(pair.passed - pair.passed_against for pair in pairing.pairs) / len(pairing.pairs),
            lift_interval=lift,
            regraded=graded,
            now_fail=now_fail,
            now_pass=now_pass,
            fell=tuple(one for one, rate in changed if rate > 0.5),
            rose=tuple(one for one, rate in changed if rate <= 0.5),
            judged=watch.terms.get("judge") is not None,
        )

    def _graded_again(self) -> tuple[int, int, int]:
        """Stored answers of the history that the present checks graded, and those that fail or pass only now."""
        cases = {case.id: case for case in self._prepared.plan.cases}
        graded = now_fail = now_pass = 0
        with TemporaryDirectory() as scratch:
            context = grading_context(self._prepared.evaluation.experiment.sandbox, Path(scratch))
            for trial in run_folder_at(Path(self._watch.run) / "history").trials.read():
                if not isinstance(trial.outcome, Scored) or trial.case_id not in cases:
                    continue
                judge = identity(self._prepared.evaluation.experiment.judge)
                try:
                    grade = grade_without_asking(cases[trial.case_id], trial, context, judge=judge)
                except checks.NotRecorded:
                    continue
                if grade is None:
                    continue
                passes = replace(trial.outcome, grade=grade).passed
                graded += 1
                now_fail += trial.outcome.passed and not passes
                now_pass += passes and not trial.outcome.passed
        return graded, now_fail, now_pass


def _passed(trial: Trial) -> bool:
    return isinstance(trial.outcome, Scored) and trial.outcome.passed


def _by_case(trials: Iterable[Trial]) -> dict[str, CaseCount]:
    passed, answers = Counter[str](), Counter[str]()
    for trial in trials:
        answers[trial.case_id] += 1
        passed[trial.case_id] += _passed(trial)
    return {one: CaseCount(passed=passed[one], answers=number) for one, number in answers.items()}


def _missing(trials: Sequence[Trial], turns: Sequence[tuple[str, int]]) -> bool:
    """Whether too many answers are missing, because they errored or a cap was reached."""
    return len(turns) - len(trials) > MOST_MISSING * len(turns)


def _unfinished(trials: Sequence[Trial], turns: Sequence[tuple[str, int]], what: str) -> str:
    return (
        f"{what} does not count yet: {len(turns) - len(trials)} of {count(len(turns), 'answer')} are missing, because "
        "they errored or a cap was reached; the next call asks for these alone"
    )


def _are_copies(trials: Iterable[Trial]) -> bool:
    return are_copies(
        [
            Pair(
                case_id=trial.case_id,
                repeat=trial.repeat,
                passed=_passed(trial),
                passed_against=False,
                answers=(trial.answer_digest, ""),
            )
            for trial in trials
        ]
    )


def _sides(watch: Watch) -> dict[str, bool]:
    """Whether each case passed in its history."""
    return {case.id: 2 * case.passed > case.answers for case in watch.cases}


def _same_side(watch: Watch, answers: Sequence[tuple[str, bool]]) -> float:
    """Answers of a night that pass if every case is on the side of its history."""
    sides = _sides(watch)
    return float(sum(sides[one] for one, _ in answers))


def _twice(watch: Watch) -> tuple[str, ...]:
    """Cases whose last two answers were both on the other side than their history."""
    sides = _sides(watch)
    seen: dict[str, list[bool]] = {}
    for night in watch.nights[watch.watched_from :]:
        for ids, passed in ((night.passed, True), (night.failed, False)):
            for one in ids:
                seen.setdefault(one, []).append(passed)
    return tuple(one for one, ends in seen.items() if len(ends) > 1 and sides[one] not in ends[-2:])


def _first_change(watch: Watch, cases: Sequence[str]) -> str:
    """The first of the last nights on which one of these cases was on the other side."""
    sides = _sides(watch)
    return next(
        night.date
        for night in watch.nights[watch.watched_from :]
        if any((one in night.passed) != sides[one] for one in cases if one in (*night.passed, *night.failed))
    )
