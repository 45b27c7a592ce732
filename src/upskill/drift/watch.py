"""Watches a skill: buys its history, asks some answers every night, and says what an alarm comes from.

Every answer is in a run folder before it counts, and the state is written after every step: whatever ends a call, the
next one goes on where it was. Nothing is taken from the trial store: what is stored shows no drift.
"""

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
from upskill.core.nouns import Arm, Case, Purchase, Scored, Trial, TrialPlan, harness_info
from upskill.core.nouns.text import count, on_one_line, shortened
from upskill.core.progress import CountedAnswers, PricedPlan, Progress
from upskill.core.runs.run_folders import new_folder, only_one_in, run_folder_at
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.skills import read_skill
from upskill.core.statistics.intervals import these_cases
from upskill.core.statistics.pairs import are_copies, pair_trials
from upskill.core.trials.harness import load_harness
from upskill.core.trials.judge import grade_without_asking, grading_context, identity
from upskill.drift import chart
from upskill.drift.chart import FEWEST_ANSWERS, HISTORY_NIGHTS, NIGHTLY, NO_ANSWERS, YEAR, CaseCount
from upskill.drift.state import Alarm, Attribution, Cause, Night, Watch, WatchedCase, keep_watch, read_watch, state_path
from upskill.errors import EngineError, UsageError
from upskill.evaluation.estimate import Estimate, client_for, estimate_plan, purchase_since, seconds_per_call
from upskill.evaluation.evaluate import ask_with_skill
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import PreparedEvaluation, prepare

ANSWERS = 10
"""Answers per case of a history."""
BESIDE = 2
"""Answers per case without the skill in a history, and in each arm after an alarm."""
MOST_MISSING = 0.20
"""A night, or a part of a history, with a larger share of errored answers does not count, and is asked again."""
BROKEN = 0.05
"""A larger share of stored answers that pass no more when they are graded again: the checks broke."""
LIKELY = 0.65
"""The part of a 95% interval that covers 80%: what lies outside of it is called improbable."""

