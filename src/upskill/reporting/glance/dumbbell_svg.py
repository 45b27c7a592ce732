"""The dumbbell as plain SVG: a row per model, hollow without the skill, filled with it, the interval behind them.

Every text is escaped. On a page, two drawings for wide and narrow screens take their colours from the page; alone, one
drawing has its own, light and dark.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from html import escape
from importlib.resources import files

from rich.cells import cell_len

from upskill.domain.text import visible
from upskill.reporting.glance.names import fitted
from upskill.reporting.glance.values import USUAL, Glance, GlanceRow
from upskill.reporting.palette import DARK, LIGHT

_COLOURS = ("ink", "muted", "grid", "paper", "good", "bad", "unsure")
_DOT, _RING = 6, 7
_TONES = {"helps": "good", "cheaper": "good", "hurts": "bad", "no difference": "even"}


@dataclass(frozen=True, kw_only=True, slots=True)
class _Layout:
    """Where things are. A narrow drawing has the words of a row above and below its scale, a wide one beside it."""

    kind: str
    width: int
    scale: tuple[int, int]
    row: int
    top: int
    name_cells: int

    @property
    def is_wide(self) -> bool:
        return self.kind == "wide"

    def x(self, rate: float) -> float:
        left, right = self.scale
        return round(left + min(1.0, max(0.0, rate)) * (right - left), 1)


_WIDE = _Layout(kind="wide", width=960, scale=(182, 412), row=46, top=34, name_cells=17)
_NARROW = _Layout(kind="narrow", width=360, scale=(12, 348), row=92, top=26, name_cells=22)
_RATES, _LIFT, _VERDICT, _TOKENS = 434, 538, 710, 958
"""Columns of the wide drawing; the last is where its text ends."""
_WITHOUT_TOKENS = replace(_WIDE, width=860)


def svg(glance: Glance, *, standalone: bool) -> str:
    """The picture; empty where there are no rows.

    A page needs its colours as variables, and `dumbbell_css` in its style sheet; standalone, it is a file of its own.
    """
    if not glance.rows:
        return ""
    wide = _WIDE if any(row.tokens for row in glance.rows) else _WITHOUT_TOKENS
    if standalone:
        return _drawing(glance, wide, head=f"<style>{_own_colours()}{_drawing_css()}</style>", paper=True)
    return _drawing(glance, wide) + _drawing(glance, _NARROW)


def dumbbell_css() -> str:
    """The rules of a page with drawings in it: the narrow one is shown on a narrow screen."""
    narrow = "@media (max-width:44rem){.dumbbell.wide{display:none}.dumbbell.narrow{display:block}}"
    return f"{_drawing_css()}{narrow}\n"


@cache
def _drawing_css() -> str:
    return files("upskill.reporting.glance").joinpath("dumbbell.css").read_text(encoding="utf-8")


def _own_colours() -> str:
    light, dark = ("".join(f"--{name}:{colours[name]};" for name in _COLOURS) for colours in (LIGHT, DARK))
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}"


def _drawing(glance: Glance, layout: _Layout, *, head: str = "", paper: bool = False) -> str:
    height = layout.top + layout.row * len(glance.rows) + 34
    says = _escaped(" ".join(glance.sentences))
    margin = 16 if paper else 0
    width, tall = layout.width + 2 * margin, height + 2 * margin
    size = f' xmlns="http://www.w3.org/2000/svg" width="{width}" height="{tall}"' if paper else ""
    ground = f'<rect x="{-margin}" y="{-margin}" width="{width}" height="{tall}" class="ground"/>' if paper else ""
    hatch = f"hatch-{layout.kind}"
    body = "".join(_parts(glance, layout, height)).replace('class="none"', f'fill="url(#{hatch})" class="none"')
    return (
        f'<svg class="dumbbell {layout.kind}"{size} viewBox="{-margin} {-margin} {width} {tall}" role="img" '
        f'aria-label="{says}">{head}<defs><pattern id="{hatch}" width="7" height="7" patternUnits="userSpaceOnUse" '
        f'patternTransform="rotate(45)"><path class="hatch" d="M0 0V7"/></pattern></defs>{ground}{body}</svg>'
    )


def _parts(glance: Glance, layout: _Layout, height: int) -> Iterator[str]:
    yield from _head(glance, layout, height)
    for number, row in enumerate(glance.rows):
        top = layout.top + layout.row * number
        words = _wide_words if layout.is_wide else _narrow_words
        middle = top + (layout.row // 2 if layout.is_wide else 42)
        yield f'<g class="{_TONES.get(row.verdict, "unsure")}"><title>{_escaped(_title(row))}</title>'
        yield f'<path class="rule" d="M0 {top}H{layout.width}"/>'
        yield from words(row, layout, middle)
        yield from _marks(row, layout, middle)
        yield "</g>"
    yield from _key(glance, layout, height - 12)


def _head(glance: Glance, layout: _Layout, height: int) -> Iterator[str]:
    bottom = height - 34
    for rate in (0.0, 0.5, 1.0):
        x = layout.x(rate)
        anchor = ("start", "middle", "end")[int(rate * 2)]
        yield f'<path class="axis" d="M{x} {layout.top}V{bottom}"/>'
        yield _text(f"{rate:.0%}", x, layout.top - 9, "small", anchor=anchor)
    if layout.is_wide:
        yield _text(glance.rows_are, 0, layout.top - 9, "small")
        yield _text("pass rate", _RATES, layout.top - 9, "small")
        yield _text(f"lift ({USUAL})", _LIFT, layout.top - 9, "small")
        if any(row.tokens for row in glance.rows):
            yield _text("tokens", _TOKENS, layout.top - 9, "small", anchor="end")


def _wide_words(row: GlanceRow, layout: _Layout, middle: int) -> Iterator[str]:
    base = middle + 5
    yield _text(fitted(row.name, layout.name_cells), 0, base, "strong")
    yield _text(f"{row.sign} {row.verdict}", _VERDICT, base, "strong tone")
    if row.lift is None:
        yield _text("" if row.after is None else row.after_text, _RATES, base)
        return
    yield _text(row.rates, _RATES, base)
    yield _text(_figures(row), _LIFT, base - 7 if _rests_on(row) else base)
    yield _text(_rests_on(row), _LIFT, base + 11, "small")
    yield _text(row.tokens or "", _TOKENS, base, "small", anchor="end")


def _narrow_words(row: GlanceRow, layout: _Layout, middle: int) -> Iterator[str]:
    left, right = layout.scale
    yield _text(fitted(row.name, layout.name_cells), left - 10, middle - 20, "strong")
    yield _text(f"{row.sign} {row.verdict}", right + 10, middle - 20, "strong tone", anchor="end")
    if row.lift is None:
        yield _text(row.after_text if row.after is not None else "", left - 10, middle + 28)
        return
    yield _text(row.rates, left - 10, middle + 28)
    yield _text(_figures(row), right + 10, middle + 28, anchor="end")
    yield _text(_rests_on(row), right + 10, middle + 44, "small", anchor="end")


def _figures(row: GlanceRow) -> str:
    return f"{row.lift} ({row.ends})" if row.ends else row.lift or ""


def _rests_on(row: GlanceRow) -> str:
    """What the head of the column does not say of an interval: another confidence, and these cases only."""
    return ", ".join(one for one in (row.confidence if row.confidence != USUAL else "", row.reach) if one)


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
            low, high = layout.x(row.before + row.low), layout.x(row.before + row.high)
            yield f'<rect class="range" x="{low}" y="{y - 10}" width="{round(high - low, 1)}" height="20" rx="3"/>'
        yield f'<path class="line" d="M{before} {y}H{after}"/>'
        ring = _RING + 3 if abs(after - before) < _RING else _RING
        yield f'<circle class="ring" cx="{before}" cy="{y}" r="{ring}"/>'
    yield f'<circle class="dot" cx="{after}" cy="{y}" r="{_DOT}"/>'


def _key(glance: Glance, layout: _Layout, y: int) -> Iterator[str]:
    x = float(layout.scale[0] - (0 if layout.is_wide else 2))
    yield '<g class="even">'
    for mark, words in _key_parts(glance, layout):
        yield mark.format(x=x + 6, y=y - 4, left=x - 2, right=x + 16)
        yield _text(words, x + 22, y, "small")
        x += 44 + 7 * cell_len(words)
    yield "</g>"


def _key_parts(glance: Glance, layout: _Layout) -> Iterator[tuple[str, str]]:
    yield '<circle class="ring" cx="{x}" cy="{y}" r="5"/>', glance.before
    yield '<circle class="dot" cx="{x}" cy="{y}" r="4.5"/>', glance.after
    if layout.is_wide and any(row.low is not None for row in glance.rows):
        yield (
            '<rect class="range" x="{left}" y="{y}" width="18" height="12" rx="3" transform="translate(0 -6)"/>',
            USUAL,
        )
    if layout.is_wide and any(row.clarity == "unclear" for row in glance.rows):
        yield '<g class="unsure"><path class="line" d="M{left} {y}H{right}"/></g>', "not clear"


def _title(row: GlanceRow) -> str:
    """Everything about a row in words, shown where a pointer rests on it."""
    if row.lift is None:
        return f"{row.model}: {row.verdict}, {row.why}"
    parts = (f"{row.model}: {row.verdict}", row.rates, f"{row.figures} {row.reach}".strip(), row.other_interval)
    return "; ".join(part for part in parts if part)


def _text(words: str, x: float, y: float, kind: str = "", *, anchor: str = "") -> str:
    if not words:
        return ""
    kind = f' class="{kind}"' if kind else ""
    side = f' text-anchor="{anchor}"' if anchor and anchor != "start" else ""
    return f'<text x="{x:g}" y="{y:g}"{kind}{side}>{_escaped(words)}</text>'


def _escaped(text: str) -> str:
    return escape(visible(text))
