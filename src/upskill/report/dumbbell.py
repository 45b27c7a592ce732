"""The dumbbell of a row, hollow without the skill and filled with it, with the interval of its lift: in characters and
as plain SVG.

Every text is escaped. On a page, two drawings for wide and narrow screens take their colours from the page; alone, one
drawing has its own, light and dark."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from html import escape

from rich.cells import cell_len

from upskill import disk
from upskill.core.nouns.text import visible
from upskill.report.glance import Glance, GlanceRow
from upskill.report.wording import USUAL, fitted

LIGHT = {
    "ink": "#1f2328",
    "muted": "#59636f",
    "grid": "#d1d9e0",
    "paper": "#ffffff",
    "plain": "#24508c",
    "good": "#0b63c4",
    "bad": "#b04a00",
    "unsure": "#6e7782",
    "mark": "#3d444d",
}
"""Good is blue and bad is orange, which everybody can tell apart. All but grid can be read on paper: 4.5 to 1."""
DARK = {
    "ink": "#e8edf2",
    "muted": "#a3adb8",
    "grid": "#3a424c",
    "paper": "#10151b",
    "plain": "#a5c8f5",
    "good": "#62a8ff",
    "bad": "#ffa04d",
    "unsure": "#9aa4af",
    "mark": "#c9d1d9",
}

VERDICT_COLOURS = {"helps": "good", "cheaper": "good", "hurts": "bad", "breaks": "bad"}
"""Everything else is unsure."""


def verdict_colour(verdict: str | None) -> str:
    """The meaning of a verdict's colour."""
    return VERDICT_COLOURS.get(verdict or "", "unsure")


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


_COLOURS = ("ink", "muted", "grid", "paper", "good", "bad", "unsure")
_DOT, _RING = 6, 7
_AXIS = {0.0: "start", 0.5: "middle", 1.0: "end"}
"""Rates that are marked, and how their figures are aligned."""
_LIFT_AXIS = ((-1.0, "−100", "start"), (0.0, "0", "middle"), (1.0, "+100", "end"))


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layout:
    """Where things are. A narrow drawing has the words of a row above and below its scale, a wide one beside it."""

    kind: str
    width: int
    scale: tuple[int, int]
    """Where a pass rate of 0 is, and one of 100%."""
    lifts: tuple[int, int]
    """Where a lift of -100 points is, and one of +100."""
    row: int
    top: int
    name_cells: int

    @property
    def is_wide(self) -> bool:
        return self.kind == "wide"

    def x(self, rate: float) -> float:
        return _between(self.scale, rate)

    def lift_x(self, lift: float) -> float:
        return _between(self.lifts, (lift + 1) / 2)


def _between(ends: tuple[int, int], share: float) -> float:
    left, right = ends
    return round(left + min(1.0, max(0.0, share)) * (right - left), 1)


_WIDE = _Layout(kind="wide", width=960, scale=(182, 374), lifts=(486, 602), row=46, top=34, name_cells=16)
_NARROW = _Layout(kind="narrow", width=360, scale=(12, 348), lifts=(104, 192), row=88, top=26, name_cells=22)
_RATES, _LIFT, _VERDICT, _TOKENS = 388, 616, 770, 958
"""Columns of the wide drawing; the last is where its text ends."""
_KEY_LINE, _KEY_CELLS = 24, 24
"""The height of a line of the key, and the words that two to a line have room for."""


def svg(glance: Glance, *, standalone: bool) -> str:
    """The picture; empty where there are no rows.

    A page needs its colours as variables, and `dumbbell_css` in its style sheet; standalone, it is a file of its own.
    """
    if not glance.rows:
        return ""
    if standalone:
        return _drawing(glance, _WIDE, head=f"<style>{_own_colours()}{_drawing_css()}</style>", paper=True)
    return _drawing(glance, _WIDE) + _drawing(glance, _NARROW)


def dumbbell_css() -> str:
    """The rules of a page with drawings in it: the narrow one is shown on a narrow screen."""
    narrow = "@media (max-width:44rem){.dumbbell.wide{display:none}.dumbbell.narrow{display:block}}"
    return f"{_drawing_css()}{narrow}\n"


@cache
def _drawing_css() -> str:
    return disk.packaged("upskill.report", "dumbbell.css")


def _own_colours() -> str:
    light, dark = ("".join(f"--{name}:{colours[name]};" for name in _COLOURS) for colours in (LIGHT, DARK))
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _drawing(glance: Glance, layout: _Layout, *, head: str = "", paper: bool = False) -> str:
    key = _key_lines(glance, layout)
    bottom = layout.top + sum(_row_height(row, layout, _common_confidence(glance)) for row in glance.rows)
    height = bottom + 10 + _KEY_LINE * len(key)
    says = _escaped(" ".join(glance.sentences))
    margin = 16 if paper else 0
    width, tall = layout.width + 2 * margin, height + 2 * margin
    size = f' xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}"' if paper else ""
    ground = f'<rect x="{-margin}" y="{-margin}" width="{width}" height="{tall}" class="ground"/>' if paper else ""
    hatch = f"hatch-{layout.kind}"
    drawn = "".join((*_parts(glance, layout, bottom), *_key(key, layout, bottom + 22)))
    body = drawn.replace('class="none"', f'fill="url(#{hatch})" class="none"')
    return (
        f'<svg class="dumbbell {layout.kind}"{size} viewBox="{-margin} {-margin} {width} {tall}" role="img" '
        f'aria-label="{says}">{head}<defs><pattern id="{hatch}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs>{ground}{body}</svg>'
    )


