"""Draws pictures: the one place that loads the pictures library. Runs in a process of its own.

`python -m upskill.reporting.pictures.drawing`: JSON from stdin, JSON to stdout. It loads the library first and then
waits for something to draw, so it can be started before there is anything.
"""

import base64
import json
import re
import sys
from importlib import import_module
from typing import Any

from upskill.reporting.pictures.canvas import Canvas
from upskill.reporting.pictures.palette import LIGHT, on_paper
from upskill.reporting.pictures.picture import WIDTHS, Picture

LOOK = {
    "font": "sans-serif",
    "background": "transparent",
    "padding": 4,
    "aria": False,
    "view": {"stroke": None},
    "text": {"fontSize": 12},
    "axis": {
        "labelColor": LIGHT["muted"],
        "titleColor": LIGHT["muted"],
        "titleFontWeight": "normal",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "gridColor": LIGHT["grid"],
        "domainColor": LIGHT["grid"],
        "tickColor": LIGHT["grid"],
    },
}
"""What all pictures share."""
PNG_SCALE = 2
_TAG = re.compile(r"<[^>]*>")
_LONG_NUMBER = re.compile(r"-?\d+\.\d{3,}")


def draw(order: dict[str, Any]) -> dict[str, Any]:
    """Each picture as SVG in each width; and as PNG where it was asked for."""
    from altair.utils.schemapi import debug_mode

    # Checking every part of every chart against a schema takes longer than drawing it.
    with debug_mode(False):
        return {asked["name"]: _drawn(Picture(**asked), png=order["png"]) for asked in order["pictures"]}


def _drawn(picture: Picture, *, png: bool) -> dict[str, str]:
    import vl_convert

    chart = import_module(f"upskill.reporting.pictures.{picture.name}").chart
    drawn: dict[str, str] = {}
    for name, width in WIDTHS.items():
        canvas = Canvas(width)
        svg = vl_convert.vegalite_to_svg(canvas.spec(chart(picture, canvas), LOOK), allowed_base_urls=[])
        drawn[name] = _tidy(svg, f"{picture.name}-{name}-")
    if png:
        picture_bytes = vl_convert.svg_to_png(on_paper(drawn["wide"], LIGHT["paper"]), scale=PNG_SCALE)
        drawn["png"] = base64.b64encode(picture_bytes).decode("ascii")
    return drawn


def _tidy(svg: str, prefix: str) -> str:
    """Names of its own, so that several drawings can stand on one page; numbers no longer than an eye can see."""
    svg = re.sub(r' (?:role|aria-[a-z]+|class|xmlns:xlink|version)="[^"]*"', "", svg)
    svg = re.sub(r'\bid="', f'id="{prefix}', svg)
    svg = svg.replace("url(#", f"url(#{prefix}")
    return _TAG.sub(lambda tag: _LONG_NUMBER.sub(_shortened, tag[0]), svg)


def _shortened(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def main() -> None:
    """Load, wait, draw, answer."""
    import vl_convert

    # The JavaScript engine starts with the first drawing. Better now than when somebody waits.
    canvas = Canvas(10)
    vl_convert.vegalite_to_svg(canvas.spec(canvas.plot([]).mark_point(), LOOK))
    order = sys.stdin.buffer.read()
    if order:
        sys.stdout.buffer.write(json.dumps(draw(json.loads(order))).encode())


if __name__ == "__main__":
    main()
