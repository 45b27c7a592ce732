"""Aptitude: what each student can do on the learn cases without any skill, before anything is drafted.

Two arms are compared: baseline, and ceiling, which has the passage that a case rests on in the prompt. A student that
gains too little from the passage itself is not helped by a skill made from it. Nothing is claimed from these trials,
and no held-out case is touched.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from pydantic import TypeAdapter

from upskill.core.cases.skill_meta import Aptitude, RungResult
from upskill.core.nouns import Arm, Case, Interval, Lift, Scored, Trial, harness_info
from upskill.core.nouns.case import Json
from upskill.core.nouns.harness import choose_harness
from upskill.core.nouns.text import count
from upskill.core.nouns.text import count as counted
from upskill.core.runs.own_runs import resume_command
from upskill.core.settings import Settings
from upskill.core.statistics.intervals import these_cases
from upskill.core.statistics.lift import measure_lift
from upskill.core.statistics.pairs import are_copies, collapse_copies, pair_trials
from upskill.errors import ProviderError, StudentCannotProfit
from upskill.generation.measure import Measurement, StageMeasurer
from upskill.generation.student import RUNG_NAMES, RUNGS, CountTokens, StudentProfile, skill_room, with_cases
from upskill.report.wording import confidence_interval, percent, percents, points, unique_names

WITHOUT_TOOLS = choose_harness("auto", tools=False)
NO_PASSAGE = "no practice case names a passage: models were measured without a skill only, not with the passage itself"


def with_aptitude(
    profile: StudentProfile,
    cases: Sequence[Case],
    measure: StageMeasurer,
    *,
    values: Settings,
    count: CountTokens,
    note: Callable[[str], None],
) -> StudentProfile:
    """The profile with what each student can do on the learn cases, now that there are cases.

    A passage that has no room in the window is not shown to a student. Raises what `measure_aptitude` raises.
    """
    profile = with_cases(replace(profile, harness=measure.harness), cases, count)
    room = skill_room(profile, count)
    learn = [
        case if case.passage is None or room is None or count(case.passage) <= room else replace(case, passage=None)
        for case in cases
        if case.use == "learn"
    ]
    if all(case.passage is None for case in learn):
        note(NO_PASSAGE)
    found = measure_aptitude(
        measure,
        learn,
        students=profile.names,
        temperature=values.temperature,
        may_drop_tools=values.harness == "auto",
        note=note,
    )
    unknown = {case.id for case in learn if case.passage is None}
    aptitudes = tuple(
        replace(one, reachable=tuple(case.id for case in learn if case.id in unknown | {*one.reachable}))
        for one in found
    )
    return with_cases(replace(profile, harness=measure.harness, aptitudes=aptitudes), cases, count)


def measure_aptitude(
    measure: StageMeasurer,
    learn: Sequence[Case],
    *,
    students: Sequence[str],
    temperature: float | None,
    may_drop_tools: bool,
    note: Callable[[str], None],
) -> tuple[Aptitude, ...]:
    """What each student can do, in one round over the cases, or in several where one does not tell.

    `may_drop_tools`: nobody asked for tools, so where no call of one could be read, `measure` asks without them from
    then on. `note` gets that, in a line for a person. Raises where a student's endpoint is down.
    """
    named = [case for case in learn if case.passage is not None]
    cases = named or learn
    stage = "aptitude"
    first = measure.without_skill(f"{stage}-1", cases, repeats=1, students=students)
    if may_drop_tools and harness_info(measure.harness).with_tools and _no_call_read(first):
        note(
            f"{', '.join(students)}: no tool call could be read in {counted(len(first.trials), 'answer')}, so no tools "
            "are offered from now on (--harness agent keeps them)"
        )
        measure.use_harness(WITHOUT_TOOLS)
        stage = f"{stage}-{WITHOUT_TOOLS}"
        first = measure.without_skill(f"{stage}-1", cases, repeats=1, students=students)
    found: dict[str, Aptitude] = {}
    measured, unsure = first, tuple(students)
    for number in range(1, most_rounds(len(cases)) + 1):
        if number > 1:
            measured = measure.without_skill(f"{stage}-{number}", cases, repeats=number, students=unsure)
        for name in unsure:
            found[name] = aptitude_of(name, measured.of(name), cases, harness=measure.harness, temperature=temperature)
        if measure.down is not None:
            raise ProviderError(f"nothing was saved: {measure.down}")
        unsure = tuple(name for name in unsure if prospect(found[name].lift) == "open")
        if not unsure or not named or measured.cut_short is not None:
            break
    return tuple(found[name] for name in students)


def _no_call_read(measured: Measurement) -> bool:
    """Whether tools are of no use to any student, by all that was measured; not where a cap ended it."""
    ran = [trial for trial in measured.trials if isinstance(trial.outcome, Scored) or trial.outcome.was_run]
    return bool(ran) and not any(trial.tool_calls for trial in ran)


def aptitude_of(
    student: str, trials: Sequence[Trial], cases: Sequence[Case], *, harness: str, temperature: float | None
) -> Aptitude:
    """What the trials of one student show."""
    passed: dict[tuple[str, Arm], list[bool]] = defaultdict(list)
    scored = [(trial, trial.outcome) for trial in trials if isinstance(trial.outcome, Scored)]
    for trial, outcome in scored:
        passed[trial.case_id, trial.arm].append(outcome.passed)
    lift = ceiling_lift(trials, temperature=temperature)
    rate = {
        arm: fmean(shares) if (shares := [fmean(mine) for (_, one), mine in passed.items() if one == arm]) else None
        for arm in ("baseline", "ceiling")
    }
    return Aptitude(
        student=student,
        harness=harness,
        baseline=rate["baseline"] if lift is None else lift.rate_against,
        ceiling=rate["ceiling"] if lift is None else lift.rate,
        lift=lift,
        cases=len({trial.case_id for trial, _ in scored}),
        rungs=_rungs(cases, passed),
        reachable=tuple(case.id for case in cases if any(passed[case.id, "baseline"] + passed[case.id, "ceiling"])),
        cut=sum(outcome.end == "cut" for _, outcome in scored),
        trials=len(scored),
    )


def _rungs(cases: Sequence[Case], passed: dict[tuple[str, Arm], list[bool]]) -> tuple[RungResult, ...]:
    """A case passes where at least half of its repeats do. Cases that name no rung are in none."""

    def passing(mine: Sequence[Case], arm: Arm) -> int:
        return sum(bool(passed[case.id, arm]) and fmean(passed[case.id, arm]) >= 0.5 for case in mine)

    rungs = []
    for rung in RUNGS:
        if mine := [case for case in cases if case.extra.get("rung") == rung]:
            baseline, ceiling = passing(mine, "baseline"), passing(mine, "ceiling")
            rungs.append(RungResult(rung=rung, cases=len(mine), baseline=baseline, ceiling=ceiling))
    return tuple(rungs)


def require_prospect(aptitudes: Sequence[Aptitude], run: Path) -> None:
    """Raise, before anything is drafted, where none of the students can profit from a skill."""
    if not aptitudes or any(one.cases < LEAST_CASES or prospect(one.lift) != "cannot profit" for one in aptitudes):
        return
    listed = "; ".join(
        f"{one.student}: {aptitude_figures(one)}{f', {rungs}' if (rungs := rung_figures(one)) else ''}"
        for one in aptitudes
    )
    raise StudentCannotProfit(
        f"no skill from this material is expected to help, so none was written; {listed}",
        hint="choose another model (--eval-model) or other cases, or continue anyway with "
        f"`{resume_command(run, 'UPSKILL_ANYWAY=true')}`",
    )


LEAST_GAIN = 0.10
"""A student that surely gains less from the passages themselves is not taught."""
LEAST_CASES = 8
"""Fewer learn cases stop nothing: a skill can say in plainer words what a passage of theirs says."""
MOST_ROUNDS = 4
ENOUGH_PAIRS = 40
"""With so many pairs, all failed in both arms, the interval ends below the least gain; fewer cases get more rounds."""

Prospect = Literal["can profit", "cannot profit", "open"]


def most_rounds(cases: int) -> int:
    """The most rounds over so many cases; one where they are too few to stop anything."""
    return 1 if cases < LEAST_CASES else max(MOST_ROUNDS, -(-ENOUGH_PAIRS // cases))


def ceiling_lift(trials: Sequence[Trial], *, temperature: float | None) -> Lift | None:
    """Ceiling minus baseline, the mean over cases, with its 95% interval for these cases; `None` without a pair.

    The interval is a point where the student answers alike every time: half of the cases or more were repeated and
    the repeats are copies, or nothing was repeated and the temperature is 0.
    """
    pairing = pair_trials(trials, arm="ceiling", against="baseline")
    cases = Counter(pair.case_id for pair in pairing.pairs)
    repeated = sum(pairs > 1 for pairs in cases.values())
    exact = 2 * repeated >= len(cases) and are_copies(pairing.pairs) if repeated else temperature == 0
    lift = measure_lift(collapse_copies(pairing) if exact else pairing)
    if lift is None:
        return None
    exactly = Interval(low=lift.mean, high=lift.mean)
    return replace(lift, interval=exactly if exact else these_cases(pairing.tallies), about="these cases")


def prospect(lift: Lift | None) -> Prospect:
    """What a lift says so far: a gain large enough on average, or its upper bound below that, or neither.

    The bound is looked at after every round. Of students whose true gain on their cases is the least one this stops
    at most 1 in 10, and with twice that gain 1 in 30; docs/explanation/how-a-skill-is-made.md explains it.
    """
    if lift is None:
        return "open"
    if lift.mean >= LEAST_GAIN - 1e-9:
        return "can profit"
    return "cannot profit" if lift.interval.high < LEAST_GAIN - 1e-9 else "open"


_APTITUDES = TypeAdapter(tuple[Aptitude, ...])


def aptitude_lines(aptitudes: Sequence[Aptitude]) -> Iterator[str]:
    """One or two lines for each student: the figures, and the kinds of case it can do."""
    for name, one in zip(unique_names([one.student for one in aptitudes]), aptitudes, strict=True):
        yield f"{name}: {aptitude_figures(one)}"
        if rungs := rung_figures(one):
            yield f"  with the passage: {rungs}"


def aptitude_figures(one: Aptitude) -> str:
    """Baseline and ceiling, with the interval of their difference."""
    if one.baseline is None:
        return "nothing was measured"
    if one.lift is None:
        return f"{percent(one.baseline)} without a skill"
    before, after = percents(one.lift.rate_against, one.lift.rate, one.lift.mean)
    interval = one.lift.interval
    known = " on these" if interval.low == interval.high else f", {confidence_interval(one.lift)},"
    lift = f"{points(one.lift.mean)} points{known} {count(one.cases, 'practice case')}"
    return f"{before} without a skill, {after} with the passage in the prompt ({lift})"


def rung_figures(one: Aptitude) -> str:
    """How many cases of each kind pass with the passage in the prompt; empty where no case names its kind."""
    if one.ceiling is None:
        return ""
    return ", ".join(f"{RUNG_NAMES[rung.rung]} {rung.ceiling} of {rung.cases}" for rung in one.rungs)


def aptitude_json(aptitudes: Sequence[Aptitude]) -> Json:
    """Plain JSON values; what is unknown is null."""
    value: Json = _APTITUDES.dump_python(tuple(aptitudes), mode="json")
    return value
