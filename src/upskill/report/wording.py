"""Figures, sums of money, names of models and arms, and loads as people read them, in every form of a report."""

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from upskill.core.nouns import (
    DEFAULT_HARNESS,
    Arm,
    Evaluation,
    Interval,
    Lift,
    Loads,
    Purchase,
    StudentReport,
    harness_info,
)
from upskill.core.nouns.text import count, points_range, visible
from upskill.core.nouns.text import points as points

if TYPE_CHECKING:
    from rich.console import Console

BAR = 20
"""Characters of a bar on a terminal."""
USUAL = "95% CI"
"""What an interval is where it says nothing else."""
UNREAD = "none of its tool calls could be read"
_FAULTS = {
    "transport": "the connection broke",
    "provider": "the server reported an error",
    "rate limit": "the server's rate limit",
    "timeout": "a timeout",
    "check": "a check crashed",
    "sandbox": "the sandbox failed",
    "crash": "an internal error",
    "budget": "a cap was reached",
}


_USES = {"learn": "practice", "negative": "unrelated"}


def use_name(use: str) -> str:
    """What a case is for, as people call it; files have `learn` and `negative`."""
    return _USES.get(use, use)


def fault_words(fault: str) -> str:
    """Why an answer errored, as people say it."""
    return _FAULTS.get(fault, fault)


def faults_words(faults: Iterable[tuple[str, int]]) -> str:
    """Why answers errored; several reasons in short, each with its number."""
    known = list(faults)
    if len(known) == 1:
        return fault_words(known[0][0])
    return ", ".join(f"{number:,} {fault}" for fault, number in known)


def dollars(cost: float | None) -> str:
    """A sum with as many digits as it needs; unknown is said, never 0."""
    if cost is None:
        return "unknown"
    return f"${cost:.2f}" if cost >= 0.1 or cost == 0 else f"${Decimal(f'{cost:.2g}'):f}"


def paid(cost: float | None) -> str:
    """What was paid in all; an unknown sum is not called one."""
    return "price unknown" if cost is None else dollars(cost)


def spent_on(bought: Purchase) -> str:
    """Calls and what was paid for them."""
    return f"{count(bought.calls, 'call')} ({paid(bought.cost if bought.calls else 0.0)})"


def arm_name(arm: Arm, harness: str) -> str:
    """An arm as people call it. A student with tools can be offered a skill; others can only be given it."""
    return harness_info(harness).arm_name(arm)


def loss_lines(report: StudentReport) -> Iterator[str]:
    """Which arms lost answers, and which had requests refused: a line each, where there were any."""
    for what, counts in (
        ("lost answers", [arm.lost for arm in report.arms]),
        ("refused requests", [arm.refused for arm in report.arms]),
    ):
        if any(counts):
            names = [arm_name(arm.arm, report.harness) for arm in report.arms]
            yield f"{what}: {counted_by_arm(zip(names, counts, strict=True))}"


def counted_by_arm(counts: Iterable[tuple[str, int]]) -> str:
    """A number for each arm: `2 without, 46 with the skill`."""
    said = ", ".join(f"{number:,} {name}" for name, number in counts)
    return said.replace(" without the skill,", " without,", 1) if said.endswith(" with the skill") else said


def widest_name(arms: Iterable[Arm], harness: str) -> int:
    """Characters that the names of these arms need in a column."""
    return max(10, *(len(arm_name(arm, harness)) for arm in arms))


def between(interval: Interval | None) -> str:
    """An interval in points; a dash where there are too few cases to say."""
    return "–" if interval is None else points_range(interval.low, interval.high)


def confidence_interval(lift: Lift) -> str:
    """The interval of a lift, with what it promises to cover."""
    return f"{confidence(lift)} {between(lift.interval)}"


def confidence(lift: Lift) -> str:
    """What the intervals of a lift promise to cover."""
    return covers(lift.confidence)


def interval_in_column(interval: Interval | None, share: float) -> str:
    """An interval under a head that says `95% CI`: where it promises to cover another share, it says so itself."""
    return between(interval) if interval is None or covers(share) == USUAL else f"{covers(share)} {between(interval)}"


def covers(share: float) -> str:
    """A share as the level of an interval: `95% CI`."""
    return f"{round(share * 100, 1):g}% CI"


