"""What people and programs read of a watched skill: lines, Markdown, and the object of `--json`."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count, points, points_range
from upskill.drift.chart import Change
from upskill.drift.replaced import MARGIN, Replacement
from upskill.drift.state import Alarm, Attribution, Watch
from upskill.drift.watch import DriftResult
from upskill.report.markdown import markdown_text
from upskill.report.wording import percent

MOST_CASES_SHOWN = 8


def result_lines(result: DriftResult) -> list[str]:
    """What one call came to; the first line says it all."""
    watch = result.watch
    name = f"{watch.skill} on {watch.student}"
    if result.event == "alarm" and watch.alarm is not None:
        return list(_alarm_lines(name, watch, watch.alarm))
    if result.event == "acknowledged":
        return [f"{name}: the alarm is acknowledged; the chart begins again at 0, with the same history"]
    if watch.mode is None:
        left = count(watch.parts - len(watch.bought), "more night")
        return [f"{name}: {len(watch.bought)} of {watch.parts} nights of the history are bought; it takes {left}"]
    if result.event == "history":
        return [f"{name}: the history is complete, {_history(watch)}; the next call is the first night"]
    if not watch.nights:
        return [f"{name}: nothing is due before tomorrow; {_history(watch)}"]
    night = watch.nights[-1]
    where = "" if watch.limit is None else f" (chart {night.level:.1f}, limit {watch.limit:.1f})"
    done = " was asked already" if result.event == "watching" else ""
    passed = f"{len(night.passed)} of {night.answers} passed, {night.expected:.1f} expected"
    return [f"{name}: no alarm. Night {len(watch.nights)}{done}: {passed}{where}"]


def _history(watch: Watch) -> str:
    rate = sum(case.passed / case.answers for case in watch.cases) / len(watch.cases)
    how = "compared case by case" if watch.limit is None else f"alarm limit {watch.limit:.1f}"
    return f"{percent(rate)} of {count(sum(case.answers for case in watch.cases), 'answer')} pass, {how}"


def _alarm_lines(name: str, watch: Watch, alarm: Alarm) -> Iterator[str]:
    found = alarm.attribution
    said = "not attributed yet" if found is None else cause_words(found)
    yield f"ALARM: {name}: {said}"
    night = watch.nights[alarm.night - 1]
    passed = f"{len(night.passed)} of {night.answers} passed, {night.expected:.1f} expected"
    chart = f"{count(len(alarm.cases), 'case')} on the other side twice in a row"
    if alarm.limit is not None:
        chart = f"chart {alarm.level:.1f}, limit {alarm.limit:.1f}, rising since {alarm.since}"
    yield f"  night {alarm.night}, {alarm.date}: {passed}; {chart}"
    if found is None:
        yield from (f"  changed side: {one}" for one in _prompts(watch, alarm.cases))
        return
    yield f"  with the skill:    {_change(found.skilled)}"
    yield f"  without the skill: {_change(found.baseline)}"
    interval = points_range(found.lift_interval.low, found.lift_interval.high)
    yield f"  lift now: {points(found.lift)} (95% CI {interval})"
    graded = (
        f"{count(found.regraded, 'stored answer')} graded again: {found.now_fail} now fail, {found.now_pass} now pass"
    )
    yield f"  {graded if found.regraded else 'no stored answer could be graded again'}"
    if found.judged:
        yield "  earlier judgements were not asked for again: a judge that changed behind its name looks like the model"
    for words, ids in (("now fails", found.fell), ("now passes", found.rose)):
        yield from (f"  {words}: {one}" for one in _prompts(watch, ids))
    yield "  the watch waits: --acknowledge goes on with this history, --start buys a new one"


def cause_words(found: Attribution) -> str:
    """What an alarm comes from, as sure as it is."""
    if found.cause == "undecided":
        return "the answers fell; without the skill too few pass to tell the model from the skill"
    if found.cause == "not confirmed":
        return "not confirmed by fresh answers"
    return found.cause if found.sure else f"probably {found.cause}"


def _change(change: Change) -> str:
    interval = points_range(change.interval.low, change.interval.high)
    return f"{percent(change.before)} before, {percent(change.now)} now: {points(change.mean)} (95% CI {interval})"


def _prompts(watch: Watch, ids: Sequence[str]) -> list[str]:
    known = {case.id: case.prompt for case in watch.cases}
    shown = [f"{one}, {known[one]}" for one in ids[:MOST_CASES_SHOWN]]
    return shown if len(ids) <= MOST_CASES_SHOWN else [*shown, f"{len(ids) - MOST_CASES_SHOWN} more"]


def replacement_lines(found: Replacement) -> list[str]:
    """What is concluded of a skill on the model that replaces another."""
    (report,) = found.evaluation.students
    name = f"{found.evaluation.skill.name}, {found.new} instead of {found.old}"
    lines = [f"{name}: {found.need}", f"  {report.sentence}"]
    if found.need == "no longer needed" and report.lifts[0].cases_like_these is not None:
        high = points(report.lifts[0].cases_like_these.high)
        lines.append(f"  without the skill it is worse by less than {points(MARGIN)[1:]} points: at most {high}")
        if found.tokens_saved is not None:
            lines.append(f"  tokens saved per call without it: {found.tokens_saved:,.0f}")
    return lines


def markdown(lines: Sequence[Sequence[str]], *, alarm: bool) -> str:
    """A comment with all results: a heading, then one block for each."""
    blocks = [f"## {'Drift: alarm' if alarm else 'Drift: no alarm'}"]
    for first, *more in lines:
        blocks.append(
            "\n".join([f"**{markdown_text(first)}**", "", *(f"- {markdown_text(one.strip())}" for one in more)])
        )
    return "\n\n".join(block.strip() for block in blocks) + "\n"


def result_json(result: DriftResult) -> dict[str, Json]:
    """One watch in the object of `--json`."""
    watch, night = result.watch, result.watch.nights[-1] if result.watch.nights else None
    alarm: dict[str, Json] | None = None if watch.alarm is None else asdict(watch.alarm)
    return {
        "skill": watch.skill,
        "model": watch.student,
        "event": result.event,
        "mode": watch.mode,
        "history": {
            "answers": sum(case.answers for case in watch.cases),
            "passed": sum(case.passed for case in watch.cases),
            "cases": len(watch.cases),
            "nights": len(watch.bought),
            "of_nights": watch.parts,
        },
        "night": None
        if night is None
        else {
            "number": len(watch.nights),
            "date": night.date,
            "passed": len(night.passed),
            "answers": night.answers,
            "expected": night.expected,
        },
        "level": watch.level,
        "limit": watch.limit,
        "alarm": alarm,
        "state": str(result.path),
        "run": watch.run,
        "bought": {"calls": result.bought.calls, "cost": result.bought.cost},
        "notes": list(result.notes),
    }
