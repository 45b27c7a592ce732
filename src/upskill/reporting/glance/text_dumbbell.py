"""A dumbbell in characters: one cell per step of the pass rate, for terminals and Markdown."""

from dataclasses import dataclass

from upskill.reporting.glance.values import GlanceRow


@dataclass(frozen=True, kw_only=True, slots=True)
class Glyphs:
    """The characters that a dumbbell is made of."""

    hollow: str
    filled: str
    both: str
    """Both dots in one cell."""
    clear: str
    unclear: str
    none: str
    """Repeated over the whole scale where there is no verdict."""
    track: str


UNICODE = Glyphs(hollow="○", filled="●", both="◉", clear="━", unclear="╌", none="╱", track="·")
ASCII = Glyphs(hollow="o", filled="*", both="@", clear="=", unclear="-", none="/", track=".")


def drawn(row: GlanceRow, width: int, glyphs: Glyphs = UNICODE) -> str:
    """The pass rates of a row on a scale of this many cells from 0 to 100%. Never a full bar without a verdict."""
    if row.after is None:
        return glyphs.none * width
    cells = [glyphs.track] * width
    after = _cell(row.after, width)
    if row.before is None:
        cells[after] = glyphs.filled
        return "".join(cells)
    before = _cell(row.before, width)
    line = glyphs.clear if row.clarity == "clear" else glyphs.unclear
    for place in range(min(before, after), max(before, after)):
        cells[place] = line
    cells[before], cells[after] = glyphs.hollow, glyphs.filled
    if before == after:
        cells[after] = glyphs.both
    return "".join(cells)


def _cell(rate: float, width: int) -> int:
    return round(min(1.0, max(0.0, rate)) * (width - 1))
