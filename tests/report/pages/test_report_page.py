"""The report in a real browser: usable by everybody, closed to what strangers wrote, and all of it works."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from report.pages.auditing import LOOKS, audit, serious
from report.pages.browser import DESK, PHONE, Browser, Look
from report.unit.evaluations import CASE_STATES, LABEL_LIFTS, arm, lift, report
from report.unit.pages import errored, evaluation, page, scored
from upskill.core.nouns import Arm, Evaluation, Interval, Trial
from upskill.report.facts import TokenRatio
from upskill.report.html import history_page
from upskill.report.side_by_side import Version, history

ARMS: tuple[Arm, ...] = ("baseline", "with_skill")
HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
CASES = {f"case-{number}": f"Question {number}" for number in range(150)}
OPEN_ALL = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
OPEN_PAIR = "document.querySelector('#pairs button').click()"


def _put(control: str, value: str) -> str:
    return (
        f"(() => {{ const one = document.getElementById('{control}'); one.value = '{value}';"
        " for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); })()"
    )


def _trials(students: Sequence[str]) -> list[Trial]:
    trials = [
        scored(
            len(case) % 2 == repeat % 2, student=student, case=case, arm=arm, repeat=repeat, answer=f"{HOSTILE} {case}"
        )
        for student in students
        for case in CASES
        for arm in ARMS
        for repeat in (1, 2)
    ]
    return [*trials, errored(student=students[0], case="case-1", repeat=3, message=HOSTILE)]


def _result() -> Evaluation:
    priced = (
        replace(arm("baseline", passed=10, trials=40), cost=0.002),
        replace(arm("with_skill", passed=37, trials=40), cost=0.003),
    )
    free = tuple(replace(one, cost=0.0001) for one in (arm("baseline", passed=1), arm("with_skill", passed=5)))
    narrow = lift(about="these cases", units=4)
    students = (
        report("haiku", arms=priced, label_lifts=LABEL_LIFTS),
        report("unsloth/GLM-4.7-Flash-GGUF:Q4_0", arms=free, verdict="undecided", lifts=(narrow,)),
        report(HOSTILE, verdict="hurts", end="decided"),
    )
    return evaluation(*students, case_states=CASE_STATES, notes=(HOSTILE,), design="two looks", min_lift=0.1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report with everything in it, and a history."""
    place = tmp_path_factory.mktemp("pages")
    result = _result()
    names = [one.student.name for one in result.students]
    versions = [
        Version(
            day=f"2026-11-0{number}", digest=f"{number}" * 64, run="r", cases=frozenset("12"), report=result.students[0]
        )
        for number in (1, 2, 3)
    ]
    found = history("tarnctl", versions)
    assert found is not None
    text = page(
        result,
        trials=_trials(names),
        prompts={**CASES, "case-0": HOSTILE},
        ratios=[TokenRatio(student=names[0], typical=0.7, interval=Interval(low=0.6, high=0.8))],
    )
    (place / "report.html").write_text(text, encoding="utf-8")
    (place / "history.html").write_text(history_page(found), encoding="utf-8")
    return place


def test_the_report_has_no_serious_finding_in_any_look(folder: Path, browser: Browser) -> None:
    # Most rows are alike, and each costs the audit time.
    first = f"{OPEN_ALL}; {_put('by-text', 'case-10')}; new Promise((done) => setTimeout(done, 400))"
    assert serious(audit(folder / "report.html", browser=browser, looks=LOOKS, first=first)) == []


def test_the_history_has_no_serious_finding(folder: Path, browser: Browser) -> None:
    assert serious(audit(folder / "history.html", browser=browser, first=OPEN_ALL)) == []


