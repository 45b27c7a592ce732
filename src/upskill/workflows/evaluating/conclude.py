"""Concludes from finished trials: the report of each student, and the evaluation."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from upskill import measuring, storage
from upskill.domain import (
    Arm,
    ArmSummary,
    Errored,
    Evaluation,
    JudgeReport,
    Label,
    Lift,
    Purchase,
    Qualification,
    RunEnd,
    Scored,
    Skill,
    Student,
    StudentEnd,
    StudentReport,
    Trial,
    TrialPlan,
    harness_info,
)
from upskill.domain.family import by_family
from upskill.domain.look import LookTerms
from upskill.domain.run_end import end_by_design, reason_to_stop
from upskill.measuring.copies import collapse_copies
from upskill.measuring.verdict import CutShort
from upskill.models import Endpoint
from upskill.reporting.wording import arm_name
from upskill.workflows.evaluating.schedule import (
    MOST_TRIES,
    NOT_WORTH_ANOTHER_TRY,
    Schedule,
    SequentialSchedule,
)

_CUT_SHORT: Mapping[CutShort, StudentEnd] = {
    "interrupted": "interrupted",
    "down": "endpoint down",
    "budget": "cap reached",
}


@storage.collector_paused()  # a run of 100,000 trials makes that many values and lets none go
def summarise(
    plan: TrialPlan,
    finished: Iterable[Trial],
    *,
    skill: Skill,
    run: str,
    schedules: Mapping[str, Schedule],
    cut_short: Callable[[Student], CutShort | None],
    min_lift: float | None,
    looks: Mapping[str, LookTerms] = MappingProxyType({}),
    case_states: tuple[Qualification, ...] = (),
    bought: Purchase,
    notes: tuple[str, ...],
    end: RunEnd,
    sandbox: str | None = None,
    judge: JudgeReport | None = None,
) -> Evaluation:
    """The evaluation as it is reported, whether its trials were run just now or graded again."""
    mine = by_student(finished)
    labels = {one.case_id: one.labels for one in case_states}
    reports = tuple(
        conclude(
            student,
            plan,
            schedules[student.name],
            mine[student.name],
            min_lift=min_lift,
            cut_short=cut_short(student),
            labels=labels,
            terms=looks.get(student.name, measuring.FIRST_LOOK),
        )
        for student in plan.students
    )
    return Evaluation(
        skill=skill,
        run=run,
        cases=len(plan.cases),
        repeats=plan.repeats,
        planned=len(plan),
        design=plan.design,
        min_lift=min_lift,
        students=reports,
        case_states=case_states,
        bought=bought,
        notes=(
            *notes,
            *_copies_notes(plan, schedules),
            *_cut_notes(plan, mine),
            *_no_tools_notes(plan, mine),
            *_judge_notes(reports),
            *_models_notes(reports),
            *_few_cases_notes(plan, mine, looks),
        ),
        end=end,
        sandbox=sandbox,
        judge=judge,
    )


def by_student(trials: Iterable[Trial]) -> defaultdict[str, list[Trial]]:
    """The trials of each student, in their order."""
    found: defaultdict[str, list[Trial]] = defaultdict(list)
    for trial in trials:
        found[trial.student].append(trial)
    return found


def students_end(end: RunEnd, students: Iterable[Endpoint], clean: Callable[[str], str]) -> RunEnd:
    """The end without outages of other models: a judge that is down makes trials err, and each of them says so."""
    models = {endpoint.model for endpoint in students}
    outages = (replace(outage, said=clean(outage.said)) for outage in end.outages if outage.model in models)
    return replace(end, outages=tuple(outages))


def end_notes(end: RunEnd, students: Iterable[Endpoint]) -> tuple[str, ...]:
    """The cap that a run reached and the endpoints that went down, for people."""
    down = {outage.model: outage.said for outage in end.outages}
    return (
        *cap_notes(end),
        *(
            f"{student.name}: the endpoint went down and nothing more was sent to it ({down[student.model]})"
            for student in students
            if student.model in down
        ),
    )


def cap_notes(end: RunEnd) -> tuple[str, ...]:
    """The cap that a run reached, for people; empty where it reached none."""
    return () if end.cap is None else (f"stopped at {end.cap}",)


def cut_short_by(end: RunEnd, student: Student, schedule: Schedule) -> CutShort | None:
    """What ended a student's trials before its schedule did; `None` where nothing did."""
    if end.interrupted:
        return "interrupted"
    # Cases that are never answered are run again at the end, all together, and look like an endpoint that is down.
    # By then every case was asked once: what is missing are dropped pairs, and those have a rule of their own.
    if end.has_outage(student.model) and not schedule.has_begun_all:
        return "down"
    return "budget" if end.cap is not None else None


