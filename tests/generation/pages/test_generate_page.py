"""The page of a `generate` in a real browser: usable by everybody, on a phone, and closed to what strangers wrote."""

from pathlib import Path

import pytest

from generation.unit.test_story_section import HOSTILE, SKILL, attempt, story
from report.pages.auditing import LOOKS, audit, serious
from report.pages.browser import DESK, PHONE, Browser, Look
from upskill.generation.generated import FailedAnswer, StudentScore
from upskill.generation.story import text_diff
from upskill.report.html import RunFacts, report_page
from upskill.report.html.figures import Spent
from upskill.report.next_step import NextStep

OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A revision that was not saved, with everything in it."""
    failed = FailedAnswer(case_id="port", student="haiku", prompt=HOSTILE, answer="x" * 400, saw=("FAILED " + HOSTILE,))
    scores = tuple(StudentScore(student=name, passed=2, of=3) for name in ("haiku", "kimi"))
    told = story(
        outcome="stays",
        decision="The old version stays: the revision was not shown to be better on 8 held-out cases.",
        attempts=(attempt(1, 3, failures=(failed,), by_student=scores), attempt(2, 5, edits=("insert in SKILL.md",))),
        change=text_diff({"SKILL.md": "old\n" + "y" * 500}, {"SKILL.md": "new\n" + "z" * 500}),
        spent=(Spent(part="Teacher", calls=3, tokens=900, cost=0.5),),
        notes=("a note",),
        next_step=NextStep("tell the teacher what to improve", 'upskill generate --from skills/quarn "more"'),
    )
    facts = RunFacts(
        skill="quarn", folder="run", status="finished", started_at="2026-11-15T12:00:00+00:00", finished_at=None
    )
    page = tmp_path_factory.mktemp("generate") / "report.html"
    page.write_text(report_page(None, facts, skill=SKILL, story=told), encoding="utf-8")
    return page


def test_the_page_of_a_generate_has_no_serious_finding_in_any_look(made: Path, browser: Browser) -> None:
    assert serious(audit(made, browser=browser, looks=LOOKS, first=OPEN_ALL)) == []


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_decision_and_the_way_to_it_are_on_the_first_screen_without_scrolling_sideways(
    made: Path, browser: Browser, width: int
) -> None:
    browser.open(made, Look(width=width))
    last = browser.run("document.querySelector('.way li:last-child').getBoundingClientRect().bottom")
    assert last <= Look(width=width).height
    browser.run(OPEN_ALL)
    assert browser.run("document.documentElement.scrollWidth") <= width


def test_nothing_that_a_stranger_wrote_acts_on_it(made: Path, browser: Browser) -> None:
    browser.open(made)
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.complaints() == []
    assert browser.requests() == [made.as_uri()]
