"""Pages of real runs in a real browser: the answer before any scrolling, on a desk and on a phone.

`pages.scenes` makes seven; the two here have the most on their first screen.
"""

from pathlib import Path

import pytest

from forking import Forker
from pages.auditing import audit, serious
from pages.browser import DESK, PHONE, Browser, Look
from pages.scenes import FIRST_PIXELS, make

ANSWERS = {
    "four": "The skill helps 2 of 4 models and hurts 1",
    "generate": "The skill was saved",
}
"""The first words of the headline."""
LOWEST = """(() => {
  const found = [...document.querySelectorAll('main *')].filter((one) => one.textContent.includes(%r));
  return Math.round(found.at(-1).getBoundingClientRect().bottom);
})()"""
"""Where the innermost element with a text ends, in pixels from the top."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> dict[str, Path]:
    """The page of each scene, by its name."""
    out = tmp_path_factory.mktemp("scenes")
    return {name: make(name, out, forker) for name in ANSWERS}


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_and_its_picture_are_seen_without_scrolling(
    name: str, width: int, pages: dict[str, Path], browser: Browser
) -> None:
    browser.open(pages[name], Look(width=width))
    assert browser.run(LOWEST % ANSWERS[name]) < FIRST_PIXELS
    picture = browser.run("document.querySelector('main svg').getBoundingClientRect().top")
    assert picture < FIRST_PIXELS
    assert browser.run("document.documentElement.scrollWidth") <= width, "nothing is wider than the screen"
    assert browser.complaints() == []


@pytest.mark.parametrize(
    ("name", "look"), [("four", Look(scheme="light")), ("generate", Look(width=PHONE, scheme="dark"))]
)
def test_no_scene_has_a_serious_finding(name: str, look: Look, pages: dict[str, Path], browser: Browser) -> None:
    assert serious(audit(pages[name], browser=browser, looks=(look,))) == []
