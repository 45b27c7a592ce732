"""Concludes from finished trials: the report of each student, the evaluation, and notes that no decision reads."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from upskill.core import statistics
from upskill.core.cases.family import by_family
from upskill.core.models import Endpoint
from upskill.core.nouns import (
    Arm,
    ArmSummary,
    Case,
    Errored,
    Evaluation,
    JudgeReport,
    Label,
    Lift,
    Loads,
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
from upskill.core.nouns.look import CUT_SHORT, LookTerms, end_by_design, reason_to_stop
from upskill.core.nouns.skill import OtherSkills
from upskill.core.nouns.text import count
from upskill.core.runs.trial_log import collector_paused
from upskill.core.statistics.intervals import Ratio
from upskill.core.statistics.pairs import collapse_copies
from upskill.core.statistics.verdict import CutShort
from upskill.core.trials.schedule import (
    MOST_TRIES,
    NOT_WORTH_ANOTHER_TRY,
    Schedule,
    SequentialSchedule,
)
from upskill.report.wording import UNREAD, arm_name

_CUT_SHORT: Mapping[CutShort, StudentEnd] = {
    "interrupted": "interrupted",
    "down": "endpoint down",
    "budget": "cap reached",
}


@collector_paused()  # a run of 100,000 trials makes that many values and lets none go
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
    others: OtherSkills | None = None,
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
            terms=looks.get(student.name, statistics.FIRST_LOOK),
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
            *text_calls_notes(mine),
            *notes,
            *copies_notes(schedules),
            *cut_notes(plan.students, mine, arms={arm: arm_name(arm, plan.harness) for arm in plan.arms}),
            *(no_tools_notes(mine) if harness_info(plan.harness).with_tools else ()),
            *cut_listing_notes(mine, others, several=len(plan.students) > 1),
            *judge_notes(reports),
            *models_notes(reports),
            *(() if plan.against is None else few_cases_notes(plan.cases, plan.arms[:2], schedules, mine, looks)),
        ),
        end=end,
        sandbox=sandbox,
        judge=judge,
        others=others,
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


def cut_short_by(end: RunEnd, student: Student, schedule: Schedule) -> CutShort | None:
    """What ended a student's trials before its schedule did; `None` where nothing did."""
    if end.interrupted:
        return "interrupted"
    # Cases that are never answered are run again at the end, all together, and look like an endpoint that is down.
    # By then every case was asked once: what is missing are dropped pairs, and those have a rule of their own.
    if end.has_outage(student.model) and not schedule.has_begun_all:
        return "down"
    return "budget" if end.cap is not None else None


def conclude(
    student: Student,
    plan: TrialPlan,
    schedule: Schedule,
    finished: list[Trial],
    *,
    min_lift: float | None = None,
    cut_short: CutShort | None = None,
    labels: Mapping[str, tuple[Label, ...]] | None = None,
    terms: LookTerms = statistics.FIRST_LOOK,
) -> StudentReport:
    """The report of one student, under the terms of its look. Trials bought after a decision are counted apart."""
    ran = finished
    spent = statistics.spent_on(ran, priced=True) if student.price is not None else None
    if cut_short is not None and _has_run_all(ran, arms=plan.deciding, turns=plan.most_turns):
        cut_short = None  # what ended the run came after the last trial of this student
    finished = _without_superseded(ran)
    counted = [trial for trial in finished if schedule.counts(trial)]
    priced = student.price is not None
    beside = statistics.SEQUENTIAL if plan.design == "sequential" else statistics.FIXED
    arms = tuple(_arm(arm, counted, ran, cases=plan.cases_in(arm), priced=priced) for arm in plan.arms)
    report = StudentReport(
        student=student,
        harness=plan.harness,
        verdict=None,
        sentence="no lift: there are no answers without the skill",
        arms=arms,
        lifts=(),
        spent=spent,
        end=_end_of(None, cut_short),
        answered_by=_answered_by(student, counted),
        loads=_loads(plan.arms, plan.against, counted, families=plan.families, level=beside),
    )
    if plan.against is None:
        return report
    if (unread := unread_call(finished)) is not None:
        sentence = f"no verdict: {UNREAD}, such as: {unread}"
        return replace(report, verdict="invalid", sentence=sentence, unread_call=unread)
    compared = plan.measured, plan.against
    pairing, level = _paired(schedule, counted, compared, terms, cut_short, families=plan.families)
    # Also what was lost before the run was resumed, and where no verdict rests on the pair.
    pairing = statistics.with_losses(pairing, ran)
    tokens = statistics.measure_tokens(
        counted, arm=plan.measured, against=plan.against, families=plan.families, level=level
    )
    arms_asked = len(plan.deciding) if harness_info(plan.harness).with_tools else None
    judged = _judge(
        pairing, level, schedule, tokens, arms=arms_asked, min_lift=min_lift, cut_short=cut_short, terms=terms
    )
    error = statistics.measure_judge_error(pairing, finished, level, claim=judged.claim)
    judgement = statistics.heed_judge_error(judged, error, min_lift=min_lift)
    explaining = _beside(plan.arms[2:], plan.against, counted, families=plan.families, level=beside)
    reason = reason_to_stop(judgement.reason, verdict=judgement.verdict, clears=judgement.clears)
    if judgement.verdict != judged.verdict and judged.reason == "decided":
        reason = "judge"
    report = replace(
        report,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        lifts=() if judgement.lift is None else (judgement.lift, *explaining),
        claim=judgement.claim,
        stopped=reason,
        end=_end_of(reason, cut_short),
        clears=judgement.clears,
        # Over the pairs that the verdict rests on. These lifts decide nothing.
        label_lifts=statistics.lift_by_label(pairing, labels or {}, level),
        judge_error=error,
        earlier_pairs=sum(tally.pairs for tally in pairing.prior),
        looks=terms.earlier,
        holds_among=statistics.holds_among(judgement, pairing, level, models=len(plan.students)),
        late=sum(trial.calls > 0 for trial in finished) - sum(trial.calls > 0 for trial in counted),
    )
    return without_claim(report) if terms.regraded else report


