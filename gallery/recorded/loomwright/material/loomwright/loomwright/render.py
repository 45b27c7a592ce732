"""Renders a pattern to text."""

from . import stitches
from .errors import Snag
from .parser import EDGES, parse
from .settings import Settings


def draw_row(pattern, number, settings):
    """Draw one pick: stitches, ground on the left, drift, then the edge."""
    line, items = pattern.picks[number - 1]
    row = ""
    for name, reach, tone in items:
        stitch = stitches.REGISTRY.get(name)
        if stitch is None:
            raise Snag("LW19", name, line)
        piece = stitch.draw(reach, tone or stitch.tone, number)
        if not isinstance(piece, str) or len(piece) != reach:
            raise Snag("LW37", name, line)
        row += piece
    if len(row) > pattern.span and settings.tension == "taut":
        raise Snag("LW21", f"{len(row)} > {pattern.span}", line)
    row = row[:pattern.span].rjust(pattern.span, pattern.ground)
    shift = pattern.drift * (number - 1) % pattern.span
    row = row[pattern.span - shift:] + row[:pattern.span - shift]
    left, right = EDGES[pattern.edge]
    return left + row + right


def weave(text, settings=None, flat=False):
    """Render the text of a pattern file; `flat` draws one fold only."""
    settings = settings or Settings()
    pattern = parse(text)
    rows = [draw_row(pattern, number, settings)
            for number in range(1, len(pattern.picks) + 1)]
    lines = list(rows)
    for fold in range(2, 2 if flat else pattern.folds + 1):
        lines.append(settings.crease)
        lines += rows if fold % 2 else rows[::-1]
    if settings.caption == "above":
        lines.insert(0, f"[{pattern.title}]")
    elif settings.caption == "below":
        lines.append(f"[{pattern.title}]")
    return "\n".join(" " * settings.selvage + line for line in lines)