def _row_height(row: GlanceRow, layout: _Layout, common: str) -> int:
    """A narrow row is as high as it has lines of words below its scale."""
    if layout.is_wide:
        return layout.row
    if row.lift is None and row.after is None:
        return layout.row - 24
    return layout.row + (18 if _rests_on(row, common) else 0)


def _has_band(row: GlanceRow) -> bool:
    return row.before is not None and row.low is not None and row.high is not None


def _parts(glance: Glance, layout: _Layout, bottom: int) -> Iterator[str]:
    common, top = _common_confidence(glance), layout.top
    yield from _head(glance, layout, bottom)
    for row in glance.rows:
        words = _wide_words if layout.is_wide else _narrow_words
        middle = top + (layout.row // 2 if layout.is_wide else 42)
        tone = "even" if row.verdict == "no difference" else verdict_colour(row.verdict)
        yield f'<g class="{tone}"><title>{_escaped(_title(row))}</title>'
        yield f'<path class="rule" d="M0 {top}H{layout.width}"/>'
        if not layout.is_wide:  # between the words above the scale and those below it
            yield from (f'<path class="axis" d="M{layout.x(rate)} {middle - 13}V{middle + 13}"/>' for rate in _AXIS)
        yield from words(row, layout, middle, common)
        yield from _marks(row, layout, middle)
        yield "</g>"
        top += _row_height(row, layout, common)


def _head(glance: Glance, layout: _Layout, bottom: int) -> Iterator[str]:
    """Names of what is drawn: columns that no row has anything in have none."""
    for rate, anchor in _AXIS.items():
        x = layout.x(rate)
        if layout.is_wide:
            yield f'<path class="axis" d="M{x} {layout.top}V{bottom}"/>'
        yield _text(f"{rate:.0%}", x, layout.top - 9, "small", anchor=anchor)
    if layout.is_wide:
        yield _text(glance.rows_are, 0, layout.top - 9, "small")
        if _any_rate(glance):
            yield _text("pass rate", _RATES, layout.top - 9, "small")
        if any(map(_has_band, glance.rows)):
            yield from (
                _text(words, layout.lift_x(lift), layout.top - 9, "small", anchor=anchor)
                for lift, words, anchor in _LIFT_AXIS
            )
            yield f'<path class="axis" d="M{layout.lift_x(0)} {layout.top}V{bottom}"/>'
        if any(row.lift is not None for row in glance.rows):
            yield _text(f"lift ({_common_confidence(glance) or 'CI'})", _LIFT, layout.top - 9, "small")
        if any(row.tokens for row in glance.rows):
            yield _text("tokens per answer", _TOKENS, layout.top - 9, "small", anchor="end")


def _any_rate(glance: Glance) -> bool:
    return any(row.after is not None for row in glance.rows)


def _common_confidence(glance: Glance) -> str:
    """What every interval promises to cover; empty where they differ, and each row says its own."""
    found = {row.confidence for row in glance.rows if row.ends}
    return found.pop() if len(found) == 1 else "" if found else USUAL


def _wide_words(row: GlanceRow, layout: _Layout, middle: int, common: str) -> Iterator[str]:
    base, rests_on = middle + 5, _rests_on(row, common)
    yield _text(fitted(row.name, layout.name_cells), 0, base, "strong")
    yield _text(f"{row.sign} {row.verdict}", _VERDICT if row.after is not None else _RATES, base, "strong tone")
    if row.lift is None:
        yield _text("" if row.after is None else row.after_text, _RATES, base)
        return
    yield _text(row.rates, _RATES, base)
    yield _text(_figures(row), _LIFT, base - 7 if rests_on else base)
    yield _text(rests_on, _LIFT, base + 11, "small")
    yield _text(row.tokens or "", _TOKENS, base, "small", anchor="end")


def _narrow_words(row: GlanceRow, layout: _Layout, middle: int, common: str) -> Iterator[str]:
    left, right = layout.scale
    yield _text(fitted(row.name, layout.name_cells), left - 10, middle - 20, "strong")
    yield _text(f"{row.sign} {row.verdict}", right + 10, middle - 20, "strong tone", anchor="end")
    if row.lift is None:
        yield _text(row.after_text if row.after is not None else "", left - 10, middle + 28)
        return
    yield _text(row.rates, left - 10, middle + 28)
    yield _text(_figures(row), right + 10, middle + 28, anchor="end")
    yield _text(_rests_on(row, common), right + 10, middle + 46, "small", anchor="end")


def _figures(row: GlanceRow) -> str:
    return f"{row.lift} ({row.ends})" if row.ends else row.lift or ""


def _rests_on(row: GlanceRow, common: str) -> str:
    """What the head of the column does not say of an interval: its own confidence, and these cases only."""
    own = row.confidence if row.ends and row.confidence != common else ""
    return ", ".join(one for one in (own, row.reach) if one)


def _marks(row: GlanceRow, layout: _Layout, y: int) -> Iterator[str]:
    """The dots and what is between them; a hatched strip where there is no verdict."""
    if row.after is None:
        left, right = layout.scale
        yield f'<rect class="none" x="{left}" y="{y - 7}" width="{right - left}" height="14" rx="3"/>'
        return
    after = layout.x(row.after)
    if row.before is not None:
        before = layout.x(row.before)
        if row.low is not None and row.high is not None:
            yield from _band(row.low, row.high, row.after - row.before, layout, y)
        yield f'<path class="line" d="M{before} {y}H{after}"/>'
        ring = _RING + 3 if abs(after - before) < _RING else _RING
        yield f'<circle class="ring" cx="{before}" cy="{y}" r="{ring}"/>'
    yield f'<circle class="dot" cx="{after}" cy="{y}" r="{_DOT}"/>'


def _band(low: float, high: float, lift: float, layout: _Layout, y: int) -> Iterator[str]:
    """The interval of the lift on its own axis: beside the figures, which stand below the dots where it is narrow."""
    left, right, none = layout.lift_x(low), layout.lift_x(high), layout.lift_x(0)
    if not layout.is_wide:
        y += 23
        yield f'<path class="axis" d="M{layout.lifts[0]} {y}H{layout.lifts[1]}M{none} {y - 9}V{y + 9}"/>'
    yield f'<rect class="range" x="{left}" y="{y - 6}" width="{round(right - left, 1)}" height="12" rx="3"/>'
    yield f'<path class="mean" d="M{layout.lift_x(lift)} {y - 8}V{y + 8}"/>'


_KeyPart = tuple[str, str]


def _key_lines(glance: Glance, layout: _Layout) -> list[list[_KeyPart]]:
    """The key: in a narrow drawing two marks to a line, long words alone; nothing where nothing is drawn."""
    parts = list(_key_parts(glance))
    if layout.is_wide:
        return [parts] if parts else []
    long = [part for part in parts if len(part[1]) > _KEY_CELLS]
    short = [part for part in parts if part not in long]
    return [*(short[at : at + 2] for at in range(0, len(short), 2)), *([part] for part in long)]


def _key(lines: Sequence[Sequence[_KeyPart]], layout: _Layout, y: int) -> Iterator[str]:
    yield '<g class="even">'
    for number, parts in enumerate(lines):
        needed = sum(map(_key_width, parts)) if layout.is_wide else layout.width
        x, down = float(max(2, min(layout.scale[0], layout.width - needed))), y + number * _KEY_LINE
        for mark, words in parts:
            yield mark.format(x=x + 6, y=down - 4, left=x - 2, right=x + 16)
            yield _text(words, x + 22, down, "small")
            x += _key_width((mark, words)) if layout.is_wide else 170
    yield "</g>"


def _key_width(part: _KeyPart) -> float:
    return 42 + 6.5 * cell_len(part[1])


def _key_parts(glance: Glance) -> Iterator[_KeyPart]:
    if not _any_rate(glance):
        return
    if any(row.before is not None for row in glance.rows):
        yield '<circle class="ring" cx="{x}" cy="{y}" r="5"/>', glance.before
    yield '<circle class="dot" cx="{x}" cy="{y}" r="4.5"/>', glance.after
    if any(row.low is not None for row in glance.rows):
        yield (
            '<rect class="range" x="{left}" y="{y}" width="18" height="12" rx="3" transform="translate(0 -6)"/>',
            f"{_common_confidence(glance) or 'CI'} of the lift",
        )
    if any(row.clarity == "unclear" for row in glance.rows):
        yield '<g class="unsure"><path class="line" d="M{left} {y}H{right}"/></g>', "not clear"


_BAND = "the pale band is the confidence interval of the lift, on an axis from -100 to +100 points"


def _title(row: GlanceRow) -> str:
    """Everything about a row in words, shown where a pointer rests on it."""
    if row.lift is None:
        return f"{row.model}: {row.verdict}, {row.why}"
    parts = (f"{row.model}: {row.verdict}", row.rates, f"{row.figures} {row.reach}".strip(), _BAND)
    return "; ".join(part for part in parts if part and (part is not _BAND or row.low is not None))


def _text(words: str, x: float, y: float, kind: str = "", *, anchor: str = "") -> str:
    if not words:
        return ""
    kind = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor and anchor != "start" else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{side}>{_escaped(words)}</text>'


def _escaped(text: str) -> str:
    return escape(visible(text))
