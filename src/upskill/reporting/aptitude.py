"""What students can do before a skill is written for them, as people read it and as programs do."""

from collections.abc import Iterator, Sequence

from pydantic import TypeAdapter

from upskill.domain.case import Json
from upskill.domain.student_profile import RUNG_NAMES, Aptitude
from upskill.domain.text import count
from upskill.reporting.glance.names import unique_names
from upskill.reporting.wording import confidence_interval, percent, percents, points

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
    interval = one.lift.these_cases
    known = " on these" if interval.low == interval.high else f", {confidence_interval(one.lift, interval)},"
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
