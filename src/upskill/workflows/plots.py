"""Pictures as files of their own."""

from collections.abc import Sequence
from pathlib import Path

from upskill.errors import EngineError
from upskill.reporting.pictures import Drawer, DrawnPicture, Picture, PictureFailed
from upskill.reporting.pictures.palette import DARK, LIGHT, darkened, on_paper


def draw_all(pictures: Sequence[Picture]) -> dict[str, DrawnPicture]:
    """Every picture, as SVG and PNG. Raises `EngineError`."""
    try:
        with Drawer() as drawer:
            return dict(drawer.draw(pictures, png=True))
    except PictureFailed as error:
        raise EngineError(f"the pictures could not be drawn: {error}") from None


def write_plots(drawn: dict[str, DrawnPicture], folder: Path) -> list[Path]:
    """`NAME.svg`, `NAME-dark.svg` and `NAME.png` for each."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, picture in drawn.items():
            light, dark = folder / f"{name}.svg", folder / f"{name}-dark.svg"
            light.write_text(on_paper(picture.wide, LIGHT["paper"]), encoding="utf-8")
            dark.write_text(on_paper(darkened(picture.wide), DARK["paper"]), encoding="utf-8")
            written += [light, dark]
            if picture.png is not None:
                image = folder / f"{name}.png"
                image.write_bytes(picture.png)
                written.append(image)
    except OSError as error:
        raise EngineError(f"{folder}: pictures cannot be written here ({error.strerror})") from None
    return written
