"""The cases by what is known of them: their state, and their labels."""

from collections import Counter

from upskill.domain import LABELS, Evaluation
from upskill.domain.case import Json
from upskill.reporting.palette import LIGHT
from upskill.reporting.pictures.canvas import Canvas, Chart
from upskill.reporting.pictures.picture import Picture

_COLOURS = {"qualified": "good", "unproven": "unsure", "rejected": "bad"}
ROW = 30


def cases_picture(evaluation: Evaluation) -> Picture | None:
    """`None` where nothing is known of the cases."""
    states: Counter[str] = Counter(one.state for one in evaluation.case_states)
    labels: Counter[str] = Counter(label for one in evaluation.case_states for label in one.labels)
    for report in evaluation.students:
        # Labels that the trials gave stand with the student, for they depend on it.
        for one in report.label_lifts:
            if one.label is not None:
                labels[one.label] = max(labels[one.label], one.cases)
    if not states:
        return None
    counted = [(name, states[name], "state") for name in _COLOURS if states[name]]
    counted += [(name, labels[name], "label") for name in LABELS if labels[name]]
    marks: list[dict[str, Json]] = [
        {"name": name, "cases": number, "kind": kind, "colour": LIGHT[_COLOURS.get(name, "plain")]}
        for name, number, kind in counted
    ]
    return Picture(
        name="cases",
        title="Cases by state and label",
        marks=marks,
    )


def chart(picture: Picture, canvas: Canvas) -> Chart:
    """Drawn by the other process."""
    import altair as alt

    width = canvas.width
    rows = [{**mark, "zero": 0, "pale": mark["name"] == "unproven"} for mark in picture.marks]
    most = max(int(str(mark["cases"])) for mark in picture.marks)
    base = canvas.plot(rows)
    order = [str(mark["name"]) for mark in picture.marks]
    y = alt.Y(
        "name:N", sort=order, axis=alt.Axis(title=None, labelFontSize=12, labelPadding=6, ticks=False, domain=False)
    )
    x = alt.X(
        "cases:Q",
        scale=alt.Scale(domain=[0, most * 1.1], nice=False),
        axis=alt.Axis(title="cases", tickMinStep=1, tickCount=5, format="d"),
    )
    layers = [
        base.mark_bar(cornerRadius=2, height=16).encode(
            x=x,
            y=y,
            color=alt.Color("colour:N", scale=None),
            opacity=alt.condition("datum.pale", alt.value(0.5), alt.value(1)),
        ),
        base.mark_text(align="left", dx=5, color=LIGHT["ink"]).encode(x=x, y=y, text="cases:Q"),
    ]
    return alt.layer(*layers).properties(width=width - 60, height=len(rows) * ROW)
