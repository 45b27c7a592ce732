"""The picture of the first pages and of the gallery is what the code draws from the kept runs."""

from pathlib import Path

import pytest
from tools.models_picture import PAGES, PICTURE, caption, picture, with_caption


def test_the_committed_picture_is_what_the_code_draws() -> None:
    assert PICTURE.read_text(encoding="utf-8") == picture(), "python -m tools.models_picture writes it again"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(page.parents[1])))
def test_a_page_says_what_the_picture_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text.count(f"![{caption()}](") == 1
    assert with_caption(text) == text
