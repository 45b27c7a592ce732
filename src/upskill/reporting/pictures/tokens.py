"""Tokens per task in each arm. A skill that saves tokens is a win, and looks like one."""

from collections.abc import Sequence
from typing import Any

from upskill.domain import StudentReport
from upskill.domain.case import Json
from upskill.reporting.palette import LIGHT
from upskill.reporting.pictures.canvas import Canvas, Chart
from upskill.reporting.pictures.picture import Picture
from upskill.reporting.token_change import TokenRatio, token_change
from upskill.reporting.wording import arm_name, short_names

BAR, HEAD, GAP = 22, 24, 14


def tokens_picture(reports: Sequence[StudentReport], ratios: Sequence[TokenRatio]) -> Picture | None:
    """`None` where no student's tokens are known."""
    known = {ratio.student: ratio for ratio in ratios}
    marks: list[dict[str, Json]] = []
    for report in reports:
        ratio = known.get(report.student.name)
        said, colour = _change(ratio)
        measured, against = report.compared
        for arm in report.arms:
            if arm.tokens is None:
                continue
            is_measured = arm.arm == measured and len(report.arms) > 1
            marks.append(
                {
                    "student": report.student.name,
                    "arm": arm_name(arm.arm, report.harness),
                    "tokens": arm.tokens,
                    "colour": LIGHT[colour if is_measured else "unsure"],
                    "pale": arm.arm == against or not is_measured,
                    "change": said,
                    "change_colour": LIGHT[colour],
                }
            )
    if not marks:
        return None
    return Picture(
        name="tokens",
        title="Tokens per answer",
        marks=marks,
    )


def _change(ratio: TokenRatio | None) -> tuple[str, str]:
    """The change in words, and the meaning of its colour."""
    if ratio is None:
        return "", "unsure"
    interval = ratio.interval
    if interval is not None and interval.high < 1:
        return token_change(ratio), "good"
    return token_change(ratio), "mark" if interval is not None and interval.low > 1 else "unsure"


def chart(picture: Picture, canvas: Canvas) -> Chart:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    students = list(dict.fromkeys(str(mark["student"]) for mark in picture.marks))
    short = dict(zip(students, short_names(students, max(14, width // 8)), strict=True))
    rows: list[dict[str, Any]] = []
    heads: list[dict[str, Any]] = []
    y = 0
    room = 96
    for student in students:
        mine = [mark for mark in picture.marks if mark["student"] == student]
        change = str(mine[0]["change"])
        below = bool(change) and 7 * (len(short[student]) + len(change)) > width
        heads.append({"y": y + 10, "name": short[student], "x": -room})
        heads.append(
            {
                "y": y + (27 if below else 10),
                "change": change,
                "x": -room if below else width,
                "below": below,
                "colour": mine[0]["change_colour"],
            }
        )
        y += HEAD + (17 if below else 0)
        for mark in mine:
            rows.append(
                {
                    **mark,
                    "y": y,
                    "y2": y + BAR - 5,
                    "middle": y + BAR / 2 - 2,
                    "said": f"{mark['tokens']:,.0f}",
                    "zero": 0,
                }
            )
            y += BAR
        y += GAP
    most = max(float(str(row["tokens"])) for row in rows) * 1.16
    bars = canvas.plot(rows)
    scale = alt.Scale(domain=[0, most], nice=False)
    y_scale = alt.Scale(domain=[0, y], reverse=True, nice=False)
    x = alt.X("tokens:Q", scale=scale, axis=alt.Axis(title="tokens per answer", format="~s", tickCount=5))
    top = alt.Y("y:Q", scale=y_scale, axis=None)
    middle = alt.Y("middle:Q", scale=y_scale, axis=None)
    colour = alt.Color("colour:N", scale=None)
    head = canvas.plot(heads)
    layers = [
        bars.mark_bar(cornerRadius=2).encode(
            x=x,
            x2="zero:Q",
            y=top,
            y2="y2:Q",
            color=colour,
            opacity=alt.condition("datum.pale", alt.value(0.45), alt.value(1)),
        ),
        bars.mark_text(align="left", dx=5, color=LIGHT["ink"]).encode(x=x, y=middle, text="said:N"),
        bars.mark_text(align="right", color=LIGHT["muted"]).encode(x=alt.value(-8), y=middle, text="arm:N"),
        head.transform_filter("isValid(datum.name)")
        .mark_text(align="left", fontWeight="bold", fontSize=13, color=LIGHT["ink"], limit=width + room)
        .encode(x=alt.value(-room), y=alt.Y("y:Q"), text="name:N"),
        head.transform_filter("isValid(datum.change) && datum.below")
        .mark_text(align="left", fontSize=12)
        .encode(x=alt.value(-room), y=alt.Y("y:Q"), text="change:N", color=colour),
        head.transform_filter("isValid(datum.change) && !datum.below")
        .mark_text(align="right", fontSize=12)
        .encode(x=alt.value(width), y=alt.Y("y:Q"), text="change:N", color=colour),
    ]
    return alt.layer(*layers).properties(width=width, height=y)