def without_claim(report: StudentReport) -> StudentReport:
    """The report of answers that were seen before their checks changed: its figures, and no verdict on them."""
    if report.verdict in (None, "invalid", "undecided"):
        return report
    figures = report.sentence.partition(": ")[2]
    sentence = f"undecided: the checks changed after the answers were seen; by the new ones {figures}"
    return replace(
        report,
        verdict="undecided",
        claim=None,
        stopped=None if report.stopped is None else "checks changed",
        end=report.end if report.end in CUT_SHORT else "checks changed",
        clears=None,
        holds_among=None,
        sentence=sentence,
    )


def _has_run_all(finished: list[Trial], *, arms: Collection[Arm], turns: int) -> bool:
    """Whether nothing is left to run that a student's verdict rests on: each such trial was scored, or tried as often
    as allowed."""
    scored: set[tuple[str, int, str]] = set()
    tries: Counter[tuple[str, int, str]] = Counter()
    for trial in (trial for trial in finished if trial.arm in arms):
        cell = (trial.case_id, trial.repeat, trial.arm)
        if isinstance(trial.outcome, Scored):
            scored.add(cell)
        elif trial.outcome.was_run:
            tries[cell] += MOST_TRIES if trial.outcome.fault in NOT_WORTH_ANOTHER_TRY else 1
    scored.update(cell for cell, number in tries.items() if number >= MOST_TRIES)
    return len(scored) == turns * len(arms)


def _arm(arm: Arm, counted: list[Trial], ran: list[Trial], *, cases: int, priced: bool) -> ArmSummary:
    """The figures of an arm over the trials that count, with what was lost in all that were run."""
    losses = statistics.count_losses(ran, arm=arm)
    summary = statistics.summarise_arm(counted, arm=arm, cases=cases, priced=priced)
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


def _beside(
    arms: Iterable[Arm],
    against: Arm,
    counted: list[Trial],
    *,
    families: Mapping[str, str],
    level: statistics.Level,
) -> tuple[Lift, ...]:
    """The lifts of arms that were run beside the measured one. They decide nothing: they explain."""
    pairings = (statistics.pair_trials(counted, arm=arm, against=against, families=families) for arm in arms)
    lifts = (statistics.measure_lift(collapse_copies(pairing), level) for pairing in pairings)
    return tuple(lift for lift in lifts if lift is not None)


def _loads(
    arms: Sequence[Arm],
    against: Arm | None,
    counted: list[Trial],
    *,
    families: Mapping[str, str],
    level: statistics.Level,
) -> Loads | None:
    """How often the offered skill was loaded; `None` where the verdict is not about an offered skill."""
    if "offered" not in arms[:2]:
        return None
    return statistics.measure_loads(
        counted,
        arm="offered",
        against=against,
        forced="with_skill" if "with_skill" in arms else None,
        families=families,
        level=level,
    )


