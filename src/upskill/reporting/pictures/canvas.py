"""What a picture is drawn on: its width, and the rows it is drawn from.

The pictures library copies a chart's rows again and again while charts are put together, so charts know their rows by
name only, and get them at the end. It also says little about its types: they end here.
"""

from collections.abc import Sequence
from typing import Any

from upskill.domain.case import Json

Chart = Any
"""A chart of the pictures library, which is loaded only where one is drawn."""
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
"""Which language a drawing is written in. A name: nothing is fetched from there."""
SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '\u2212' : '') + abs(datum.value)"
"""How an axis writes points: with a sign, but for zero."""


class Canvas:
    """One drawing in the making."""

    def __init__(self, width: int) -> None:
        self.width = width
        self._rows: dict[str, list[Any]] = {}

    def plot(self, rows: Sequence[Any]) -> Chart:
        """A chart of these rows, without any mark yet."""
        import altair

        name = f"rows{len(self._rows)}"
        self._rows[name] = list(rows)
        return altair.Chart(altair.NamedData(name=name))

    def spec(self, chart: Chart | list[Chart], config: dict[str, Any]) -> dict[str, Any]:
        """The whole drawing as JSON, rows and looks included; several charts stand one under the other."""
        if isinstance(chart, list):
            panels = [self._alone(panel) for panel in chart]
            return {"$schema": SCHEMA, "vconcat": panels, "spacing": 14, "datasets": self._rows, "config": config}
        return {**self._alone(chart), "$schema": SCHEMA, "datasets": self._rows, "config": config}

    def _alone(self, chart: Chart) -> dict[str, Any]:
        spec: dict[str, Any] = chart.to_dict(validate=False)
        return {key: value for key, value in spec.items() if key not in ("$schema", "config")}


def words(chart: Chart, paper: str, **marks: Any) -> tuple[Chart, Chart]:
    """Text that can be read on top of lines: first its own ground, then itself."""

    def drawn(**more: Any) -> Chart:
        return chart.mark_text(**{**marks, **more})

    return drawn(stroke=paper, strokeWidth=5, strokeJoin="round", color=paper), drawn()


def number(value: Json) -> float:
    return float(str(value))
