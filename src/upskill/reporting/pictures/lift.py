"""Lift per student, with both intervals: the one for these cases, and the wider one for new cases of this kind."""

from upskill.domain import Evaluation
from upskill.domain.case import Json
from upskill.reporting.palette import LIGHT, verdict_colour
from upskill.reporting.pictures.canvas import SIGNED, Canvas, Chart, number
from upskill.reporting.pictures.picture import Picture
from upskill.reporting.wording import arm_name, points, short_names

ROW = 58
NAMES = (-0.55, -0.1)
"""The part of a row, from its top, that is kept for words: nothing of the plot runs through it."""


def lift_picture(evaluation: Evaluation) -> Picture | None:
    """One row per student; `None` where nothing was compared."""
    compared = [(report, report.lifts[0]) for report in evaluation.students if report.lifts]
    if not compared:
        return None
    marks: list[dict[str, Json]] = []
    for row, (report, lift) in enumerate(compared):
        wide = lift.cases_like_these
        decided = report.verdict in ("helps", "hurts", "no difference", "cheaper")
        marks.append(
            {
                "row": row,
                "student": report.student.name,
                "mean": lift.mean * 100,
                "low": lift.these_cases.low * 100,
                "high": lift.these_cases.high * 100,
                "wide_low": None if wide is None else wide.low * 100,
                "wide_high": None if wide is None else wide.high * 100,
                "verdict": f"{points(lift.mean)}, {report.verdict}",
                "colour": LIGHT[verdict_colour(report.verdict)],
                "fill": LIGHT[verdict_colour(report.verdict)] if decided else LIGHT["paper"],
            }
        )
    is_version = compared[0][1].against == "previous"
    against = arm_name(compared[0][1].against, compared[0][0].harness)
    return Picture(
        name="lift",
        title=f"Lift against the {against}" if is_version else "Lift against no skill",
        marks=marks,
        facts={"asked": None if evaluation.min_lift is None else evaluation.min_lift * 100},
    )


def chart(picture: Picture, canvas: Canvas) -> Chart:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    room = width - 7 * max(len(str(mark["verdict"])) for mark in picture.marks) - 10
    names = short_names([str(mark["student"]) for mark in picture.marks], max(8, room // 8))
    ends = [
        number(mark[key])
        for mark in picture.marks
        for key in ("low", "high", "wide_low", "wide_high")
        if mark[key] is not None
    ]
    asked = picture.facts.get("asked")
    low, high = min(*ends, -10.0), max(*ends, 10.0)
    pad = (high - low) * 0.04
    domain = [max(-105.0, low - pad), min(105.0, high + pad)]
    rows = [
        {
            **mark,
            "name": name,
            "above": int(str(mark["row"])) - 0.3,
            "left": domain[0],
            "right": domain[1],
            "top": int(str(mark["row"])) + NAMES[0],
            "bottom": int(str(mark["row"])) + NAMES[1],
        }
        for mark, name in zip(picture.marks, names, strict=True)
    ]
    count_of_rows = len(rows)
    base = canvas.plot(rows)
    y = alt.Y("row:Q", axis=None, scale=alt.Scale(domain=[-0.55, count_of_rows - 0.55], reverse=True, nice=False))
    above = alt.Y("above:Q", axis=None)
    x_axis = alt.Axis(title="lift in points", tickCount=6, grid=True, labelExpr=SIGNED)
    x = alt.X("mean:Q", scale=alt.Scale(domain=domain, nice=False), axis=x_axis)
    colour = alt.Color("colour:N", scale=None)
    zero = canvas.plot([{"at": 0}]).mark_rule(color=LIGHT["muted"], size=1.5).encode(x="at:Q")
    layers = [
        zero,
        base.mark_rect(color=LIGHT["paper"], opacity=1).encode(
            x=alt.X("left:Q"), x2="right:Q", y=alt.Y("top:Q", axis=None), y2="bottom:Q"
        ),
        base.transform_filter("isValid(datum.wide_low)")
        .mark_rule(size=2)
        .encode(y=y, x=alt.X("wide_low:Q"), x2="wide_high:Q", color=colour),
        base.mark_rule(size=11, opacity=0.4, strokeCap="round").encode(
            y=y, x=alt.X("low:Q"), x2="high:Q", color=colour
        ),
        base.mark_point(size=110, filled=False, strokeWidth=2.5, opacity=1).encode(
            y=y, x=x, stroke=alt.Stroke("colour:N", scale=None), fill=alt.Fill("fill:N", scale=None)
        ),
        base.mark_text(align="left", fontWeight="bold", color=LIGHT["ink"], fontSize=13, limit=room).encode(
            y=above, x=alt.value(0), text="name:N"
        ),
        base.mark_text(align="right", fontSize=13).encode(y=above, x=alt.value(width), text="verdict:N", color=colour),
    ]
    if asked is not None:
        line = canvas.plot([{"at": asked}])
        layers.insert(1, line.mark_rule(strokeDash=[5, 4], color=LIGHT["mark"], size=1.5).encode(x="at:Q"))
    return alt.layer(*layers).properties(width=width, height=count_of_rows * ROW)
