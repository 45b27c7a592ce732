"""Pictures as files."""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from upskill.errors import EngineError
from upskill.reporting.palette import DARK, LIGHT, darkened, on_paper
from upskill.reporting.pictures import DrawnPicture, Picture, PictureFailed, draw

NEEDED = {"altair": "altair", "vl_convert": "vl-convert-python"}
"""The modules that draw, and the packages of the extra `plots` that bring them."""


def draw_all(pictures: Sequence[Picture]) -> dict[str, DrawnPicture]:
    """Draw every picture as SVG and PNG. Raises `EngineError`."""
    if missing := [package for module, package in NEEDED.items() if find_spec(module) is None]:
        raise EngineError(f"--plots needs {' and '.join(missing)}", hint=f"python -m pip install {' '.join(missing)}")
    try:
        return draw(pictures)
    except PictureFailed as error:
        raise EngineError(f"the pictures could not be drawn: {error}") from None


def write_plots(drawn: dict[str, DrawnPicture], folder: Path) -> list[Path]:
    """Write `NAME.svg`, `NAME-dark.svg` and `NAME.png` of each; returns their paths."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in drawn.items():
            light, dark = folder / f"{name}.svg", folder / f"{name}-dark.svg"
            light.write_text(on_paper(picture.svg, LIGHT["paper"]), encoding="utf-8")
            dark.write_text(on_paper(darkened(picture.svg), DARK["paper"]), encoding="utf-8")
            image = folder / f"{name}.png"
            image.write_bytes(picture.png)
            written += [light, dark, image]
    except OSError as error:
        raise EngineError(f"{folder}: pictures cannot be written to it ({error.strerror})") from None
    return written