def _models_notes(reports: Sequence[StudentReport]) -> Iterator[str]:
    """Which models the skill helps even where one of them is to be called the best."""
    if len(reports) < 2 or all(report.holds_among is None for report in reports):
        return
    names = [report.student.name for report in reports if report.holds_among]
    levels = {f"{round(report.lifts[0].confidence * 100, 1):g}%" for report in reports if report.lifts}
    own = levels.pop() if len(levels) == 1 else "level"
    yield (
        f"each model has its own {own}; corrected for {len(reports)} models, the skill helps "
        f"{', '.join(names) or 'none of them for sure'}"
    )


def _copies_notes(plan: TrialPlan, schedules: Mapping[str, Schedule]) -> Iterator[str]:
    """Notes on students that gave the same answers again."""
    for name, schedule in schedules.items():
        if schedule.copies:
            who = f"{name}: " if len(plan.students) > 1 else ""
            yield f"{who}repeats are copies of the first answers, so each case counts once"


def _few_cases_notes(
    plan: TrialPlan, trials: Mapping[str, list[Trial]], looks: Mapping[str, LookTerms]
) -> tuple[str, ...]:
    """What the cases cannot exclude that the student with the fewest was compared on, now and in earlier looks."""
    if plan.against is None:
        return ()
    scored = []
    for name in (student.name for student in plan.students):
        cells = {(one.case_id, one.arm) for one in trials[name] if isinstance(one.outcome, Scored)}
        earlier = looks.get(name, measuring.FIRST_LOOK).prior
        scored.append(cells | {(case.case_id, arm) for case in earlier for arm in plan.arms[:2]})
    seen = min(
        ([case for case in plan.cases if {(case.id, arm) for arm in plan.arms[:2]} <= mine] for mine in scored), key=len
    )
    note = measuring.breakage_note(cases=len(seen), families=len(by_family(seen)))
    return () if note is None else (note,)


def _cut_notes(plan: TrialPlan, trials: Mapping[str, list[Trial]]) -> Iterator[str]:
    """Notes on answers that were cut at the token limit, which explain a low pass rate."""
    for student in plan.students:
        scored = [trial for trial in trials[student.name] if isinstance(trial.outcome, Scored)]
        cut = Counter(trial.arm for trial in scored if isinstance(trial.outcome, Scored) and trial.outcome.end == "cut")
        if cut:
            who = f"{student.name}: " if len(plan.students) > 1 else ""
            where = ", ".join(f"{arm_name(arm, plan.harness)} {cut[arm]}" for arm in plan.arms if cut[arm])
            length = "" if student.max_output_tokens is None else f" at {student.max_output_tokens:,} tokens"
            yield (
                f"{who}{cut.total()} of {len(scored)} answers were cut{length} ({where}); "
                "--max-output-tokens lets them be longer"
            )


def _no_tools_notes(plan: TrialPlan, trials: Mapping[str, list[Trial]]) -> tuple[str, ...]:
    """Notes on students that never used a tool: their server may not support tools, and a pass rate of 0 hides that."""
    if not harness_info(plan.harness).with_tools:
        return ()
    notes = []
    for name, mine in trials.items():
        refused = next((words for trial in mine if (words := _refusal_of_tools(trial)) is not None), None)
        scored = [trial for trial in mine if isinstance(trial.outcome, Scored)]
        if refused is not None and not scored:
            notes.append(f"{name}: the server refuses tools ({refused[:200]}); ask it without them: --harness chat")
        elif scored and all(trial.turns == 1 for trial in scored):
            notes.append(
                f"{name}: never called a tool in {len(scored)} attempts; "
                "if its server does not pass tools on, ask it without them: --harness chat"
            )
    return tuple(notes)


def _judge_notes(reports: tuple[StudentReport, ...]) -> Iterator[str]:
    """Notes on lifts that rest on a judge whose error rate is not known."""
    for report in reports:
        error = report.judge_error
        if error is not None and error.interval is None:
            who = f"{report.student.name}: " if len(reports) > 1 else ""
            answers = f"{error.compared} answers that other assertions could decide"
            yield f"{who}the judge's error rate was not measured ({answers}); the interval does not include it"


