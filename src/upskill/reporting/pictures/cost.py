"""Pass rate against what a task costs: an arrow per student, from the baseline to the skill."""

from collections.abc import Sequence
from math import atan2, degrees, floor, hypot, log10
from typing import Any

from upskill.domain import StudentReport
from upskill.domain.case import Json
from upskill.reporting.palette import LIGHT, verdict_colour
from upskill.reporting.pictures.canvas import Canvas, Chart, number, words
from upskill.reporting.pictures.picture import Picture
from upskill.reporting.sufficient_students import (
    ENOUGH,
    by_cost,
    cheapest_sufficient,
    use_per_task,
)
from upskill.reporting.wording import short_names

HEIGHT = 320
HEAD = "M0,-1.3L0.6,0.8L0,0.4L-0.6,0.8Z"
"""Longer than wide: a triangle of equal sides points three ways at once."""
_APART = 15
"""Labels stand at least so many pixels apart."""


def cost_picture(reports: Sequence[StudentReport], *, enough: float = ENOUGH) -> Picture | None:
    """`None` where nothing is known of what a task takes."""
    cost = by_cost(reports)
    marks: list[dict[str, Json]] = []
    for report in reports:
        measured, against = (report.arm(name) for name in report.compared)
        known = [arm for arm in (against, measured) if arm is not None and arm.pass_rate is not None]
        places = [(use_per_task(arm, cost=cost), report.rate(arm.arm)) for arm in known]
        if not places or any(use is None for use, _ in places):
            continue
        (before, rate_before), (after, rate_after) = places[0], places[-1]
        lift = report.interval
        marks.append(
            {
                "student": report.student.name,
                "before": before,
                "rate_before": rate_before,
                "after": after,
                "rate_after": rate_after,
                "arrow": len(places) > 1,
                "low": None if lift is None else min(1.0, max(0.0, (rate_before or 0) + lift.low)),
                "high": None if lift is None else min(1.0, max(0.0, (rate_before or 0) + lift.high)),
                "colour": LIGHT[verdict_colour(report.verdict)],
            }
        )
    if not marks:
        return None
    best = cheapest_sufficient(reports, enough=enough)
    unit = "cost" if cost else "tokens"
    return Picture(
        name="cost",
        title=f"Pass rate against {unit} per answer",
        marks=marks,
        facts={
            "cost": cost,
            "enough": enough,
            "best": None if best is None else [best.use, best.pass_rate],
            "surely": best is not None and best.surely,
            "aside": best is not None and best.aside is not None,
        },
    )