def test_nothing_of_a_stranger_runs_and_nothing_is_fetched(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html")
    browser.run(OPEN_PAIR)
    shown = browser.run("document.querySelector('dialog[open]').textContent")
    assert HOSTILE in shown, "shown as the text it is"
    assert "script" not in browser.run("document.title")
    assert browser.run("document.title") == "tarnctl: upskill report"
    assert browser.run("document.querySelectorAll('img').length") == 0
    assert browser.complaints() == []
    assert browser.requests() == [(folder / "report.html").as_uri()]


def test_even_a_script_that_got_in_would_not_run(folder: Path, browser: Browser, tmp_path: Path) -> None:
    text = (folder / "report.html").read_text(encoding="utf-8")
    broken = tmp_path / "broken.html"
    broken.write_text(text.replace("<main>", "<main><script>document.title='broken'</script>", 1), encoding="utf-8")
    browser.open(broken)
    assert browser.run("document.title") == "tarnctl: upskill report"
    assert any("Content Security Policy" in complaint for complaint in browser.complaints())


def test_a_phone_need_not_scroll_sideways(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", Look(width=PHONE))
    browser.run(OPEN_ALL)
    assert browser.run("document.documentElement.scrollWidth") <= PHONE
    shown = browser.run(
        "[...document.querySelectorAll('.dumbbell')].filter((one) => one.getClientRects().length)"
        ".map((one) => one.className.baseVal)"
    )
    assert shown == ["dumbbell narrow"]


def test_on_a_desk_no_open_table_is_cut(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", Look(width=DESK))
    browser.run(OPEN_ALL)
    cut = "[...document.querySelectorAll('.scrolls')].filter((one) => one.scrollWidth > one.clientWidth)"
    assert browser.run(f"{cut}.map((one) => one.getAttribute('aria-label'))") == []


def test_dark_pictures_are_drawn_in_dark_colours(folder: Path, browser: Browser) -> None:
    colours = []
    for scheme in ("light", "dark"):
        browser.open(folder / "report.html", Look(scheme=scheme))
        colours.append(browser.run("getComputedStyle(document.querySelector('.dumbbell.wide text')).fill"))
    assert colours[0] != colours[1]


def test_without_scripts_the_figures_and_a_table_of_signs_are_there(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", Look(script=False))
    text = browser.run("document.body.innerText")
    assert "+25 (+5 to +50)" in text
    assert "+25 (+5 to +50) on these 6 cases" in browser.run("document.getElementById('headline').textContent")
    assert "✗✓" in text or "✓✗" in text
    assert browser.run("document.getElementById('filters').hidden") is True


def test_it_can_be_printed(folder: Path, browser: Browser, tmp_path: Path) -> None:
    browser.open(folder / "report.html", Look(media="print", scheme="dark"))
    paper = browser.run("getComputedStyle(document.documentElement).backgroundColor")
    assert paper == "rgb(255, 255, 255)", "paper is white, whatever the screen is"
    assert browser.run("document.querySelector('#method dl').checkVisibility()"), "what is folded is printed"
    browser.pdf(tmp_path / "report.pdf")
    assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")


def test_the_answer_and_what_to_do_next_are_on_the_first_screen(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", Look(width=DESK))
    bottom = "document.querySelector('#headline > details').getBoundingClientRect().bottom"
    assert browser.run(bottom) < 800
    assert "Next" in browser.run("document.getElementById('headline').innerText")


def test_a_command_is_copied_by_a_button_beside_it(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html")
    browser.run("document.querySelector('#next button').click()")
    command = browser.run("document.querySelector('#next code').textContent")
    assert browser.run("getSelection().toString()") == command


def test_a_word_that_is_a_link_leads_to_its_meaning_also_by_keyboard(folder: Path, browser: Browser) -> None:
    browser.open(folder / "report.html", Look(width=PHONE, scheme="dark"))
    browser.run("document.querySelector('a.word[href$=word-lift]').focus(); document.activeElement.click()")
    assert browser.run("location.hash") == "#word-lift"
    assert browser.run("document.getElementById('words').open") is True
    assert browser.run("document.getElementById('word-lift').getBoundingClientRect().top < innerHeight") is True