def _refusal_of_tools(trial: Trial) -> str | None:
    """The error message of a server that refuses tools; `None` where there is none."""
    outcome = trial.outcome
    if isinstance(outcome, Errored) and outcome.fault == "provider" and "tool" in outcome.message.lower():
        return outcome.message
    return None


def conclude(
    student: Student,
    plan: TrialPlan,
    schedule: Schedule,
    finished: list[Trial],
    *,
    min_lift: float | None = None,
    cut_short: CutShort | None = None,
    labels: Mapping[str, tuple[Label, ...]] | None = None,
    terms: LookTerms = measuring.FIRST_LOOK,
) -> StudentReport:
    """The report of one student, under the terms of its look. Trials bought after a decision are counted apart."""
    ran = finished
    spent = measuring.spent_on(ran, priced=True) if student.price is not None else None
    if cut_short is not None and _has_run_all(plan, ran):
        cut_short = None  # what ended the run came after the last trial of this student
    finished = _without_superseded(ran)
    counted = [trial for trial in finished if schedule.counts(trial)]
    priced = student.price is not None
    arms = tuple(_arm(arm, counted, ran, cases=len(plan.cases), priced=priced) for arm in plan.arms)
    report = StudentReport(
        student=student,
        harness=plan.harness,
        verdict=None,
        sentence="no baseline was run, so nothing is said about lift",
        arms=arms,
        lifts=(),
        spent=spent,
        end=_end_of(None, cut_short),
        answered_by=_answered_by(student, counted),
    )
    if plan.against is None:
        return report
    pairing, level = _paired(schedule, counted, plan, terms, cut_short)
    # Also what was lost before the run was resumed, and where no verdict rests on the pair.
    pairing = measuring.with_losses(pairing, ran)
    judged = _judge(pairing, level, schedule, counted, plan=plan, min_lift=min_lift, cut_short=cut_short, terms=terms)
    error = measuring.measure_judge_error(pairing, finished, level, claim=judged.claim)
    judgement = measuring.heed_judge_error(judged, error, min_lift=min_lift)
    reason = reason_to_stop(judgement.reason, verdict=judgement.verdict, clears=judgement.clears)
    if judgement.verdict != judged.verdict and judged.reason == "decided":
        reason = "judge"
    return replace(
        report,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        lifts=() if judgement.lift is None else (judgement.lift, *_beside(plan, counted)),
        claim=judgement.claim,
        stopped=reason,
        end=_end_of(reason, cut_short),
        clears=judgement.clears,
        # Over the pairs that the verdict rests on. These lifts decide nothing.
        label_lifts=measuring.lift_by_label(pairing, labels or {}, level),
        judge_error=error,
        earlier_pairs=sum(tally.pairs for tally in pairing.prior),
        holds_among=measuring.holds_among(judgement, pairing, level, models=len(plan.students)),
        late=sum(trial.calls > 0 for trial in finished) - sum(trial.calls > 0 for trial in counted),
    )


def _has_run_all(plan: TrialPlan, finished: list[Trial]) -> bool:
    """Whether nothing is left to run of a student: each of its trials was scored, or tried as often as allowed."""
    scored: set[tuple[str, int, str]] = set()
    tries: Counter[tuple[str, int, str]] = Counter()
    for trial in finished:
        cell = (trial.case_id, trial.repeat, trial.arm)
        if isinstance(trial.outcome, Scored):
            scored.add(cell)
        elif trial.outcome.was_run:
            tries[cell] += MOST_TRIES if trial.outcome.fault in NOT_WORTH_ANOTHER_TRY else 1
    scored.update(cell for cell, number in tries.items() if number >= MOST_TRIES)
    return len(scored) == plan.trials_per_student


def _arm(arm: Arm, counted: list[Trial], ran: list[Trial], *, cases: int, priced: bool) -> ArmSummary:
    """The figures of an arm over the trials that count, with what was lost in all that were run."""
    losses = measuring.count_losses(ran, arm=arm)
    summary = measuring.summarise_arm(counted, arm=arm, cases=cases, priced=priced)
    return replace(summary, lost=losses.lost, refused=losses.refused)


