"""Concludes from finished trials: the report of each student, the evaluation, and notes that no decision reads."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType

from upskill.controls.findings import cases_tested, control_findings
from upskill.core import statistics
from upskill.core.models import Endpoint
from upskill.core.nouns import (
    Arm,
    ArmSummary,
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
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.skill import OtherSkills
from upskill.core.nouns.text import count
from upskill.core.runs.trial_log import collector_paused
from upskill.core.statistics.looks import removed_pairs
from upskill.core.statistics.verdict import CutShort
from upskill.core.trials.schedule import Schedule
from upskill.report.wording import UNREAD, arm_name

LOOKS_OF_A_CAP = 4
"""Whoever raises a cap until the skill helps looks more than once."""
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
    tested = cases_tested(skill.body, plan.cases) if "corrupted" in plan.arms else frozenset()
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
            tested=tested,
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
            *models_notes(reports),
            *breakage_notes(reports),
            *gate_notes(reports),
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
    tested: frozenset[str] = frozenset(),
) -> StudentReport:
    """The report of one student, under the terms of its look. `tested` are the cases that the corrupted skill tests."""
    ran = finished
    spent = statistics.spent_on(ran, priced=True) if student.price is not None else None
    if schedule.end is not None:
        cut_short = None  # what ended the run came after the last trial of this student
    finished = _without_superseded(ran)
    counted = [trial for trial in finished if schedule.counts(trial)]
    priced = student.price is not None
    level = schedule.level if cut_short is None else replace(schedule.level, looks=LOOKS_OF_A_CAP)
    arms = tuple(_arm(arm, counted, ran, cases=plan.cases_in(arm), priced=priced) for arm in plan.arms)
    report = StudentReport(
        student=student,
        harness=plan.harness,
        verdict=None,
        sentence="no lift: there are no answers without the skill",
        arms=arms,
        lifts=(),
        spent=spent,
        end=_CUT_SHORT[cut_short] if cut_short is not None else schedule.end or "plan finished",
        answered_by=_answered_by(student, counted),
        loads=_loads(plan.arms, plan.against, counted, families=plan.families, level=level),
        looks=terms.earlier,
    )
    if plan.against is None:
        return report
    if (unread := unread_call(finished)) is not None:
        sentence = f"no verdict: {UNREAD}, such as: {unread}"
        return replace(report, verdict="invalid", sentence=sentence, unread_call=unread)
    paired = statistics.pair_trials(counted, arm=plan.measured, against=plan.against, families=plan.families)
    # Also what was lost before the run was resumed, and where no verdict rests on the pair.
    pairing = statistics.with_losses(statistics.counted_pairs(paired), ran)
    gate = schedule.gate
    judgement = statistics.judge(
        pairing,
        level=level,
        tokens=statistics.measure_tokens(
            counted, arm=plan.measured, against=plan.against, families=plan.families, level=level
        ),
        min_lift=min_lift,
        cut_short=cut_short,
        removed=removed_pairs(terms.removed),
        regraded=terms.regraded > 0,
        gate=gate,
    )
    beside = _beside(plan.arms[2:], plan.against, counted, families=plan.families, level=level)
    return replace(
        report,
        verdict=judgement.verdict,
        sentence=judgement.sentence,
        lifts=() if judgement.lift is None else (judgement.lift, *beside),
        end="checks changed" if judgement.doubt == "changed checks" and cut_short is None else report.end,
        clears=judgement.clears,
        broken=() if gate is None else tuple(map(_broken_case, gate.broken)),
        suspected=() if gate is None else gate.suspected,
        unguarded=() if gate is None else gate.unguarded,
        # Over the pairs that the verdict rests on. These lifts decide nothing.
        label_lifts=statistics.lift_by_label(pairing, labels or {}, level),
        holds_among=statistics.holds_among(judgement, pairing, level, models=len(plan.students)),
        controls=control_findings(plan, counted, tested=tested, level=level),
    )


def _broken_case(tally: statistics.CaseTally) -> BrokenCase:
    return BrokenCase(
        case_id=tally.case_id, answers=tally.pairs, passed=tally.passed, passed_before=tally.passed_against
    )


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
    lifts = (statistics.measure_lift(statistics.counted_pairs(pairing), level) for pairing in pairings)
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
    return statistics.measure_loads(counted, arm="offered", against=against, families=families, level=level)


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
    """Notes on students whose answers repeat themselves: more repeats say nothing new."""
    for name, schedule in schedules.items():
        if schedule.end == "copies":
            who = f"{name}: " if len(schedules) > 1 else ""
            yield f"{who}answers repeat themselves, so each case was asked once; more cases say more, repeats do not"


def breakage_notes(reports: Sequence[StudentReport]) -> Iterator[str]:
    """What the cases of the student with the fewest cannot exclude; of several such, of the one that lost most."""
    lifts = {one.student.name: one.lifts[0] for one in reports if one.lifts and one.verdict != "invalid"}
    if not lifts:
        return
    name, lift = min(lifts.items(), key=lambda one: (one[1].units, -one[1].worse))
    if (note := statistics.breakage_note(lift)) is not None:
        yield f"{name}: {note}" if len(reports) > 1 and lift.worse else note


def gate_notes(reports: Sequence[StudentReport]) -> Iterator[str]:
    """Cases that a gate cannot guard, because the old version passes them only sometimes."""
    for report in reports:
        who = f"{report.student.name}: " if len(reports) > 1 else ""
        if report.suspected:
            named = ", ".join(report.suspected[:3]) + (" …" if len(report.suspected) > 3 else "")
            cases = count(len(report.suspected), "case")
            yield f"{who}{cases} may be broken, and could not be asked often enough to tell: {named}"
        if report.unguarded:
            named = ", ".join(report.unguarded[:3]) + (" …" if len(report.unguarded) > 3 else "")
            cases = count(len(report.unguarded), "case")
            yield f"{who}{cases} passed only sometimes before, so breakage there may be missed: {named}"


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
