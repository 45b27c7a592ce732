"""What people and programs read of a watched skill: lines, Markdown, and the objects of `--json`."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from upskill.core.nouns import Evaluation
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count, points, points_range
from upskill.drift import chart
from upskill.drift.chart import Change
from upskill.drift.replaced import MARGIN, need_after, tokens_saved
from upskill.drift.state import Alarm, Attribution, Night, Watch
from upskill.drift.watch import DriftResult
from upskill.report.json_report import evaluation_json
from upskill.report.markdown import markdown_text
from upskill.report.wording import percent

MOST_CASES_SHOWN = 8
NOTICED = 0.20
LATE = 14
"""Nights after which a fall of so much is noticed late."""
_TOMORROW = "next: type the same command without --start tomorrow, and every night from then on"


def result_lines(result: DriftResult) -> list[str]:
    """What one call came to; the first line says it all."""
    watch = result.watch
    if result.event == "alarm" and watch.alarm is not None:
        return list(_alarm_lines(watch, watch.alarm))
    if result.event == "acknowledged":
        return [f"{watch.name}: the alarm is acknowledged; the chart begins again at 0, with the same history"]
    if result.unfinished:
        return [f"{watch.name}: NOT MEASURED today", *(f"  {note}" for note in result.notes)]
    if watch.mode is None:
        bought, left = len(watch.bought), watch.parts - len(watch.bought)
        return [
            f"{watch.name}: night {bought} of {watch.parts} of the history is bought, {left} to go",
            f"  {_TOMORROW}",
        ]
    if result.event == "history" or not watch.nights:
        rate = sum(one.skilled.passed / one.skilled.answers for one in watch.cases) / len(watch.cases)
        how = "nights are compared case by case" if watch.limit is None else f"alarm limit {watch.limit:.1f}"
        answers = count(sum(one.skilled.answers for one in watch.cases), "answer")
        return [
            f"{watch.name}: the history is complete, {percent(rate)} of {answers} pass; {how}",
            *([] if watch.limit is None else [f"  {_delay(watch.limit)}"]),
            f"  {_TOMORROW}",
        ]
    where = "" if watch.limit is None else f" (chart {watch.level:.1f}, limit {watch.limit:.1f})"
    done = " was asked already" if result.event == "watching" else ""
    return [f"{watch.name}: no alarm. Night {len(watch.nights)}{done}: {_passed(watch, watch.nights[-1])}{where}"]


def _delay(limit: float) -> str:
    nights = math.ceil(limit / chart.raise_a_night(NOTICED))
    few = "; more cases or answers would notice it sooner" if nights > LATE else ""
    return f"a fall of {100 * NOTICED:.0f} points would be an alarm after about {count(nights, 'night')}{few}"


def _passed(watch: Watch, night: Night) -> str:
    return f"{len(night.passed)} of {len(night.asked)} passed, {watch.expected_of(night):.1f} expected"


def _alarm_lines(watch: Watch, alarm: Alarm) -> Iterator[str]:
    found = alarm.attribution
    yield f"ALARM: {watch.name}: {'not attributed yet' if found is None else cause_words(found)}"
    why = (
        f"{count(len(alarm.cases), 'case')} on the other side {chart.CHANGED_NIGHTS} nights in a row; asked again alone"
    )
    if watch.limit is not None:
        why = f"chart {watch.level:.1f}, limit {watch.limit:.1f}, rising since {watch.since_rise[0].date}"
    night = watch.nights[-1]
    yield f"  night {len(watch.nights)}, {night.date}: {_passed(watch, night)}; {why}"
    if found is None:
        yield from _prompts("changed side", watch, alarm.cases)
        return
    yield f"  with the skill:    {_change(found.skilled)}"
    yield f"  without the skill: {_change(found.baseline)}"
    interval = points_range(found.lift_interval.low, found.lift_interval.high)
    yield f"  lift now: {points(found.lift)} (95% CI {interval})"
    graded = (
        f"{count(found.regraded, 'stored answer')} graded again: {found.now_fail} now fail, {found.now_pass} now pass"
    )
    yield f"  {graded if found.regraded else 'no stored answer could be graded again'}"
    if watch.terms.get("judge") is not None:
        yield "  the judge was not asked again: one that changed behind its name looks like the model"
    yield from _prompts("now fails", watch, found.fell)
    yield from _prompts("now passes", watch, found.rose)
    yield "  the watch waits: --acknowledge goes on with this history, --start buys a new one"


def cause_words(found: Attribution) -> str:
    """What an alarm comes from, as sure as it is."""
    if found.cause == "undecided" and found.other_model:
        return "fewer answers pass, and the server describes another model than in the history"
    if found.cause == "undecided":
        return "fewer answers pass; those without the skill do not tell whether the model changed"
    if found.cause == "not confirmed" and found.skilled.interval.low > 0:
        return "more answers pass than in the history"
    if found.cause == "not confirmed":
        return "not confirmed by fresh answers"
    return found.cause if found.sure else f"probably {found.cause}"


def _change(change: Change) -> str:
    interval = points_range(change.interval.low, change.interval.high)
    return f"{percent(change.before)} before, {percent(change.now)} now: {points(change.mean)} (95% CI {interval})"


def _prompts(words: str, watch: Watch, ids: Sequence[str]) -> Iterator[str]:
    known = {case.id: case.prompt for case in watch.cases}
    yield from (f"  {words}: {one}, {known[one]}" for one in ids[:MOST_CASES_SHOWN])
    if len(ids) > MOST_CASES_SHOWN:
        yield f"  {words}: {len(ids) - MOST_CASES_SHOWN} more"


def replacement_lines(old: str, found: Evaluation) -> list[str]:
    """What is concluded of a skill on the model that replaces another."""
    (report,) = found.students
    need, saved = need_after(found), tokens_saved(found)
    lines = [f"{found.skill.name}, {report.student.name} instead of {old}: {need}", f"  {report.sentence}"]
    if need == "no longer needed" and report.lifts:
        high = points(report.lifts[0].interval.high)
        lines.append(f"  the skill adds less than {100 * MARGIN:.0f} points: at most {high} (95% CI, new cases)")
        if saved is not None:
            lines.append(f"  tokens saved per call without it: {saved:,.0f}")
    return lines


def markdown(blocks: Sequence[Sequence[str]], *, heading: str) -> str:
    """A comment with all results: a heading, then the lines of each."""
    parts = [f"## Drift: {heading}"]
    for first, *more in blocks:
        parts.append(f"**{markdown_text(first)}**")
        parts += ["\n".join(f"- {markdown_text(line.strip())}" for line in more)] if more else []
    return "\n\n".join(parts) + "\n"


def result_json(result: DriftResult) -> dict[str, Json]:
    """One watch in the object of `--json`."""
    watch = result.watch
    night = watch.nights[-1] if watch.nights else None
    alarm: dict[str, Json] | None = None
    if watch.alarm is not None and night is not None:
        since = (*watch.since_rise, night)[0].date
        place: dict[str, Json] = {
            "date": night.date,
            "night": len(watch.nights),
            "level": watch.level,
            "limit": watch.limit,
        }
        alarm = {**place, "since": since, **asdict(watch.alarm)}
    return {
        "skill": watch.skill,
        "model": watch.student,
        "event": result.event,
        "unfinished": result.unfinished,
        "mode": watch.mode,
        "history": {
            "cases": len(watch.cases),
            "answers": sum(one.skilled.answers for one in watch.cases),
            "passed": sum(one.skilled.passed for one in watch.cases),
            "nights": len(watch.bought),
            "of_nights": watch.parts,
        },
        "nights": len(watch.nights),
        "night": None
        if night is None
        else {
            "date": night.date,
            "passed": len(night.passed),
            "failed": len(night.failed),
            "expected": watch.expected_of(night),
            "level": watch.level,
        },
        "level": watch.level,
        "limit": watch.limit,
        "alarm": alarm,
        "state": str(result.path),
        "run": watch.run,
        "bought": {"calls": result.bought.calls, "cost": result.bought.cost},
        "notes": list(result.notes),
    }


def replacement_json(old: str, found: Evaluation) -> dict[str, Json]:
    """One skill in the object of `--new-model --json`."""
    (report,) = found.students
    needed: dict[str, Json] = {"need": need_after(found), "tokens_saved": tokens_saved(found)}
    return {
        "skill": found.skill.name,
        "old": old,
        "new": report.student.name,
        **needed,
        "evaluation": evaluation_json(found),
    }
