"""One browser for all tests of pages: starting it takes longer than most of them."""

from collections.abc import Iterator

import pytest

from report.pages.browser import Browser


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Debian's Chromium."""
    with Browser() as opened:
        yield opened