Clock = Callable[[], datetime]
Turns = Sequence[tuple[str, int]]
Step = Literal["night", "start", "acknowledge"]
Event = Literal["history", "watching", "night", "alarm", "acknowledged"]
"""A part of the history is bought or missing; nothing is left to do today; a night without an alarm; an alarm, of today
or before; an alarm was acknowledged."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DriftOrder:
    """What a person asks `upskill drift` for, of one skill and one model."""

    skill: Path
    model: str
    case_file: Path | None = None
    answers: int | None = None
    at_once: bool = False
    """Buy the history in one night: what that night has in common stays in it, so the limit is wider."""


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
    def against(self) -> Arm:
        return self.plan.against or "baseline"

    @property
    def prices(self) -> dict[str, Estimate]:
        """What it takes, by the prices of today: the history, a year of nights, and each alarm."""
        measured, answers = self.plan.measured, self.order.answers or ANSWERS
        night = self._priced_night(measured)
        return {
            "history": Estimate.total((self._priced(measured, answers), self._priced(self.against, BESIDE))),
            "a year of nights": Estimate.total([night] * YEAR),
            "each alarm": Estimate.total(self._priced(arm, BESIDE) for arm in (self.against, measured)),
        }

    @property
    def price_lines(self) -> list[str]:
        """The prices, for a person."""
        return [f"{what}: {one.calls}; price {one.price}" for what, one in self.prices.items()]

    def _priced_night(self, arm: Arm) -> Estimate:
        whole, rest = divmod(NIGHTLY, len(self.cases))
        parts = [self._priced(arm, whole)] if whole else []
        return Estimate.total([*parts, self._priced(arm, 1, cases=self.plan.cases[:rest])] if rest else parts)

    def _priced(self, arm: Arm, repeats: int, *, cases: tuple[Case, ...] | None = None) -> Estimate:
        one, plan = self.evaluation.experiment, replace(self.plan, arms=(arm,), repeats=repeats, design="fixed")
        plan = plan if cases is None else replace(plan, cases=cases)
        pace = seconds_per_call(plan.students, plan.harness, Path(self.evaluation.settings.runs_dir))
        return estimate_plan(plan, one.requests, trial_limits=one.trial_limits, judge=one.judge, pace=pace)


def prepare_watch(
    order: DriftOrder,
    settings: ResolvedSettings,
    *,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
    anew: bool = False,
) -> Prepared:
    """Read, resolve and probe. Raises, with what to do, if no call could succeed. With `anew`, cases that
    a watch knows are looked at again."""
    if order.answers is not None and not FEWEST_ANSWERS <= order.answers <= 1_000:
        why = "with fewer answers per case a history misses falls of 20 points"
        raise UsageError(f"--answers must be at least {FEWEST_ANSWERS}, not {order.answers}", hint=why)
    values = replace(settings.values, models=(order.model,), store=False)
    path = state_path(values, skill=read_skill(order.skill).name, student=order.model)
    known = None if anew else read_watch(path)
    prepared = prepare(
        EvaluationOrder(skill=order.skill, case_file=order.case_file, repeats=1),
        values,
        known=() if known is None else known.qualifications,
        unchosen=settings.unchosen,
        announce=announce,
        needs_keys=needs_keys,
    )
    experiment, plan = prepared.experiment, prepared.experiment.plan
    (student,) = plan.students
    terms: dict[str, JsonValue] = {
        "text of the skill": experiment.skill.digest,
        "model": student.model,
        "server": student.endpoint,
        "temperature": student.temperature,
        "max_output_tokens": student.max_output_tokens,
        "harness": load_harness(plan.harness).version,
        "judge": identity(experiment.judge),
        "sandbox": None if experiment.sandbox is None else experiment.sandbox.backend,
    }
    if harness_info(plan.harness).with_tools:
        terms |= {"max_turns": experiment.trial_limits.turns, "max_trial_tokens": experiment.trial_limits.tokens}
    cases = tuple(
        WatchedCase(id=case.id, digest=case.digest, prompt=shortened(on_one_line(case.prompt), 80))
        for case in sorted(plan.cases, key=lambda case: case.digest)  # in an order that no author chose
    )
    return Prepared(order=order, evaluation=prepared, path=path, terms=terms, cases=cases)


def watch_skill(
    order: DriftOrder,
    settings: ResolvedSettings,
    *,
    clock: Clock,
    progress: Progress,
    client: MeteredClient | None = None,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
    step: Step = "night",
) -> DriftResult:
    """Do what is due today: the next part of the history, a night, or what is left of an alarm. Raises where the skill,
    its cases or the settings are not those of the history. Several watches share a client, and so its caps.

    `start` begins a history. One that is begun is continued, and one that is complete stays, unless something changed
    or an alarm ended it."""
    prepared = prepare_watch(order, settings, announce=progress.announce)
    if step == "start":
        prepared = _begin(prepared, settings, progress=progress, confirm=confirm)
    found = read_watch(prepared.path)
    if found is None:
        name = f"{prepared.evaluation.experiment.skill.name} on {order.model}"
        raise UsageError(f"{name}: is not watched yet", hint="price and buy its history: add --start")
    place = run_folder_at(settings.place("runs_dir") / found.run)
    with only_one_in(place.path):
        watch = read_watch(prepared.path) or found  # another process may have changed it before this one got the lock
        today = clock().astimezone(UTC).date().isoformat()
        asked = client_for(settings.values) if client is None else client
        call = _Call(prepared, watch, place.path, asked, today=today, progress=progress)
        if step == "acknowledge":
            if watch.alarm is None:
                raise UsageError(f"{watch.name}: there is no alarm to acknowledge")
            return call.result("acknowledged", watch.acknowledged())
        if problems := list(watch.changes(prepared.terms, prepared.cases)):
            raise UsageError(
                f"{watch.name}: not what the history was bought for, so nothing was asked",
                problems=problems,
                hint=f"its cases are those of {watch.case_source} (-t FILE); undo the change, or buy a new history: "
                "add --start",
            )
        try:
            return call.due()
        except _TooFewAnswers as missing:
            return call.unfinished(str(missing))


def _begin(
    prepared: Prepared,
    settings: ResolvedSettings,
    *,
    progress: Progress,
    confirm: Callable[[PricedPlan], bool],
) -> Prepared:
    """Price a history, and write the state of a watch that has bought none of it yet, where one is to begin."""
    order, folder = prepared.order, prepared.path.parent
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"{folder}: cannot be created ({error.strerror})") from None
    with only_one_in(folder):
        watch = read_watch(prepared.path)
        if watch is not None and watch.alarm is None and not any(watch.changes(prepared.terms, prepared.cases)):
            if order.answers not in (None, watch.answers) or order.at_once > (watch.parts == 1):
                begun = f"{count(watch.answers, 'answer')} per case on {count(watch.parts, 'night')}"
                hint = f"to begin again, remove {prepared.path}"
                raise UsageError(f"{watch.name}: a history of {begun} is there", hint=hint)
            return prepared
        if watch is not None and watch.alarm is not None and watch.alarm.attribution is None:
            hint = "run `upskill drift` without --start first, or acknowledge the alarm with --acknowledge"
            raise UsageError(f"{watch.name}: the alarm of {watch.nights[-1].date} is not attributed yet", hint=hint)
        prepared = prepared if watch is None else prepare_watch(order, settings, anew=True)
        for line in prepared.price_lines:
            progress.note(line)
        price = prepared.prices["history"]
        if price.is_much and not confirm(price):
            raise UsageError("nothing was run and nothing was spent")
        if watch is not None and watch.bought:
            aside = prepared.path.with_suffix(".old.json")
            keep_watch(aside, watch)
            progress.note(f"the history until now, with {count(len(watch.nights), 'night')}, is kept in {aside}")
        experiment, parts = prepared.evaluation.experiment, 1 if order.at_once else HISTORY_NIGHTS
        begun_watch = Watch(
            skill=experiment.skill.name,
            student=order.model,
            terms=prepared.terms,
            case_source=str(prepared.evaluation.case_file),
            cases=prepared.cases,
            qualifications=prepared.evaluation.qualifications,
            answers=-(-(order.answers or ANSWERS) // parts) * parts,
            parts=parts,
            served=experiment.served[order.model].fingerprint,
            run=new_folder(settings.place("runs_dir"), f"drift-{experiment.skill.name}").name,
        )
        keep_watch(prepared.path, begun_watch)
        return prepared


class _TooFewAnswers(Exception):
    """So many answers are missing that a step does not count yet."""


class _Call:
    """One call, of one watch: asks, and writes the state after every step."""

    def __init__(
        self, prepared: Prepared, watch: Watch, run: Path, client: MeteredClient, *, today: str, progress: Progress
    ) -> None:
        self._prepared, self._watch, self._run, self._client = prepared, watch, run, client
        self._today, self._progress = today, progress
        self._before = replace(client.spent)
        self._measured, self._against = prepared.plan.measured, prepared.against

    def due(self) -> DriftResult:
        """What is due today."""
        watch = self._watch
        if watch.alarm is not None:
            return self._attributed(watch, watch.alarm)
        if watch.mode is None:
            return self._part()
        last = max([watch.bought[-1], *(night.date for night in watch.nights[-1:])])
        if last > self._today:
            raise EngineError(
                f"{watch.name}: its last night is of {last}, and today is {self._today}", hint="set the clock"
            )
        return self.result("watching") if last == self._today else self._night()

    def unfinished(self, problem: str) -> DriftResult:
        """What the call came to where a step does not count yet."""
        event: Event = (
            "alarm" if self._watch.alarm is not None else "history" if self._watch.mode is None else "watching"
        )
        result = self.result(event)
        return replace(result, unfinished=True, notes=(problem, *result.notes))

    def result(self, event: Event, changed: Watch | None = None) -> DriftResult:
        """What the call came to, with the state as it is on disk, after a change where there is one."""
        if changed is not None:
            keep_watch(self._prepared.path, changed)
            self._watch = changed
        described = "the server does not describe the model as it did when the history was bought"
        return DriftResult(
            event=event,
            watch=self._watch,
            path=self._prepared.path,
            bought=purchase_since(self._client.spent, self._before),
            notes=(described,) if self._serves_another else (),
        )

    @property
    def _serves_another(self) -> bool:
        return self._prepared.evaluation.experiment.served[self._watch.student].fingerprint != self._watch.served

    def _ask(self, folder: str, turns: Turns, arm: Arm, what: str) -> list[Trial]:
        """The answers to these turns. Raises `_TooFewAnswers` where too many are missing."""
        trials = ask_with_skill(
            self._prepared.evaluation,
            turns,
            run_folder_at(self._run / folder),
            client=self._client,
            arm=arm,
            progress=CountedAnswers(self._progress, len(turns), what=what),
        )
        if (missing := len(turns) - len(trials)) > MOST_MISSING * len(turns):
            raise _TooFewAnswers(
                f"{what}: does not count yet; {missing} of {count(len(turns), 'answer')} are missing, because they "
                "errored or a cap was reached; the next call asks for these alone"
            )
        return trials

    def _turns(self, repeats: int) -> Turns:
        return [(case.id, repeat) for repeat in range(1, repeats + 1) for case in self._watch.doubtful]

    def _part(self) -> DriftResult:
        """Buy the next part of the history, and what is missing of earlier ones."""
        watch, kept = self._watch, run_folder_at(self._run / "history").trials.path
        if watch.bought and watch.bought[-1] >= self._today:
            return self.result("history")
        if watch.bought and not kept.exists():
            hint = f"restore the run folder; or remove {self._prepared.path} and buy a new history with --start"
            raise EngineError(f"{kept}: the answers of the history are gone", hint=hint)
        due = watch.answers // watch.parts * (len(watch.bought) + 1)
        for repeats in dict.fromkeys((min(2, due), due)):  # copies are refused before more than two are bought
            skilled = self._ask("history", self._turns(repeats), self._measured, "history, with the skill")
            both = pair_trials(skilled, arm=self._measured, against=self._measured)  # each answer beside itself
            if (copies := are_copies(both.pairs)) and watch.terms.get("temperature") != 0:
                raise UsageError(
                    f"{watch.name}: the answers to each case are copies of one another, so a history of them is worth "
                    "one answer, and a cache would hide every change",
                    hint="ask a server that does not cache; or set UPSKILL_TEMPERATURE=0 and start again: then nights "
                    "are compared case by case",
                )
        plain = self._ask("history", self._turns(min(BESIDE, due)), self._against, "history, without the skill")
        given, without = _by_case(skilled), _by_case(plain)
        cases = tuple(
            replace(one, skilled=given.get(one.id, NO_ANSWERS), plain=without.get(one.id, NO_ANSWERS))
            for one in watch.cases
        )
        per_night = watch.answers // watch.parts
        nights = Counter((trial.repeat - 1) // per_night for trial in skilled)
        passing = Counter((trial.repeat - 1) // per_night for trial in skilled if trial.passed)
        watch = replace(
            watch,
            bought=(*watch.bought, self._today),
            cases=cases,
            bought_counts=tuple(CaseCount(passed=passing[nth], answers=nights[nth]) for nth in sorted(nights)),
        )
        if len(watch.bought) < watch.parts:
            return self.result("history", watch)
        few = [one.id for one in cases if one.skilled.answers < FEWEST_ANSWERS or not one.plain.answers]
        if few:
            raise EngineError(
                f"{watch.name}: {count(len(few), 'case')} got too few answers: {', '.join(few[:5])}",
                hint="type the same command to ask for them again; `upskill cases check` shows checks that crash",
            )
        if copies:
            return self.result("history", replace(watch, mode="case by case"))
        return self.result("history", replace(watch, mode="rates"))

    def _night(self) -> DriftResult:
        """Ask the answers of a night, and move the chart."""
        watch = self._watch
        by_rate = watch.mode == "rates"
        nightly = NIGHTLY if by_rate else min(NIGHTLY, len(watch.cases))
        asked = chart.rotation(len(watch.cases), first=len(watch.nights) * nightly, answers=nightly)
        turns = [(watch.cases[place].id, watch.answers + 1 + nth) for place, nth in asked]
        trials = self._ask("nights", turns, self._measured, f"night {len(watch.nights) + 1}")
        night = Night(
            date=self._today,
            passed=tuple(trial.case_id for trial in trials if trial.passed),
            failed=tuple(trial.case_id for trial in trials if not trial.passed),
        )
        watch = replace(watch, nights=(*watch.nights, night))
        changed, limit = () if by_rate else watch.changed_cases, watch.limit
        if not changed and (limit is None or watch.level <= limit):
            return self.result("night", watch)
        # On disk before anything is asked: an alarm survives whatever ends its attribution.
        alarm = Alarm(cases=changed)
        return self._attributed(self.result("alarm", replace(watch, alarm=alarm)).watch, alarm)

    def _attributed(self, watch: Watch, alarm: Alarm) -> DriftResult:
        """The alarm with what it comes from; asks only for what is missing of that."""
        if alarm.attribution is not None:
            return self.result("alarm")
        fresh: dict[Arm, list[Trial]] = {}
        for repeats in range(1, (BESIDE if watch.mode == "rates" else 1) + 1):
            for arm, words in ((self._against, "without"), (self._measured, "with")):
                what = f"what the alarm comes from, {words} the skill"
                fresh[arm] = self._ask(f"alarm-{len(watch.nights)}", self._turns(repeats), arm, what)
                if len(_by_case(fresh[arm])) < len(watch.doubtful):
                    raise _TooFewAnswers(f"{what}: a case has no answer yet; the next call asks for it")
        found = self._attribution(fresh[self._measured], fresh[self._against], alarm)
        return self.result("alarm", replace(watch, alarm=replace(alarm, attribution=found)))

    def _attribution(self, skilled: list[Trial], plain: list[Trial], alarm: Alarm) -> Attribution:
        watch, nights, noise = self._watch, len(self._watch.bought), self._watch.noise
        cases = watch.doubtful
        now, now_plain = ([counts[one.id] for one in cases] for counts in (_by_case(skilled), _by_case(plain)))
        given = chart.change_between([one.skilled for one in cases], now, nights=nights, noise=noise)
        without = chart.change_between([one.plain for one in cases], now_plain, nights=min(nights, BESIDE), noise=noise)
        pairing = pair_trials([*skilled, *plain], arm=self._measured, against=self._against)
        lift, (graded, now_fail, now_pass) = these_cases(pairing.tallies), self._graded_again()
        # A model that fell takes the same share of both arms.
        predicted = without.before * given.mean / given.before if given.before else 0.0
        fell = without.mean + LIKELY * (without.interval.high - without.mean) < 0
        stayed = without.mean - LIKELY * (without.mean - without.interval.low) > predicted
        cause: Cause = "undecided"
        sure = True
        if graded and (now_fail - now_pass) / graded >= BROKEN:
            cause = "the checks broke"
        elif given.interval.high >= 0:
            cause = "not confirmed"
        elif fell and not stayed:
            cause, sure = "the model fell", without.interval.below_zero
        elif stayed and not fell:
            cause = "the skill hurts now" if lift.below_zero else "the skill helps less"
            sure = without.interval.low > predicted
        passed = Counter(one for night in watch.since_rise for one in night.passed)
        asked = Counter(one for night in watch.since_rise for one in night.asked)
        rates = watch.rates
        changed = [
            (case.id, rates[case.id] > 0.5)
            for case, one in zip(cases, now, strict=True)
            for recent in (CaseCount(passed=one.passed + passed[case.id], answers=one.answers + asked[case.id]),)
            if case.id in alarm.cases or chart.changed_side(rates[case.id], recent)
        ]
        return Attribution(
            cause=cause,
            sure=sure,
            skilled=given,
            baseline=without,
            lift=sum(pair.passed - pair.passed_against for pair in pairing.pairs) / len(pairing.pairs),
            lift_interval=lift,
            regraded=graded,
            now_fail=now_fail,
            now_pass=now_pass,
            fell=tuple(sorted(one for one, passed_before in changed if passed_before)),
            rose=tuple(sorted(one for one, passed_before in changed if not passed_before)),
            other_model=self._serves_another,
        )

    def _graded_again(self) -> tuple[int, int, int]:
        """Stored answers of the history that the present checks graded, and those that fail or pass only now."""
        experiment, ends = self._prepared.evaluation.experiment, Counter[tuple[bool, bool]]()
        cases = {case.id: case for case in experiment.plan.cases}
        with TemporaryDirectory() as scratch:
            context = grading_context(experiment.sandbox, Path(scratch))
            for trial in run_folder_at(self._run / "history").trials.read():
                if not isinstance(trial.outcome, Scored) or trial.case_id not in cases:
                    continue
                try:
                    grade = grade_without_asking(cases[trial.case_id], trial, context, judge=identity(experiment.judge))
                except checks.NotRecorded:
                    continue
                if grade is not None:
                    ends[trial.outcome.passed, replace(trial.outcome, grade=grade).passed] += 1
        return ends.total(), ends[True, False], ends[False, True]


def _by_case(trials: Iterable[Trial]) -> dict[str, CaseCount]:
    ends: dict[str, list[bool]] = {}
    for trial in trials:
        ends.setdefault(trial.case_id, []).append(trial.passed)
    return {one: CaseCount(passed=sum(passed), answers=len(passed)) for one, passed in ends.items()}