def _paired(
    schedule: Schedule,
    counted: list[Trial],
    compared: tuple[Arm, Arm],
    terms: LookTerms,
    cut_short: CutShort | None,
    *,
    families: Mapping[str, str],
) -> tuple[statistics.Pairing, statistics.Level]:
    """The pairs that the verdict rests on, and how strictly their design tests.

    Whoever goes on after a cap looks more than once, so a plan that a cap ended is tested as one that may stop early.
    """
    if isinstance(schedule, SequentialSchedule):
        pairing, level = schedule.pairing, schedule.level
    else:
        pairing = statistics.pair_trials(counted, arm=compared[0], against=compared[1], families=families)
        looks = 1 if cut_short is None else statistics.SEQUENTIAL.looks
        pairing, level = collapse_copies(pairing), statistics.Level(terms.level, looks=looks)
    prior = statistics.tallies_of(terms.prior)
    if statistics.repeats_earlier(pairing.pairs, terms.prior):
        asked = {pair.case_id for pair in pairing.pairs}
        prior = tuple(tally for tally in prior if tally.case_id not in asked)
    return replace(pairing, prior=prior), level


def _judge(
    pairing: statistics.Pairing,
    level: statistics.Level,
    schedule: Schedule,
    tokens: Ratio | None,
    *,
    arms: int | None,
    min_lift: float | None,
    cut_short: CutShort | None,
    terms: LookTerms,
) -> statistics.Judgement:
    decision = None
    if isinstance(schedule, SequentialSchedule):
        decision = schedule.end("cap" if cut_short is None or cut_short == "down" else cut_short)
    if copied := statistics.repeats_earlier(pairing.pairs, terms.prior):
        decision = None  # it counted answers twice
    # A decision stands that was reached before the endpoint went down or the person stopped.
    decided = decision is not None and decision.reason not in ("cap", "budget", "interrupted")
    judgement = statistics.judge(
        pairing,
        decision=decision,
        tokens=tokens,
        min_lift=min_lift,
        level=level,
        cut_short=None if decided else cut_short,
        arms=arms,
    )
    if copied:
        once = f"{judgement.sentence}; the answers are copies of earlier ones and count once"
        judgement = replace(judgement, sentence=once)
    if not terms.removed or (judgement.claim is None and not judgement.clears):
        return judgement
    whole = replace(pairing, prior=(*pairing.prior, *statistics.tallies_of(terms.removed)))
    again = statistics.judge(whole, tokens=tokens, min_lift=min_lift, level=level)
    return statistics.only_if_both(judgement, again, removed=len(terms.removed))


def _end_of(reason: str | None, cut_short: CutShort | None) -> StudentEnd:
    """How a student's trials ended. A decision stands, whatever ended the run after it."""
    if (by_design := end_by_design(reason)) is not None:
        return by_design
    return "plan finished" if cut_short is None else _CUT_SHORT[cut_short]


def _answered_by(student: Student, trials: Iterable[Trial]) -> tuple[str, ...]:
    """The model names that servers reported, without the one that was asked for."""
    names = {trial.served_model for trial in trials if trial.served_model}
    return tuple(sorted(name for name in names if name != student.model and not student.model.endswith(f"/{name}")))


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


def models_notes(reports: Sequence[StudentReport]) -> Iterator[str]:
    """Which models the skill helps even where one of them is to be called the best."""
    helped = [report for report in reports if report.holds_among is not None]
    if len(reports) < 2 or not helped:
        return
    names = [report.student.name for report in helped if report.holds_among]
    stays = f"stays clear for {', '.join(names)}" if names else "stays clear for none of them"
    yield f"each verdict is about one model alone; corrected for testing {len(reports)} models, the lift {stays}"


def copies_notes(schedules: Mapping[str, Schedule]) -> Iterator[str]:
    """Notes on students that gave the same answers again."""
    for name, schedule in schedules.items():
        if schedule.copies:
            who = f"{name}: " if len(schedules) > 1 else ""
            yield f"{who}repeats returned the same answers, so each case counts once"


