"""Pages of real runs in a real browser: the answer before any scrolling, on a desk and on a phone.

`report.pages.scenes` makes eight; two of the three here have the most on their first screen, the third is of a sweep.
"""

from pathlib import Path

import pytest

from forking import Forker
from report.pages.auditing import audit, serious
from report.pages.browser import DESK, PHONE, Browser, Look
from report.pages.scenes import FIRST_PIXELS, make

ANSWERS = {
    "four": (
        "The skill helps 2 of 4 models and hurts 1",
        "Next: let the teacher revise the skill: upskill generate --from ",
    ),
    "generate": ("The skill was saved: it helps on 12 held", "Next: check it in every build: upskill eval "),
}
"""What a reader of a scene must be able to say: what happened, and what to do next."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory, forker: Forker) -> dict[str, Path]:
    """The page of each scene, by its name."""
    out = tmp_path_factory.mktemp("scenes")
    return {name: make(name, out, forker) for name in ANSWERS}


@pytest.mark.parametrize("width", [DESK, PHONE])
@pytest.mark.parametrize("name", ANSWERS)
def test_what_happened_and_what_to_do_next_are_seen_without_scrolling(
    name: str, width: int, pages: dict[str, Path], browser: Browser
) -> None:
    browser.open(pages[name], Look(width=width))
    happened, then = ANSWERS[name]
    assert browser.run("document.querySelector('h1').innerText").startswith(happened)
    headline = browser.run("document.getElementById('headline').innerText")
    assert then in headline
    assert browser.run("document.getElementById('headline').getBoundingClientRect().bottom") < FIRST_PIXELS
    assert browser.run("document.documentElement.scrollWidth") <= width, "nothing is wider than the screen"
    assert browser.complaints() == []


@pytest.mark.parametrize(("name", "look"), [("four", Look()), ("generate", Look(width=PHONE, scheme="dark"))])
def test_no_scene_has_a_serious_finding(name: str, look: Look, pages: dict[str, Path], browser: Browser) -> None:
    assert serious(audit(pages[name], browser=browser, looks=(look,))) == []


@pytest.mark.parametrize("look", [Look(), Look(width=PHONE, scheme="dark")])
def test_the_page_of_a_sweep_says_where_to_look_first(
    look: Look, tmp_path: Path, forker: Forker, browser: Browser
) -> None:
    page = make("sweep", tmp_path, forker)
    browser.open(page, look)
    assert (
        browser.run("document.querySelector('h1').innerText")
        == "2 of 8 results help, 1 hurts; 1 no longer shown to help"
    )
    first = browser.run("document.querySelector('.second').innerText")
    assert first.startswith("Look first at registry/tides on small-4b: undecided now; before: helps (shown twice).")
    said = browser.run("document.querySelector('header').innerText")
    assert "Next: finish the sweep: upskill sweep run second" in said
    assert browser.run("document.documentElement.scrollWidth") <= look.width, "nothing is wider than the screen"
    assert browser.complaints() == []
    assert serious(audit(page, browser=browser, looks=(look,))) == []
