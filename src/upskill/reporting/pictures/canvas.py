"""Rows of marks as a chart. The pictures library says little about its types, so they end here."""

from collections.abc import Sequence
from typing import Any

from upskill.domain.case import Json

Chart = Any
"""A chart of the pictures library, which is loaded only where one is drawn."""


def plot(rows: Sequence[Any]) -> Chart:
    """A chart of these rows, without any mark yet."""
    import altair

    data: Any = altair.Data
    return altair.Chart(data(values=list(rows)))


SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '\u2212' : '') + abs(datum.value)"
"""How an axis writes points: with a sign, but for zero."""


def words(chart: Chart, paper: str, **marks: Any) -> tuple[Chart, Chart]:
    """Text that can be read on top of lines: first its own ground, then itself."""

    def drawn(**more: Any) -> Chart:
        return chart.mark_text(**{**marks, **more})

    return drawn(stroke=paper, strokeWidth=5, strokeJoin="round", color=paper), drawn()


def number(value: Json) -> float:
    """A mark's value as a number."""
    return float(str(value))