def ceiling_words(report: StudentReport, *, cases: int) -> str | None:
    """What the passage itself does in the prompt, beside the skill; `None` where that was not measured.

    `cases` are those of the evaluation, of which some may have no passage.
    """
    if (lift := report.ceiling) is None:
        return None
    arm = report.arm("ceiling")
    asked = cases if arm is None or arm.asked_cases is None else arm.asked_cases
    where = f" on these {count(asked, 'case')}" if lift.about == "these cases" else ""
    on = f"; {asked} of {cases} cases have a passage" if asked != cases else ""
    return (
        f"with the passage itself in the prompt: {points(lift.mean)} points "
        f"({confidence_interval(lift)}{where}, {count(lift.pairs, 'pair')}{on})"
    )


_MOST_CASES = 5


def control_lines(report: StudentReport) -> Iterator[str]:
    """What the controls show, a line each; none where there were none."""
    if (findings := report.controls) is None:
        return
    placebo, over = report.beside("placebo"), findings.over_placebo
    if placebo is not None and over is not None:
        yield f"with a placebo: {_lift_words(placebo)}; the skill over the placebo: {_lift_words(over)}"
        if not over.interval.above_zero:
            yield "the skill is not shown to do more than a text of its length about something else"
    if findings.over_corrupted is not None:
        yield (
            f"of {count(findings.passing, 'case')} passing with the skill, {findings.noticed} fail with it corrupted; "
            f"the skill over the corrupted one: {_lift_words(findings.over_corrupted)}"
        )
        tested = f"of {count(findings.tested, 'case')} with an exchanged value in a check"
        untested = f"; {count(findings.untested, 'other case')} not tested" if findings.untested else ""
        names = findings.shows_nothing
        shown = ", ".join(names[:_MOST_CASES]) + (" …" if len(names) > _MOST_CASES else "")
        still = "1 still passes and shows" if len(names) == 1 else f"{len(names)} still pass and show"
        still = f"{still} nothing of the skill: {shown}" if names else "none still passes"
        yield f"{tested}, {still}{untested}"


def _lift_words(lift: Lift) -> str:
    """A lift that decides nothing, with its interval: `+2 points (95% CI -5 to +9, 12 pairs)`."""
    here = f" on these {count(lift.cases, 'case')}" if lift.about == "these cases" else ""
    return f"{points(lift.mean)} points ({confidence_interval(lift)}{here}, {count(lift.pairs, 'pair')})"


def percent(share: float | None) -> str:
    """A share in percent; a dash where nothing was measured."""
    return "–" if share is None else f"{share:.0%}"


def percents(against: float | None, rate: float | None, lift: float | None) -> tuple[str, str]:
    """Two rates in whole percent, rounded so that their difference is the lift as it is printed.

    Where rounding each by itself would contradict the lift, the one nearer to half a percent is rounded the other way.
    Beside a lift of less than half a point, which is printed with a decimal, they have a decimal, too.
    """
    if against is None or rate is None or lift is None or abs(rate - against - lift) > 1e-6:
        return percent(against), percent(rate)
    fine = 10 if points(lift).lstrip("+−").startswith("0.") else 1
    low, high = round(against * 100 * fine), round(rate * 100 * fine)
    if off := round(lift * 100 * fine) - (high - low):
        if abs(rate * 100 * fine - high) >= abs(against * 100 * fine - low):
            high += off
        else:
            low -= off
    return (f"{low}%", f"{high}%") if fine == 1 else (f"{low / fine:.1f}%", f"{high / fine:.1f}%")


def arm_percents(report: StudentReport) -> dict[Arm, str]:
    """The pass rate of each arm in percent, as it stands beside the lifts of a student."""
    shown = {arm.arm: percent(report.rate(arm.arm)) for arm in report.arms}
    for lift in reversed(report.lifts):
        shown[lift.against], shown[lift.arm] = percents(report.rate(lift.against), report.rate(lift.arm), lift.mean)
    return shown


def can_draw(console: "Console", signs: str = "█░") -> bool:
    """Whether a terminal can show these signs."""
    try:
        signs.encode(console.encoding)
    except (UnicodeEncodeError, LookupError):
        return False
    return True


def drawn_bar(share: float | None, console: "Console", shown: str | None = None) -> str:
    """A share as a bar, and in percent after it, `shown` so where that stands beside a lift."""
    full, empty = ("█", "░") if can_draw(console) else ("#", ".")
    filled = round((share or 0.0) * BAR)
    return f"{full * filled}{empty * (BAR - filled)} {'-' if share is None else shown or f'{share:.0%}':>5}"


_SCRIPT = "scripted/"
LONGEST = 64
"""Cells of a short name."""