def chart(picture: Picture, canvas: Canvas) -> Chart:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    cost = bool(picture.facts["cost"])
    marks: list[dict[str, Any]] = [dict(mark) for mark in picture.marks]
    best = picture.facts["best"]
    uses = [float(mark[key]) for mark in marks for key in ("before", "after")]
    uses += [number(best[0])] if isinstance(best, list) else []
    logarithmic = min(uses) > 0 and max(uses) / min(uses) > 12
    low, high = (min(uses) / 1.4, max(uses) * 1.4) if logarithmic else (0.0, max(uses) * 1.12 or 1.0)

    def x_of(use: float) -> float:
        if logarithmic:
            return width * (log10(use) - log10(low)) / (log10(high) - log10(low))
        return width * (use - low) / (high - low)

    _add_arrows(marks, x_of)
    _add_labels(marks, x_of, width)
    marked = {"values": _ticks(low, high, most=width // 90)} if logarithmic else {"tickCount": max(3, width // 110)}
    axis = alt.Axis(
        title="dollars per answer" if cost else "tokens per answer",
        labelExpr="'$' + datum.value" if cost else "format(datum.value, ',')",
        labelOverlap="greedy",
        **marked,
    )
    scale = alt.Scale(domain=[low, high], type="log" if logarithmic else "linear", nice=False)
    x = alt.X("after:Q", scale=scale, axis=axis)
    y_scale = alt.Scale(domain=[-0.03, 1.03], nice=False)
    y = alt.Y(
        "rate_after:Q", scale=y_scale, axis=alt.Axis(title="pass rate", format=".0%", values=[0, 0.2, 0.4, 0.6, 0.8, 1])
    )
    base = canvas.plot(marks)
    colour = alt.Color("colour:N", scale=None)
    moved = base.transform_filter("datum.arrow")
    enough = canvas.plot([{"at": picture.facts["enough"]}])
    layers: list[Any] = [
        enough.mark_rule(strokeDash=[5, 4], color=LIGHT["mark"]).encode(y=alt.Y("at:Q")),
        base.transform_filter("isValid(datum.low)")
        .mark_rule(size=9, opacity=0.25, strokeCap="round")
        .encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour),
        moved.mark_rule(size=2).encode(
            x=alt.X("before:Q"), y=alt.Y("rate_before:Q"), x2="after:Q", y2="rate_after:Q", color=colour
        ),
        moved.mark_point(size=70, strokeWidth=2, opacity=1).encode(
            x=alt.X("before:Q"),
            y=alt.Y("rate_before:Q"),
            stroke=alt.Stroke("colour:N", scale=None),
            fill=alt.value(LIGHT["paper"]),
        ),
        base.transform_filter("!datum.head").mark_point(filled=True, size=90, opacity=1).encode(x=x, y=y, color=colour),
        base.transform_filter("datum.head")
        .mark_point(filled=True, size=190, shape=HEAD, opacity=1)
        .encode(x=x, y=y, color=colour, angle=alt.Angle("angle:Q", scale=None)),
    ]
    if isinstance(best, list):
        ring = canvas.plot([{"x": best[0], "y": best[1]}])
        if picture.facts["aside"]:
            layers.append(
                ring.mark_point(size=60, filled=True, opacity=1, color=LIGHT["mark"]).encode(
                    x=alt.X("x:Q"), y=alt.Y("y:Q")
                )
            )
        dash = [1, 0] if picture.facts["surely"] else [3, 3]
        layers.append(
            ring.mark_point(
                size=560, strokeWidth=2, filled=False, opacity=1, color=LIGHT["mark"], strokeDash=dash
            ).encode(x=alt.X("x:Q"), y=alt.Y("y:Q"))
        )
    for align in ("left", "right"):
        beside = base.transform_filter(f"datum.align == '{align}'")
        named = words(beside, LIGHT["paper"], align=align, fontSize=12, color=LIGHT["ink"])
        layers += [text.encode(x=alt.X("label_x:Q"), y=alt.Y("label_y:Q"), text="name:N") for text in named]
    return alt.layer(*layers).properties(width=width, height=HEIGHT)


def _ticks(low: float, high: float, *, most: int) -> list[float]:
    """Round numbers on a logarithmic axis, as many as there is room for."""
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [
            float(f"{step}e{power}")
            for power in range(floor(log10(low)), floor(log10(high)) + 1)
            for step in steps
            if low <= float(f"{step}e{power}") <= high
        ]
        if len(ticks) <= most:
            break
    return ticks


def _y_of(rate: float) -> float:
    return HEIGHT * (1.03 - rate) / 1.06


def _add_arrows(marks: list[dict[str, Any]], x_of: Any) -> None:
    """Which way each head points; none where the arrow would be shorter than its head."""
    for mark in marks:
        right = x_of(mark["after"]) - x_of(mark["before"])
        down = _y_of(mark["rate_after"]) - _y_of(mark["rate_before"])
        mark["head"] = bool(mark["arrow"]) and hypot(right, down) > 16
        mark["angle"] = degrees(atan2(right, -down))


def _add_labels(marks: list[dict[str, Any]], x_of: Any, width: int) -> None:
    """A name beside each head, on the side with more room, and never on another name."""
    names = short_names([str(mark["student"]) for mark in marks], max(10, width // 16))
    inverse: list[tuple[float, dict[str, Any]]] = []
    for mark, name in zip(marks, names, strict=True):
        at = x_of(mark["after"])
        mark["name"] = name
        mark["align"] = "left" if at + 18 + 7 * len(name) < width else "right"
        inverse.append((_y_of(mark["rate_after"]), mark))
    last = -_APART * 1.0
    for y, mark in sorted(inverse, key=lambda one: one[0]):
        last = max(y, last + _APART)
        mark["label_y"] = 1.03 - min(last, HEIGHT - 2.0) * 1.06 / HEIGHT
        mark["label_x"] = _shifted(mark["after"], x_of, 18 if mark["align"] == "left" else -18, width)


def _shifted(use: float, x_of: Any, pixels: int, width: int) -> float:
    """The use that is drawn so many pixels beside another; found by halving, whatever the scale."""
    target = min(max(x_of(use) + pixels, 1.0), width - 1.0)
    low, high = (use, use * 16 + 1e-9) if pixels > 0 else (use / 1e4, use)
    for _ in range(60):
        middle = (low + high) / 2
        if x_of(middle) < target:
            low = middle
        else:
            high = middle
    return (low + high) / 2
