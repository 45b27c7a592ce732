"""Draws what skills did for three real models, for the first pages and that of the gallery.

`python -m tools.models_picture` writes it from the runs in `gallery/measured`, and into the pages what it shows.
"""

import re
from collections.abc import Iterator
from html import escape
from pathlib import Path

from tools.gallery import KNOWLEDGE
from tools.gallery_page import MODELS, WITH_TOOLS, Found, found
from upskill.report.dumbbell import DARK, LIGHT, verdict_colour

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "assets" / "real-models.svg"
PAGES = (ROOT / "README.md", ROOT / "docs" / "README.md", ROOT / "gallery" / "README.md")
_ON_A_PAGE = re.compile(rf"!\[[^]]*\](?=\([./\w]*{PICTURE.name}\))")
WIDTH, NAMES, PANEL, SCALE, ROW, TOP = 960, 190, 256, 140, 30, 54
"""Of the drawing, its column of names, a model's panel, the scale in it, a row and the head, in pixels."""
EXECUTED = "Tasks whose results are run"
RECALLED = "Recall: questions about facts of the skill"
LEFT_OUT = ("published-facts",)
"""Not a skill of the gallery."""
RULES = (
    'text{font:14px system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,sans-serif;fill:var(--ink)}'
    ".s{font-size:12px;fill:var(--muted)}.b{font-weight:600}.g{stroke:var(--grid)}rect{fill:var(--paper)}"
    ".good{--t:var(--good)}.bad{--t:var(--bad)}.unsure{--t:var(--unsure)}"
    ".l{stroke:var(--t);stroke-width:4}.unsure .l{stroke-dasharray:4 4}"
    ".o{fill:var(--paper);stroke:var(--t);stroke-width:2.5}.d{fill:var(--t)}"
)


Row = str | tuple[str, str]
"""A heading, or the level and the skill of a row."""


def picture() -> str:
    """The whole file."""
    runs = _runs()
    rows = list(_rows(runs))
    height = TOP + ROW * len(rows) + 40
    tones = [
        "".join(f"--{name}:{tone};" for name, tone in tones.items() if name not in ("plain", "mark"))
        for tones in (LIGHT, DARK)
    ]
    colours = f":root{{{tones[0]}}}@media (prefers-color-scheme:dark){{:root{{{tones[1]}}}}}"
    body = "".join(_parts({(run.level, run.skill, run.model): run for run in runs}, rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH + 32}" height="{height + 32}" '
        f'viewBox="-16 -16 {WIDTH + 32} {height + 32}" role="img" aria-label="{escape(caption())}">'
        f'<style>{colours}{RULES}</style><rect x="-16" y="-16" width="{WIDTH + 32}" height="{height + 32}"/>'
        f"{body}</svg>\n"
    )


def _runs() -> list[Found]:
    return [run for run in found() if run.skill not in LEFT_OUT]


def _rows(runs: list[Found]) -> Iterator[Row]:
    """Tasks whose results are run come first, then questions about facts."""
    rows = list(dict.fromkeys((run.level, run.skill) for run in runs))
    yield EXECUTED
    yield from (row for row in rows if row[0] != KNOWLEDGE)
    yield RECALLED
    yield from (row for row in rows if row[0] == KNOWLEDGE)


def caption() -> str:
    """What the picture shows, in words, for a reader who does not see it."""
    runs = _runs()
    made = [run for run in runs if run.level != KNOWLEDGE]
    tasks = "; ".join(
        f"{title}: "
        + ", ".join(
            f"{_name(run.level, run.skill)} {run.before:.0%} to {run.after:.0%} of {run.cases}, {run.verdict}"
            for run in made
            if run.model == model
        )
        for model, title in MODELS.items()
        if any(run.model == model for run in made)
    )
    counts = {
        name: [run.verdict == "helps" for run in runs if (run.model, run.level) == (name, KNOWLEDGE)] for name in MODELS
    }
    said = ", ".join(f"{sum(counts[name])} of {len(counts[name])} for {title}" for name, title in MODELS.items())
    helped = f"{RECALLED}, with the skill in the prompt: it helps in {said}."
    return f"{EXECUTED}, without and with the skill. {tasks}. {helped}"


def _name(level: str, skill: str) -> str:
    if level.endswith(WITH_TOOLS):
        return f"{skill} + tools"
    return f"{skill}, artifact" if level == "artifact" else skill


def _parts(runs: dict[tuple[str, str, str], Found], rows: list[Row]) -> Iterator[str]:
    for number, title in enumerate(MODELS.values()):
        x = NAMES + PANEL * number
        yield f'<text class="b" x="{x}" y="12">{title}</text>'
        yield f'<text class="s" x="{x}" y="34">0%</text>'
        yield f'<text class="s" x="{x + SCALE}" y="34" text-anchor="end">100%</text>'
    for number, row in enumerate(rows):
        y = TOP + ROW * number
        yield f'<path class="g" d="M0 {y - ROW // 2}H{WIDTH}"/>'
        if isinstance(row, str):
            yield f'<text class="s" x="0" y="{y + 5}">{row}</text>'
            continue
        level, skill = row
        yield f'<text class="b" x="0" y="{y + 5}">{_name(level, skill)}</text>'
        for place, model in enumerate(MODELS):
            yield from _cell(runs.get((level, skill, model)), NAMES + PANEL * place, y)
    y = TOP + ROW * len(rows) + 14
    yield f'<g class="unsure"><circle class="o" cx="6" cy="{y - 4}" r="5"/>'
    yield f'<circle class="d" cx="146" cy="{y - 4}" r="5"/>'
    yield f'<path class="l" d="M262 {y - 4}H286"/></g><text class="s" x="18" y="{y}">without the skill</text>'
    yield f'<text class="s" x="158" y="{y}">with the skill</text><text class="s" x="294" y="{y}">undecided</text>'


def _cell(run: Found | None, x: int, y: int) -> Iterator[str]:
    if run is None:
        yield f'<text class="s" x="{x}" y="{y + 4}">not measured</text>'
        return
    before, after = (round(x + rate * SCALE, 1) for rate in (run.before, run.after))
    yield f'<g class="{verdict_colour(run.verdict)}"><title>{escape(f"{run.words}, {run.verdict}")}</title>'
    yield f'<path class="g" d="M{x} {y - 8}V{y + 8}M{x + SCALE} {y - 8}V{y + 8}"/>'
    yield f'<path class="l" d="M{before} {y}H{after}"/>'
    yield f'<circle class="o" cx="{before}" cy="{y}" r="6"/><circle class="d" cx="{after}" cy="{y}" r="5"/></g>'
    yield f'<text class="s" x="{x + SCALE + 14}" y="{y + 4}">{run.before:.0%} → {run.after:.0%}</text>'


def with_caption(text: str) -> str:
    """A page that says in words what the picture on it shows."""
    return _ON_A_PAGE.sub(f"![{caption()}]", text)


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    for page in PAGES:
        page.write_text(with_caption(page.read_text(encoding="utf-8")), encoding="utf-8")