def names_by_model(models: Sequence[str]) -> dict[str, str]:
    """The short name of each model, by its full one."""
    return dict(zip(models, unique_names(models), strict=True))


def unique_names(names: Sequence[str]) -> list[str]:
    """A short name for each: the file name of a script, the last part of a path, and more of it where two are alike."""
    clean = [" ".join(visible(name).split()) or "?" for name in names]
    parts = [_parts(name) for name in clean]
    return told_apart(["/".join(one[-_needed(one, parts) :]) for one in parts], LONGEST)


def told_apart(names: Sequence[str], most: int, dots: str = "…") -> list[str]:
    """The names in so many cells each; those that are alike once they are cut have their number."""
    cut = [fitted(name, most, dots) for name in names]
    room = most - len(f" #{len(names)}")
    return [
        one if cut.count(one) == 1 else f"{fitted(name, room, dots)} #{number}"
        for number, (one, name) in enumerate(zip(cut, names, strict=True), 1)
    ]


def fitted(name: str, most: int, dots: str = "…") -> str:
    """The name in at most so many cells of a terminal, cut in the middle: models differ at both ends."""
    if len(name) > 2 * most:  # marks that combine take no cell, however many there are
        name = name[:most] + name[-most:]
    if cell_len(name) <= most:
        return name
    tail_cells = (most - 1) * 2 // 3
    head = set_cell_size(name, most - 1 - tail_cells).rstrip()
    tail = name
    while cell_len(tail) > tail_cells:
        tail = tail[1:]
    return f"{head}{dots}{tail}"


def is_scripted(model: str) -> bool:
    """Whether a script stands in for a model."""
    return model.startswith(_SCRIPT)


def _parts(name: str) -> tuple[str, ...]:
    if not is_scripted(name):
        return tuple(part for part in name.split("/") if part) or (name,)
    path = PurePosixPath(name.removeprefix(_SCRIPT))
    return (*path.parts[:-1], path.stem)


