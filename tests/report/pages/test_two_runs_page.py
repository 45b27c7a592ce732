"""Two runs side by side in a real browser: both answers open beside each other, and everybody can use the page."""

from dataclasses import replace
from pathlib import Path

import pytest

from report.pages.auditing import LOOKS, audit, serious
from report.pages.browser import PHONE, Browser, Look
from report.unit.evaluations import SKILL, scored
from report.unit.glance.results import HELPED, OPEN, found
from upskill.core.nouns import Arm
from upskill.report.html import CaseText, LoggedTrial, against_page
from upskill.report.side_by_side import RunSide, against

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
CASES = {"port": "1", "host": "2"}
OPEN_PAIR = "document.querySelector('#pairs button').click()"


def _side(label: str, digest: str) -> RunSide:
    measured = found(HELPED, OPEN, skill=replace(SKILL, digest=digest * 64))
    return RunSide(
        label=label, run=f"runs/{HOSTILE}", day="2026-11-15", evaluation=measured, cases=CASES, harness="chat"
    )


def _answer(arm: Arm, case: str, *, passed: bool, answer: str) -> LoggedTrial:
    trial = scored(passed, student="SmolLM2", case=case, answer=answer, saw=HOSTILE)
    return LoggedTrial(trial=replace(trial, arm=arm), line=1)


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rates = {("SmolLM2", "port"): (0.0, 1.0), ("SmolLM2", "host"): (1.0, 1.0)}
    answers = [
        _answer("previous", "port", passed=False, answer=f"I do not know. {HOSTILE}"),
        _answer("with_skill", "port", passed=True, answer="It is port 7413."),
        _answer("previous", "host", passed=True, answer="gauge"),
        _answer("with_skill", "host", passed=True, answer="gauge"),
    ]
    first, second = HELPED.arms
    both = found(replace(HELPED, arms=(replace(first, arm="previous"), second), lifts=()))
    cases = [CaseText(id=case, prompt=f"Which {case}? {HOSTILE}") for case in CASES]
    made = against(_side("A", "a"), _side("B", "b"), rates, skill="skills/tarnctl")
    target = tmp_path_factory.mktemp("two-runs") / "against.html"
    target.write_text(against_page(made, both, cases=cases, trials=answers), encoding="utf-8")
    return target


def test_nothing_serious_is_wrong_with_it(page: Path, browser: Browser) -> None:
    assert serious(audit(page, browser=browser)) == []
    assert serious(audit(page, browser=browser, looks=LOOKS[:2], first=OPEN_PAIR)) == []


def test_a_case_opens_the_answers_of_both_runs_and_no_text_acts(page: Path, browser: Browser) -> None:
    browser.open(page)
    assert "better in B" in browser.run("document.querySelector('#pairs button').textContent")
    browser.run(OPEN_PAIR)
    sides = browser.run("[...document.querySelectorAll('dialog .side')].map((one) => one.innerText)")
    assert [name in text for name, text in zip(("A, with the skill", "B, with the skill"), sides, strict=True)] == [
        True,
        True,
    ]
    assert "I do not know." in sides[0]
    assert "It is port 7413." in sides[1]
    assert browser.run("document.title") != "broken"
    assert browser.complaints() == []
    assert len(browser.requests()) == 1


def test_nothing_scrolls_sideways_on_a_phone(page: Path, browser: Browser) -> None:
    browser.open(page, Look(width=PHONE))
    assert browser.run("document.documentElement.scrollWidth") <= PHONE
