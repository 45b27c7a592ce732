"""One skill over its versions: what each student passed without it and with it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from upskill.domain import Interval
from upskill.domain.case import Json
from upskill.reporting.pictures.canvas import Canvas, Chart
from upskill.reporting.pictures.palette import LIGHT, verdict_colour
from upskill.reporting.pictures.picture import Picture
from upskill.reporting.wording import between, percents, points, short_names

HEIGHT = 170
MOST_STUDENTS = 8
MOST_VERSIONS = 40


@dataclass(frozen=True, kw_only=True, slots=True)
class Version:
    """What one run measured of one version of a skill on one student."""

    day: str
    digest: str
    run: str
    student: str
    before: float | None
    after: float | None
    lift: float
    interval: Interval
    pairs: int
    verdict: str | None


def history_picture(skill: str, versions: Sequence[Version]) -> Picture | None:
    """Oldest first; of each version and student the latest run. `None` where there is nothing to show."""
    latest: dict[tuple[str, str], Version] = {}
    for version in versions:
        latest[version.digest, version.student] = version
    digests = list(dict.fromkeys(version.digest for version in versions))[-MOST_VERSIONS:]
    students = list(dict.fromkeys(version.student for version in versions))[:MOST_STUDENTS]
    shown = [latest[digest, student] for student in students for digest in digests if (digest, student) in latest]
    marks: list[dict[str, Json]] = [
        {
            "student": one.student,
            "version": f"{one.day} {one.digest[:6]}",
            "before": one.before,
            "after": one.after,
            "low": min(1.0, max(0.0, one.before + one.interval.low)),
            "high": min(1.0, max(0.0, one.before + one.interval.high)),
            "colour": LIGHT[verdict_colour(one.verdict)],
        }
        for one in shown
        if one.before is not None and one.after is not None
    ]
    if not marks:
        return None
    order: list[Json] = [f"{_day_of(digest, shown)} {digest[:6]}" for digest in digests]
    newest = shown[-1]
    return Picture(
        name="history",
        title=f"{skill} over {len(digests)} version{'' if len(digests) == 1 else 's'}",
        says=f"Pass rates without and with each version of {skill}. The newest on {newest.student}: "
        f"{points(newest.lift)} points, {newest.verdict}.",
        reading="Hollow is the baseline, filled is with the skill; the pale bar is where the lift's interval says the "
        "filled one could be. Cases may have changed between versions: compare those whose baselines agree.",
        marks=marks,
        facts={"order": order},
        columns=("Day", "Version", "Student", "Baseline", "With skill", "Lift", "Interval", "Pairs", "Verdict"),
        rows=tuple(
            (
                one.day,
                one.digest[:12],
                one.student,
                *percents(one.before, one.after, one.lift),
                f"{points(one.lift)} points",
                between(one.interval),
                str(one.pairs),
                one.verdict or "–",
            )
            for one in shown
        ),
    )


def _day_of(digest: str, shown: Sequence[Version]) -> str:
    return next((one.day for one in shown if one.digest == digest), "")


def chart(picture: Picture, canvas: Canvas) -> list[Chart]:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    students = list(dict.fromkeys(str(mark["student"]) for mark in picture.marks))
    short = dict(zip(students, short_names(students, width // 9), strict=True))
    order: Any = picture.facts["order"]
    panels = []
    for student in students:
        mine: list[dict[str, Any]] = [dict(mark) for mark in picture.marks if mark["student"] == student]
        base = canvas.plot(mine)
        axis = alt.Axis(title=None, labelAngle=-35, labelLimit=150, grid=False, labelOverlap="greedy")
        if student != students[-1]:
            axis = alt.Axis(title=None, labels=False, grid=False)
        x = alt.X("version:N", scale=alt.Scale(domain=order), axis=axis)
        y = alt.Y(
            "after:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="pass rate", format=".0%", tickCount=5)
        )
        colour = alt.Color("colour:N", scale=None)
        layers = [
            base.mark_rule(size=10, opacity=0.25, strokeCap="round").encode(
                x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour
            ),
            base.mark_line(color=LIGHT["unsure"], strokeWidth=1.2, strokeDash=[4, 3]).encode(
                x=x, y=alt.Y("before:Q"), order=alt.value(0)
            ),
            base.mark_line(color=LIGHT["plain"], strokeWidth=1.5).encode(x=x, y=y),
            base.mark_point(size=70, strokeWidth=2, opacity=1).encode(
                x=x, y=alt.Y("before:Q"), stroke=alt.value(LIGHT["unsure"]), fill=alt.value(LIGHT["paper"])
            ),
            base.mark_point(size=100, filled=True, opacity=1).encode(x=x, y=y, color=colour),
        ]
        title = alt.TitleParams(short[student], anchor="start", fontSize=13, color=LIGHT["ink"], offset=4)
        panels.append(alt.layer(*layers).properties(width=width, height=HEIGHT, title=title))
    return panels