def _needed(one: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> int:
    """How many of the last parts tell this name from the others."""
    different = [other for other in others if other != one]
    return next(
        (most for most in range(1, len(one)) if all(other[-most:] != one[-most:] for other in different)), len(one)
    )


_WORDS = {
    "skill offered": "with the skill offered",
    "skill given": "with the skill given",
    "skill forced": "with the skill forced",
}
"""Names that need more words beside a dot than in a column."""


def compared_titles(evaluation: Evaluation) -> tuple[str, str]:
    """What stands before the comparison and after it."""
    measured, against = evaluation.students[0].compared if evaluation.students else ("with_skill", "baseline")
    before, after = (_title(arm, evaluation) for arm in (against, measured))
    return before, after


def arm_titles(evaluation: Evaluation, arms: Sequence[Arm]) -> tuple[str, ...]:
    """These arms as the sides of a pair are called: those that are compared as in the headline."""
    return tuple(_title(arm, evaluation) for arm in arms)


def _title(arm: Arm, evaluation: Evaluation) -> str:
    harness = DEFAULT_HARNESS
    if evaluation.students:
        measured, against = evaluation.students[0].compared
        if against == "previous" and arm in (measured, against):
            return "old version" if arm == against else "new version"
        harness = evaluation.students[0].harness
    name = arm_name(arm, harness)
    return _WORDS.get(name, name)


RARELY = 0.5
"""Below this load rate a skill that helps when it is forced is called rarely loaded."""
_MOST_NAMED = 3
_ANYTHING = ("helps", "hurts", "cheaper")


def rarely_loaded(report: StudentReport) -> bool:
    """Whether the skill is shown to help when it is forced, and most answers did not load it: its description is the
    place to work."""
    loads = report.loads
    return _helps_forced(report) and loads is not None and loads.rate < RARELY and not loads.no_tool_called


def _helps_forced(report: StudentReport) -> bool:
    return report.forced is not None and report.forced.interval.above_zero


def differs_unloaded(report: StudentReport) -> bool:
    """Whether a difference was found although no answer loaded the skill."""
    return report.loads is not None and not report.loads.loaded and report.verdict in _ANYTHING


def loading_sentence(report: StudentReport) -> str | None:
    """What must be said beside the answer itself; `None` where loads change nothing about it."""
    loads, forced = report.loads, report.forced
    if loads is None:
        return None
    if _helps_forced(report) and forced is not None and loads.rate < RARELY:
        how = arm_name("with_skill", report.harness).removeprefix("skill ")
        lift = f"{points(forced.mean)} points, {confidence_interval(forced)}"
        if loads.no_tool_called:
            return (
                f"It helps when {how} ({lift}), but the model called no tool in {count(loads.answers, 'answer')}, so "
                "it can load no skill: put the text into the agent's instructions, or use a model that calls tools."
            )
        loaded = f"loaded in {loads.loaded} of {count(loads.answers, 'answer')}"
        also = "" if not differs_unloaded(report) else " Nothing is shown about its text where it was only offered."
        return f"It helps when {how} ({lift}), but was {loaded}: work on its description.{also}"
    if differs_unloaded(report):
        return (
            "No answer loaded it, so nothing is shown about its text: the difference comes from its name and "
            "description, or from chance."
        )
    return None


def loading_sentences(reports: Sequence[StudentReport], names: Sequence[str]) -> Iterator[str]:
    """The same for several models, by the names that they have in the headline."""
    rare = [name for report, name in zip(reports, names, strict=True) if rarely_loaded(report)]
    if rare:
        yield f"It helps when it is forced, but is rarely loaded by {_listed(rare)}: work on its description."
    unloaded = [name for report, name in zip(reports, names, strict=True) if differs_unloaded(report)]
    if unloaded:
        yield f"No answer of {_listed(unloaded)} loaded it, so nothing is shown about its text there."


def load_words(loads: Loads) -> str:
    """How many answers loaded the skill, and the load rate with its interval."""
    return f"the skill was loaded in {loads.loaded} of {count(loads.answers, 'answer')} ({rate_words(loads)})"


def rate_words(loads: Loads) -> str:
    """`30%, 95% CI 19% to 44%`; on which cases, where nothing can be said about others."""
    here = _here(loads.cases) if loads.about == "these cases" else ""
    return f"{percent(loads.rate)}, {_level(loads)} {_percents(loads.interval)}{here}"


def forced_words(report: StudentReport) -> str | None:
    """The lift of the skill given or forced; `None` where that was not measured."""
    lift = report.forced
    if lift is None:
        return None
    here = _here(lift.cases) if lift.about == "these cases" else ""
    name = arm_name(lift.arm, report.harness)
    return f"{name}: {points(lift.mean)} points ({confidence_interval(lift)}{here}, {count(lift.pairs, 'pair')})"


def turn_words(loads: Loads) -> str | None:
    """When the skill was loaded, typically; `None` where that is not known."""
    if loads.turn is None:
        return None
    return f"typically loaded in turn {loads.turn:g}" if loads.turn else "typically loaded in the first request"


def instead_words(loads: Loads) -> str | None:
    """Which other skills were loaded instead; `None` where none was."""
    return f"other skills loaded instead: {_other_skills_counted(loads.instead)}" if loads.instead else None


def loading_lines(report: StudentReport) -> Iterator[str]:
    """Every line about the loads of one model; none where no skill was offered.

    A result of an earlier version has the number of loads only.
    """
    loads, offered = report.loads, report.arm("offered")
    if loads is not None:
        said = (
            load_words(loads),
            _previous_words(report),
            forced_words(report),
            instead_words(loads),
        )
        yield from (words for words in said if words is not None)
    elif offered is not None and offered.trials:
        share = percent(offered.load_rate)
        yield f"the skill was loaded in {offered.loaded or 0} of {count(offered.trials, 'answer')} ({share})"
        if (forced := forced_words(report)) is not None:
            yield forced


def _previous_words(report: StudentReport) -> str | None:
    """How often the old version was loaded; `None` where none was offered."""
    arm = report.arm("previous")
    if arm is None or arm.loaded is None or not arm.trials:
        return None
    return f"the old version was loaded in {arm.loaded} of {count(arm.trials, 'answer')} ({percent(arm.load_rate)})"


def _here(cases: int) -> str:
    return " on this 1 case" if cases == 1 else f" on these {cases} cases"


def _other_skills_counted(skills: Sequence[tuple[str, int]]) -> str:
    said = [f"{name} in {count(number, 'answer')}" for name, number in skills[:_MOST_NAMED]]
    return ", ".join(said) + (f" and {len(skills) - _MOST_NAMED} more" if len(skills) > _MOST_NAMED else "")


def _listed(names: Sequence[str]) -> str:
    named = [*names[:_MOST_NAMED], *([f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else [])]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def _percents(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _level(loads: Loads) -> str:
    return f"{round(loads.confidence * 100, 1):g}% CI"