def few_cases_notes(
    cases: Sequence[Case],
    compared: Sequence[Arm],
    students: Iterable[str],
    trials: Mapping[str, list[Trial]],
    looks: Mapping[str, LookTerms],
) -> tuple[str, ...]:
    """What the cases cannot exclude that the student with the fewest was compared on, now and in earlier looks."""
    scored = []
    for name in students:
        cells = {(one.case_id, one.arm) for one in trials[name] if isinstance(one.outcome, Scored)}
        earlier = looks.get(name, statistics.FIRST_LOOK).prior
        scored.append(cells | {(case.case_id, arm) for case in earlier for arm in compared})
    seen = min(([case for case in cases if {(case.id, arm) for arm in compared} <= mine] for mine in scored), key=len)
    note = statistics.breakage_note(cases=len(seen), families=len(by_family(seen)))
    return () if note is None else (note,)


def cut_notes(
    students: Sequence[Student], trials: Mapping[str, list[Trial]], *, arms: Mapping[Arm, str]
) -> Iterator[str]:
    """Notes on answers that were cut at the token limit, which explain a low pass rate; `arms` by their names."""
    for student in students:
        scored = [trial for trial in trials[student.name] if isinstance(trial.outcome, Scored)]
        cut = Counter(trial.arm for trial in scored if isinstance(trial.outcome, Scored) and trial.outcome.end == "cut")
        if cut:
            who = f"{student.name}: " if len(students) > 1 else ""
            where = ", ".join(f"{title} {cut[arm]}" for arm, title in arms.items() if cut[arm])
            length = "" if student.max_output_tokens is None else f" at {student.max_output_tokens:,} tokens"
            yield (
                f"{who}{cut.total()} of {len(scored)} answers were cut{length} ({where}); "
                "UPSKILL_MAX_OUTPUT_TOKENS raises the limit"
            )


def unread_call(trials: Iterable[Trial]) -> str | None:
    """The first thing that a model with tools wrote that looks like a call, where not one call of it was ever read."""
    scored = [trial for trial in trials if isinstance(trial.outcome, Scored)]
    if any(trial.tool_calls for trial in scored):
        return None
    return next((trial.unread_call for trial in scored if trial.unread_call is not None), None)


def text_calls_notes(trials: Mapping[str, list[Trial]]) -> tuple[str, ...]:
    """Notes on students whose server left tool calls in the text."""
    counts = {name: sum(trial.text_calls or 0 for trial in mine) for name, mine in trials.items()}
    return tuple(
        f"{name}: {count(number, 'tool call')} read from text; its server did not recognise them (the setting "
        "text_calls = false scores them as answers)"
        for name, number in counts.items()
        if number
    )


def no_tools_notes(trials: Mapping[str, list[Trial]]) -> tuple[str, ...]:
    """Notes on students that never used a tool: a pass rate of 0 hides that."""
    notes = []
    for name, mine in trials.items():
        scored = [trial for trial in mine if isinstance(trial.outcome, Scored)]
        if scored and all(trial.turns == 1 for trial in scored) and unread_call(scored) is None:
            notes.append(
                f"{name}: never called a tool in {len(scored)} answers; "
                "if its server does not support tools, measure it without: --harness chat"
            )
    return tuple(notes)


def cut_listing_notes(trials: Mapping[str, list[Trial]], others: OtherSkills | None, *, several: bool) -> Iterator[str]:
    """Notes on agents that cut their list of skills: a description that was not shown chose nothing."""
    for name, mine in trials.items():
        uses = [trial.skill_use for trial in mine if isinstance(trial.outcome, Scored) and trial.skill_use is not None]
        least = min((use.others_listed for use in uses if use.others_listed is not None), default=None)
        who = f"{name}: " if several else ""
        if any(use.shortened for use in uses):
            yield f"{who}the agent shortened the description of the skill in its list"
        if others is not None and least is not None and least < len(others.skills):
            number = f"{least} of {len(others.skills)} other skills"
            yield f"{who}the agent cut its list of skills: {number} had a description in it"


def judge_notes(reports: tuple[StudentReport, ...]) -> Iterator[str]:
    """Notes on lifts that rest on a judge whose error rate is not known."""
    for report in reports:
        error = report.judge_error
        if error is not None and error.interval is None:
            who = f"{report.student.name}: " if len(reports) > 1 else ""
            answers = f"{error.compared} answers that other checks could decide"
            yield f"{who}the judge's error rate was not measured ({answers}); the interval does not include it"
