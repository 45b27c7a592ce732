"""The picture of the gallery is what the code draws from the kept runs."""

from tools.gallery_page import PAGE
from tools.models_picture import PICTURE, caption, picture


def test_the_committed_picture_is_what_the_code_draws() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tools.models_picture writes it again"


def test_the_page_says_what_the_picture_shows() -> None:
    assert f"![{caption()}](../docs/assets/{PICTURE.name})" in PAGE.read_text(encoding="utf-8")
