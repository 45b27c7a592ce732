"""How the estimate moved, pair by pair, until the test decided, or did not."""

from collections.abc import Sequence
from typing import Any

from upskill.domain import Evaluation
from upskill.domain.case import Json
from upskill.reporting.estimate_path import StudentPath
from upskill.reporting.palette import LIGHT, verdict_colour
from upskill.reporting.pictures.canvas import SIGNED, Canvas, Chart, number
from upskill.reporting.pictures.picture import Picture
from upskill.reporting.wording import points, short_names

HEIGHT = 120
MOST_STUDENTS = 8


def path_picture(evaluation: Evaluation, paths: Sequence[StudentPath]) -> Picture | None:
    """One panel per student; `None` where fewer than two pairs were measured."""
    reports = {report.student.name: report for report in evaluation.students}
    marks: list[dict[str, Json]] = []
    for path in paths[:MOST_STUDENTS]:
        report = reports.get(path.student)
        if report is None or len(path.points) < 2:
            continue
        last = path.points[-1]
        marks += [
            {
                "student": path.student,
                "pairs": point.pairs,
                "mean": round(point.mean * 100, 1),
                "low": round(point.these_cases.low * 100, 1),
                "high": round(point.these_cases.high * 100, 1),
                "wide_low": None if point.cases_like_these is None else round(point.cases_like_these.low * 100, 1),
                "wide_high": None if point.cases_like_these is None else round(point.cases_like_these.high * 100, 1),
                "round": point.round_end and point is not last,
                "last": point is last,
                "said": f"{points(point.mean)}, {report.verdict}" if point is last else "",
                "colour": LIGHT[verdict_colour(report.verdict)],
            }
            for point in path.points
        ]
    if not marks:
        return None
    return Picture(
        name="path",
        title="How the estimate settled",
        marks=marks,
    )


def chart(picture: Picture, canvas: Canvas) -> list[Chart]:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    students = list(dict.fromkeys(str(mark["student"]) for mark in picture.marks))
    short = dict(zip(students, short_names(students, width // 9), strict=True))
    ends = [
        mark[key] for mark in picture.marks for key in ("low", "high", "wide_low", "wide_high") if mark[key] is not None
    ]
    domain = [max(-100.0, min(map(number, ends))), min(100.0, max(map(number, ends)))]
    most = max(number(mark["pairs"]) for mark in picture.marks)
    panels = []
    for student in students:
        mine: list[dict[str, Any]] = [dict(mark) for mark in picture.marks if mark["student"] == student]
        colour = mine[-1]["colour"]
        base = canvas.plot(mine)
        x = alt.X(
            "pairs:Q",
            scale=alt.Scale(domain=[0, most], nice=False),
            axis=alt.Axis(title="pairs" if student == students[-1] else None, tickMinStep=1, tickCount=6, grid=False),
        )
        y_axis = alt.Axis(title="lift in points", tickCount=4, labelExpr=SIGNED)
        y = alt.Y("mean:Q", scale=alt.Scale(domain=domain), axis=y_axis)
        end = base.transform_filter("datum.last")
        near_right = number(mine[-1]["pairs"]) > most * 0.7
        layers = [
            base.transform_filter("isValid(datum.wide_low)")
            .mark_area(opacity=0.16, color=colour)
            .encode(x=x, y=alt.Y("wide_low:Q"), y2="wide_high:Q"),
            base.mark_area(opacity=0.26, color=colour).encode(x=x, y=alt.Y("low:Q"), y2="high:Q"),
            base.transform_filter("datum.round").mark_rule(color=LIGHT["muted"], opacity=0.45).encode(x=x),
            canvas.plot([{"at": 0}]).mark_rule(color=LIGHT["muted"], size=1.5).encode(y=alt.Y("at:Q")),
            base.mark_line(color=colour, strokeWidth=2).encode(x=x, y=y),
            end.mark_point(filled=True, size=90, color=colour, opacity=1).encode(x=x, y=y),
            end.mark_text(
                align="right" if near_right else "left",
                dx=-9 if near_right else 9,
                dy=-11,
                fontWeight="bold",
                color=LIGHT["ink"],
            ).encode(x=x, y=y, text="said:N"),
        ]
        title = alt.TitleParams(short[student], anchor="start", fontSize=13, color=LIGHT["ink"], offset=4)
        panels.append(alt.layer(*layers).properties(width=width, height=HEIGHT, title=title))
    return panels
