"""Draws pictures: the one place that loads the pictures library. Runs in a process of its own.

`python -m upskill.reporting.pictures.drawing`: JSON from stdin, JSON to stdout.
"""

import base64
import json
import re
import sys
from importlib import import_module
from typing import Any

from upskill.reporting.palette import LIGHT, on_paper
from upskill.reporting.pictures.canvas import Canvas
from upskill.reporting.pictures.picture import WIDTH, Picture

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


def draw(pictures: list[dict[str, Any]]) -> dict[str, Any]:
    """Each picture as SVG and as PNG."""
    from altair.utils.schemapi import debug_mode

    # Checking every part of every chart against a schema takes longer than drawing it.
    with debug_mode(False):
        return {asked["name"]: _drawn(Picture(**asked)) for asked in pictures}


def _drawn(picture: Picture) -> dict[str, str]:
    import vl_convert

    chart = import_module(f"upskill.reporting.pictures.{picture.name}").chart
    canvas = Canvas(WIDTH)
    svg = _tidy(vl_convert.vegalite_to_svg(canvas.spec(chart(picture, canvas), LOOK), allowed_base_urls=[]))
    png = vl_convert.svg_to_png(on_paper(svg, LIGHT["paper"]), scale=PNG_SCALE)
    return {"svg": svg, "png": base64.b64encode(png).decode("ascii")}


def _tidy(svg: str) -> str:
    """Without what nobody reads, and numbers no longer than an eye can see."""
    svg = re.sub(r' (?:role|aria-[a-z]+|class|xmlns:xlink|version)="[^"]*"', "", svg)
    return _TAG.sub(lambda tag: _LONG_NUMBER.sub(_shortened, tag[0]), svg)


def _shortened(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def main() -> None:
    """Read, draw, answer."""
    sys.stdout.buffer.write(json.dumps(draw(json.loads(sys.stdin.buffer.read()))).encode())


if __name__ == "__main__":
    main()