def _without_superseded(finished: list[Trial]) -> list[Trial]:
    """The latest scored trial per case, arm and repeat; a trial that was called off goes once it was run after all."""
    latest: dict[tuple[str, str, int], Trial] = {}
    for trial in finished:
        if isinstance(trial.outcome, Scored):
            latest[trial.case_id, trial.arm, trial.repeat] = trial
    return [
        trial
        for trial in finished
        if latest.get((trial.case_id, trial.arm, trial.repeat), trial) is trial
        or (isinstance(trial.outcome, Errored) and trial.outcome.was_run)
    ]


def _beside(plan: TrialPlan, counted: list[Trial]) -> tuple[Lift, ...]:
    """The lifts of arms that were run beside the measured one. They decide nothing: they explain."""
    level = measuring.SEQUENTIAL if plan.design == "sequential" else measuring.FIXED
    against = plan.against or "baseline"
    pairings = (
        measuring.pair_trials(counted, arm=arm, against=against, families=plan.families) for arm in plan.arms[2:]
    )
    lifts = (measuring.measure_lift(collapse_copies(pairing), level) for pairing in pairings)
    return tuple(lift for lift in lifts if lift is not None)


def _paired(
    schedule: Schedule, counted: list[Trial], plan: TrialPlan, terms: LookTerms, cut_short: CutShort | None
) -> tuple[measuring.Pairing, measuring.Level]:
    """The pairs that the verdict rests on, and how strictly their design tests.

    Whoever goes on after a cap looks more than once, so a plan that a cap ended is tested as one that may stop early.
    """
    if isinstance(schedule, SequentialSchedule):
        pairing, level = schedule.pairing, schedule.level
    else:
        against = plan.against or "baseline"
        pairing = measuring.pair_trials(counted, arm=plan.measured, against=against, families=plan.families)
        looks = 1 if cut_short is None else measuring.SEQUENTIAL.looks
        pairing, level = collapse_copies(pairing), measuring.Level(terms.level, looks=looks)
    prior = measuring.tallies_of(terms.prior)
    if measuring.repeats_earlier(pairing.pairs, terms.prior):
        asked = {pair.case_id for pair in pairing.pairs}
        prior = tuple(tally for tally in prior if tally.case_id not in asked)
    return replace(pairing, prior=prior), level


def _judge(
    pairing: measuring.Pairing,
    level: measuring.Level,
    schedule: Schedule,
    counted: list[Trial],
    *,
    plan: TrialPlan,
    min_lift: float | None,
    cut_short: CutShort | None,
    terms: LookTerms,
) -> measuring.Judgement:
    decision = None
    if isinstance(schedule, SequentialSchedule):
        decision = schedule.end("cap" if cut_short is None or cut_short == "down" else cut_short)
    if copied := measuring.repeats_earlier(pairing.pairs, terms.prior):
        decision = None  # it counted answers twice
    tokens = measuring.measure_tokens(counted, arm=plan.measured, against=plan.against or "baseline", level=level)
    # A decision stands that was reached before the endpoint went down or the person stopped.
    decided = decision is not None and decision.reason not in ("cap", "budget", "interrupted")
    judgement = measuring.judge(
        pairing,
        decision=decision,
        tokens=tokens,
        min_lift=min_lift,
        level=level,
        cut_short=None if decided else cut_short,
        arms=len(plan.arms) if harness_info(plan.harness).with_tools else None,
    )
    if copied:
        once = f"{judgement.sentence}; the answers are copies of earlier ones, and count once"
        judgement = replace(judgement, sentence=once)
    if not terms.removed or (judgement.claim is None and not judgement.clears):
        return judgement
    whole = replace(pairing, prior=(*pairing.prior, *measuring.tallies_of(terms.removed)))
    again = measuring.judge(whole, tokens=tokens, min_lift=min_lift, level=level)
    return measuring.only_if_both(judgement, again, removed=len(terms.removed))


def _end_of(reason: str | None, cut_short: CutShort | None) -> StudentEnd:
    """How a student's trials ended. A decision stands, whatever ended the run after it."""
    if (by_design := end_by_design(reason)) is not None:
        return by_design
    return "plan finished" if cut_short is None else _CUT_SHORT[cut_short]


def _answered_by(student: Student, trials: Iterable[Trial]) -> tuple[str, ...]:
    """The model names that servers reported, without the one that was asked for."""
    names = {trial.served_model for trial in trials if trial.served_model}
    return tuple(sorted(name for name in names if name != student.model and not student.model.endswith(f"/{name}")))
