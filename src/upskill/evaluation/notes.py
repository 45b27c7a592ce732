"""Notes on a result: what ended it, and what its figures cannot tell. No decision reads them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from upskill.core import statistics
from upskill.core.cases.family import by_family
from upskill.core.models import Endpoint
from upskill.core.nouns import Arm, Case, Errored, RunEnd, Scored, Student, StudentReport, Trial
from upskill.core.nouns.look import LookTerms
from upskill.core.nouns.skill import OtherSkills
from upskill.core.trials.schedule import Schedule


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


def no_tools_notes(trials: Mapping[str, list[Trial]]) -> tuple[str, ...]:
    """Notes on students that never used a tool: their server may not support tools, and a pass rate of 0 hides that."""
    notes = []
    for name, mine in trials.items():
        refused = next((words for trial in mine if (words := _refusal_of_tools(trial)) is not None), None)
        scored = [trial for trial in mine if isinstance(trial.outcome, Scored)]
        if refused is not None and not scored:
            notes.append(
                f"{name}: the server refuses tools ({refused[:200]}); measure it without tools: --harness chat"
            )
        elif scored and all(trial.turns == 1 for trial in scored):
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


def _refusal_of_tools(trial: Trial) -> str | None:
    """The error message of a server that refuses tools; `None` where there is none."""
    outcome = trial.outcome
    if isinstance(outcome, Errored) and outcome.fault == "provider" and "tool" in outcome.message.lower():
        return outcome.message
    return None
