"""What people read about the loads of an offered skill: load rate, forced lift, lift if loaded, other skills."""

from collections.abc import Iterator, Sequence

from upskill.core.nouns import Interval, Lift, Loads, StudentReport
from upskill.core.nouns.evaluation import shown_interval
from upskill.core.nouns.text import count
from upskill.report.wording import arm_name, between, confidence_interval, percent, points

RARELY = 0.5
"""Below this load rate a skill that helps when it is forced is called rarely loaded."""
_MOST_NAMED = 3
_ANYTHING = ("helps", "hurts", "cheaper")


def rarely_loaded(report: StudentReport) -> bool:
    """Whether the skill is shown to help when it is forced, and most answers did not load it: its description is the
    place to work."""
    forced, loads = report.forced, report.loads
    return forced is not None and loads is not None and shown_lift_interval(forced).above_zero and loads.rate < RARELY


def differs_unloaded(report: StudentReport) -> bool:
    """Whether a difference was found although no answer loaded the skill."""
    return report.loads is not None and not report.loads.loaded and report.verdict in _ANYTHING


def loading_sentence(report: StudentReport) -> str | None:
    """What must be said beside the answer itself; `None` where loads change nothing about it."""
    loads, forced = report.loads, report.forced
    if loads is None:
        return None
    if rarely_loaded(report) and forced is not None:
        how = arm_name("with_skill", report.harness).removeprefix("skill ")
        lift = f"{points(forced.mean)} points, {confidence_interval(forced, shown_lift_interval(forced))}"
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
    here = _here(loads.cases) if loads.cases_like_these is None else ""
    return f"{percent(loads.rate)}, {_level(loads)} {_percents(loads.interval)}{here}"


def forced_words(report: StudentReport, *, cases: int) -> str | None:
    """The lift of the skill given or forced; `None` where that was not measured."""
    lift = report.forced
    if lift is None:
        return None
    here = _here(lift.cases or cases) if lift.cases_like_these is None else ""
    interval = confidence_interval(lift, shown_lift_interval(lift))
    name = arm_name(lift.arm, report.harness)
    return f"{name}: {points(lift.mean)} points ({interval}{here}, {count(lift.pairs, 'pair')})"


def if_loaded_words(loads: Loads) -> str | None:
    """The lift if loaded, or why it is not shown; `None` where nobody would ask for it."""
    if (reason := withheld_words(loads)) is not None:
        return f"lift if loaded: not shown, because {reason}"
    shown = loads.lift_if_loaded
    if shown is None:
        return None
    return f"lift if loaded: {points(shown.mean)} points ({_level(loads)} {between(shown.interval)})"


def withheld_words(loads: Loads) -> str | None:
    """Why the lift if loaded is not shown; `None` where it is, or where nothing was loaded or compared."""
    match loads.withheld:
        case None | "never loaded" | "not compared":
            return None
        case "too few cases":
            return "there are fewer than 6 cases or families"
        case "too few loads":
            return "too few answers loaded the skill"
        case "unloaded answers differ" if loads.unloaded is not None:
            unloaded = loads.unloaded
            figure = f"{points(unloaded.mean)} points, {_level(loads)} {between(unloaded.interval)}"
            return f"answers that did not load the skill differ from those without it ({figure})"
        case "loads with easy cases":
            return "the skill was loaded more often on easy cases"
        case "loads with hard cases":
            return "the skill was loaded more often on hard cases"
        case "loads unclear":
            return "too few answers show whether loads go with easy or hard cases"
        case _:
            return "too few answers show whether those that did not load the skill match those without it"


def turn_words(loads: Loads) -> str | None:
    """When the skill was loaded, typically; `None` where that is not known."""
    if loads.turn is None:
        return None
    return f"typically loaded in turn {loads.turn:g}" if loads.turn else "typically loaded in the first request"


def instead_words(loads: Loads) -> str | None:
    """Which other skills were loaded instead; `None` where none was."""
    return f"other skills loaded instead: {_counted(loads.instead)}" if loads.instead else None


def loading_lines(report: StudentReport, *, cases: int) -> Iterator[str]:
    """Every line about the loads of one model; none where no skill was offered.

    A result of an earlier version has the number of loads only.
    """
    loads, offered = report.loads, report.arm("offered")
    if loads is not None:
        said = (
            load_words(loads),
            _previous_words(report),
            forced_words(report, cases=cases),
            if_loaded_words(loads),
            instead_words(loads),
        )
        yield from (words for words in said if words is not None)
    elif offered is not None and offered.trials:
        share = percent(offered.load_rate)
        yield f"the skill was loaded in {offered.loaded or 0} of {count(offered.trials, 'answer')} ({share})"
        if (forced := forced_words(report, cases=cases)) is not None:
            yield forced


def _previous_words(report: StudentReport) -> str | None:
    """How often the old version was loaded; `None` where none was offered."""
    arm = report.arm("previous")
    if arm is None or arm.loaded is None or not arm.trials:
        return None
    return f"the old version was loaded in {arm.loaded} of {count(arm.trials, 'answer')} ({percent(arm.load_rate)})"


def _here(cases: int) -> str:
    return " on this 1 case" if cases == 1 else f" on these {cases} cases"


def _counted(skills: Sequence[tuple[str, int]]) -> str:
    said = [f"{name} in {count(number, 'answer')}" for name, number in skills[:_MOST_NAMED]]
    return ", ".join(said) + (f" and {len(skills) - _MOST_NAMED} more" if len(skills) > _MOST_NAMED else "")


def _listed(names: Sequence[str]) -> str:
    named = [*names[:_MOST_NAMED], *([f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else [])]
    return named[0] if len(named) == 1 else f"{', '.join(named[:-1])} and {named[-1]}"


def shown_lift_interval(lift: Lift) -> Interval:
    return shown_interval(claim=None, these_cases=lift.these_cases, cases_like_these=lift.cases_like_these)


def _percents(interval: Interval) -> str:
    return f"{percent(interval.low)} to {percent(interval.high)}"


def _level(loads: Loads) -> str:
    return f"{round(loads.confidence * 100, 1):g}% CI"
