"""Draws docs/assets/architecture.svg from the layers contract in pyproject.toml and the docstrings of the packages.

`python -m tools.architecture_picture` writes it. A row of the picture is a layer of the contract, so the picture shows
what `lint-imports` enforces. Colours follow the reader's scheme; the background is part of the picture.
"""

import ast
import re
import textwrap
import tomllib
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PICTURE = ROOT / "docs" / "assets" / "architecture.svg"

WIDTH, MARGIN, PAD, GAP = 900, 24, 10, 10
BETWEEN_LAYERS = 24
MOST_IN_A_ROW = 4
LINE = 19
CHARACTER = 7.9
"""The mean width of a character of the small text, with room for wider fonts."""

STYLE = """
:root{--ink:#1f2328;--muted:#4d5761;--paper:#ffffff;--layer:#eef2f6;--box:#ffffff;--edge:#c3ccd5;--name:#0b4fa0}
@media (prefers-color-scheme:dark){
:root{--ink:#e8edf2;--muted:#b3bcc6;--paper:#10151b;--layer:#1b222b;--box:#10151b;--edge:#414b56;--name:#8cc0ff}}
text{font-family:system-ui,-apple-system,"Segoe UI","Liberation Sans",Arial,sans-serif;
font-size:15px;fill:var(--muted)}
.name{font-family:ui-monospace,SFMono-Regular,Menlo,"Liberation Mono",monospace;
font-size:17px;font-weight:600;fill:var(--name)}
.rule{font-size:16px;fill:var(--ink)}
.paper{fill:var(--paper)}
.layer{fill:var(--layer)}
.box{fill:var(--box);stroke:var(--edge)}
.arrow{stroke:var(--muted);stroke-width:1.5;fill:none}
""".strip()


class Package(NamedTuple):
    """One box of the picture."""

    name: str
    promise: str


def layers() -> list[list[Package]]:
    """The layers of the import contract from the top down, each with its packages and modules."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    contract = next(one for one in contracts if one["type"] == "layers")
    return [
        [Package(name, _promise(name)) for name in re.split(r"\s*[|:]\s*", layer.strip("() "))]
        for layer in contract["layers"]
    ]


def _promise(name: str) -> str:
    """The first sentence of a docstring, as it is written on the first line."""
    package = ROOT / "src" / "upskill" / name
    module = package / "__init__.py" if package.is_dir() else package.with_suffix(".py")
    docstring = ast.get_docstring(ast.parse(module.read_text(encoding="utf-8"))) or ""
    first = docstring.partition("\n")[0]
    return re.split(r"(?<=\.)\s", first)[0].rstrip(".").replace("->", "→").replace("`", "")


def picture() -> str:
    """The picture as SVG."""
    drawn: list[str] = []
    top = 58.0
    found = layers()
    for number, packages in enumerate(found):
        if number:
            drawn.append(_arrow(top))
            top += BETWEEN_LAYERS
        rows = _rows(packages)
        boxes, height = _layer(rows, top)
        drawn += [
            f'<rect class="layer" x="{MARGIN}" y="{top:g}" width="{WIDTH - 2 * MARGIN}" height="{height:g}" rx="8"/>',
            *boxes,
        ]
        top += height
    height = round(top + MARGIN)
    names = ", then ".join(" and ".join(package.name for package in packages) for packages in found)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
            'role="img" aria-labelledby="title about">',
            '<title id="title">The packages of upskill: a package imports only what is below it</title>',
            f'<desc id="about">From the top down: {escape(names)}.</desc>',
            f"<style>{STYLE}</style>",
            f'<rect class="paper" width="{WIDTH}" height="{height}" rx="10"/>',
            f'<text class="rule" x="{MARGIN}" y="36">A package imports only from the layers below it. '
            "Packages of one layer do not import each other.</text>",
            *drawn,
            "</svg>",
            "",
        ]
    )


def _rows(packages: list[Package]) -> list[list[Package]]:
    """A layer with many packages takes several rows of equal length."""
    rows = -(-len(packages) // MOST_IN_A_ROW)
    length = -(-len(packages) // rows)
    return [packages[start : start + length] for start in range(0, len(packages), length)]


def _layer(rows: list[list[Package]], top: float) -> tuple[list[str], float]:
    """The boxes of a layer, and how high it is."""
    drawn: list[str] = []
    below = top + PAD
    for row in rows:
        width = (WIDTH - 2 * MARGIN - 2 * PAD - GAP * (len(row) - 1)) / len(row)
        # A package that is alone in its layer has its promise beside its name.
        aside, down = (124, 26) if len(row) == 1 else (12, 49)
        texts = [textwrap.wrap(package.promise, int((width - aside - 12) / CHARACTER)) for package in row]
        height = down - 10 + LINE * max(map(len, texts)) + 6
        for place, (package, lines) in enumerate(zip(row, texts, strict=True)):
            left = MARGIN + PAD + place * (width + GAP)
            drawn.append(f'<rect class="box" x="{left:g}" y="{below:g}" width="{width:g}" height="{height}" rx="6"/>')
            drawn.append(f'<text class="name" x="{left + 12:g}" y="{below + 26:g}">{escape(package.name)}</text>')
            drawn += (
                f'<text x="{left + aside:g}" y="{below + down + LINE * line:g}">{escape(text)}</text>'
                for line, text in enumerate(lines)
            )
        below += height + GAP
    return drawn, below - GAP + PAD - top


def _arrow(top: float) -> str:
    middle = WIDTH / 2
    return f'<path class="arrow" d="M{middle:g} {top + 5:g}v{BETWEEN_LAYERS - 11}m-5 -6l5 6l5 -6"/>'


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
