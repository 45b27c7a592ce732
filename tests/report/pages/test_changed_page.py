"""What changed, in a real browser: rows in their order, a pair side by side, by mouse, keyboard and screen reader."""

from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from report.pages.auditing import audit, serious
from report.pages.browser import DESK, PHONE, Browser, Look
from report.unit.evaluations import agent_report, report
from report.unit.pages import FACTS, errored, evaluation, scored
from upskill.core.nouns import Arm, CheckResult, Grade, Scored, SkillUse
from upskill.core.nouns.answer import AgentStep, AgentSteps
from upskill.report.html import CaseText, LoggedTrial, report_page

HOSTILE = "</script><script>document.title='broken'</script><img src=x onerror=\"document.title='broken'\">"
OPEN = "document.querySelector('#pairs button').click()"
SETTLED = "new Promise((done) => setTimeout(done, 400))"
TITLE = "document.getElementById('pair-title').textContent"


def put(control: str, value: str) -> str:
    return (
        f"(() => {{ const one = document.getElementById('{control}'); one.value = '{value}';"
        " for (const kind of ['input', 'change']) one.dispatchEvent(new Event(kind)); })()"
    )


def press(key: str) -> str:
    return f"document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {{key: '{key}', bubbles: true}}))"


def click(name: str) -> str:
    return f"[...document.querySelectorAll('dialog button')].find((one) => one.textContent === '{name}').click()"


def texts(selector: str) -> str:
    return f"[...document.querySelectorAll({selector!r})].map((one) => one.textContent)"


def in_dialog(selector: str) -> str:
    return texts(f"#pair {selector}")


@pytest.fixture(scope="module")
def chat(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on 100 cases, of which one is hurt, one helped and one errored."""
    arms: tuple[Arm, ...] = ("baseline", "with_skill")
    before = {"hurt": (True, True), "helped": (False, True)}
    after = {"hurt": (True, False), "helped": (True, True)}
    cases = ["errored", *(f"case-{number}" for number in range(97)), "helped", "hurt"]
    trials = [
        scored(
            ends.get(case, (True, True))[repeat - 1],
            student=student,
            case=case,
            arm=arm,
            repeat=repeat,
            answer=f"The port of {case} is {7413 if arm == 'with_skill' else 80}. {HOSTILE}",
        )
        for student in ("haiku", "kimi")
        for case in cases[1:]
        for arm, ends in zip(arms, (before, after), strict=True)
        for repeat in (1, 2)
    ]
    trials.append(errored(case="errored", message=HOSTILE))
    logged = [LoggedTrial(trial=trial, line=line) for line, trial in enumerate(trials, 1)]
    texts = [
        CaseText(id=case, prompt=f"Which port has {case}? {HOSTILE}", checks=(("contains", f"contains {HOSTILE}"),))
        for case in cases
    ]
    place = tmp_path_factory.mktemp("chat") / "report.html"
    result = evaluation(report("haiku"), report("kimi"))
    place.write_text(report_page(result, FACTS, cases=texts, trials=logged), encoding="utf-8")
    return place


@pytest.fixture(scope="module")
def agents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One case in three arms: a file of the case changed, a file written, steps with a gap, and one from the store."""
    case = CaseText(
        id="north",
        prompt="Write tarn.kdl.",
        files={"notes.txt": b"one\ntwo\nthree\n"},
        checks=(("contains", "the answer contains 'ok'"), ("command", "of a case that has changed since")),
    )
    says = AgentStep(kind="says", text="I read the notes first.")
    fails = AgentStep(kind="tool", tool="read_file", arguments="missing", output="no such file", failed=True)
    writes = AgentStep(kind="tool", tool="shell", arguments="echo gauge > tarn.kdl", output=HOSTILE, seconds=1.25)

    def side(arm: Arm, passed: bool, line: int, **more: Any) -> LoggedTrial:
        steps = more.pop("steps", None)
        trial = scored(passed, case="north", arm=arm, repeat=1, answer="Done.", saw="it ended")
        return LoggedTrial(trial=replace(trial, **more), line=line, steps=steps)

    trials = [
        side("baseline", False, 1, files={"tarn.kdl": b"gauge\n"}, steps=AgentSteps(first=(says, fails), left_out=7)),
        side(
            "offered",
            True,
            2,
            files={"tarn.kdl": b'gauge "north"\n', "notes.txt": b"one\n2\nthree\n", "raw": b"\0"},
            steps=AgentSteps(first=(writes,)),
            skill_use=SkillUse(listed=True, loaded=True, files=("SKILL.md",)),
        ),
        side("with_skill", True, 3, stored_at="2026-11-01", removed=("notes.txt",)),
    ]
    place = tmp_path_factory.mktemp("agents") / "report.html"
    place.write_text(report_page(evaluation(agent_report()), FACTS, cases=[case], trials=trials), encoding="utf-8")
    return place


def test_hurt_and_helped_come_first_with_both_answers(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    first = browser.run(texts("#pairs li"))[:4]
    assert [row.split()[1] for row in first] == ["hurt", "hurt", "helped", "helped"]
    assert "The port of hurt is 80." in first[0]
    assert "The port of hurt is 7413." in first[0]
    assert "✗ 1 of 2 passed" in first[0]
    assert "Helped 2, hurt 2, same 194, errored 1" in browser.run("document.querySelector('#changed').textContent")


@pytest.mark.parametrize(("verdict", "shown"), [("undecided", True), ("helps", False)])
def test_what_fails_both_times_is_open_where_nothing_is_decided(
    tmp_path: Path, browser: Browser, verdict: str, shown: bool
) -> None:
    ends = {"failing": False, "passing": True}
    cases = [f"{kind}-{number}" for kind in ends for number in range(6)]
    arms: tuple[Arm, ...] = ("baseline", "with_skill")
    trials = [
        LoggedTrial(trial=scored(ends[case.split("-")[0]], case=case, arm=arm, repeat=1, answer="It is 9."), line=line)
        for line, (case, arm) in enumerate(product(cases, arms), 1)
    ]
    page = tmp_path / "report.html"
    result = evaluation(replace(report("haiku"), verdict=verdict))  # type: ignore[arg-type]
    page.write_text(
        report_page(result, FACTS, cases=[CaseText(id=case, prompt="Which port?") for case in cases], trials=trials),
        "utf-8",
    )
    browser.open(page)
    rows = browser.run(texts("#pairs li"))
    assert ("6 fail both times: show them" in rows) is not shown
    assert sum("still fails" in row for row in rows) == (6 if shown else 0)
    assert "6 pass both times: show them" in rows


def test_a_row_opens_both_sides_of_the_repeat_that_shows_the_change(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    browser.run(OPEN)
    assert browser.run(TITLE).startswith("hurt, haiku")
    assert browser.run(in_dialog(".side h3")) == ["without the skill ✓ passed", "with the skill ✗ failed"]
    assert browser.run(in_dialog(".asked pre")) == [f"Which port has hurt? {HOSTILE}"]
    assert browser.run(in_dialog(".repeats [aria-pressed=true]")) == ["2 ✓→✗"]
    boxes = browser.run("[...document.querySelectorAll('.side')].map((one) => one.getBoundingClientRect().left)")
    assert boxes[0] < boxes[1], "side by side"


def test_words_on_one_side_only_are_marked_on_both(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    browser.run(OPEN)
    assert browser.run(in_dialog(".side mark")) == ["80", "7413"]
    line = "getComputedStyle(document.querySelector('.side mark')).borderBottomStyle"
    assert browser.run(line) == "solid", "not by colour alone"


def _open_pair(browser: Browser, page: Path, answers: dict[Arm, str]) -> None:
    """Open the one pair of a page with these answers."""
    trials = [
        LoggedTrial(trial=scored(arm=arm, answer=answer), line=line)
        for line, (arm, answer) in enumerate(answers.items(), 1)
    ]
    page.write_text(report_page(evaluation(), FACTS, cases=[CaseText(id="c1", prompt="?")], trials=trials))
    browser.open(page)
    browser.run(OPEN)


def test_conversation_is_read_turn_by_turn_and_a_long_pattern_has_one_row(browser: Browser, tmp_path: Path) -> None:
    pattern = r"turn 2: the answer matches the pattern (?s)\A(?=.*\btarnctl\s+lull\b)" + r"(?!\btarnctl\s+halt\b)" * 20
    case = CaseText(
        id="c1", prompt="Turn 1: How?\n\nTurn 2: And stop?", checks=(("regex", pattern), ("excludes", "not there"))
    )
    saw = "turn 2 of 2: no match for '(?s)…'"
    results = (CheckResult(kind="regex", passed=False, saw=saw), CheckResult(kind="excludes", passed=True, saw="none"))
    trials = [
        replace(
            scored(False, arm=arm, answer="tarnctl halt"),
            earlier=("tarnctl rouse",),
            outcome=Scored(end="answered", grade=Grade(results=results)),
        )
        for arm in ("baseline", "with_skill")
    ]
    page = tmp_path / "report.html"
    logged = [LoggedTrial(trial=trial, line=line) for line, trial in enumerate(trials, 1)]
    page.write_text(report_page(evaluation(), FACTS, cases=[case], trials=logged), encoding="utf-8")
    for width in (PHONE, DESK):
        browser.open(page, Look(width=width))
        browser.run(OPEN)
        assert browser.run(in_dialog(".side pre"))[0] == "Turn 1: tarnctl rouse\n\nTurn 2: tarnctl halt"
        assert browser.run(in_dialog(".saw"))[0] == f"saw: {saw}"
        row, line, wide, room, side = browser.run(
            "(() => { const one = document.querySelector('.pattern'); const side = one.closest('.side');"
            " return [one.clientHeight, parseFloat(getComputedStyle(one).lineHeight), one.scrollWidth, one.clientWidth,"
            " side.scrollWidth - side.clientWidth]; })()"
        )
        assert row < 2 * line + 12
        assert wide > room, "the rest of it is reached by scrolling"
        assert side <= 0, "and it widens nothing"


def test_answers_with_little_in_common_are_not_marked_at_all(browser: Browser, tmp_path: Path) -> None:
    answers: dict[Arm, str] = {"baseline": "I do not know.", "with_skill": "The file is tarn.kdl, in the home folder."}
    _open_pair(browser, tmp_path / "report.html", answers)
    assert browser.run(in_dialog("mark")) == []


def test_answers_of_many_thousand_words_open_without_marks(browser: Browser, tmp_path: Path) -> None:
    # Both ends differ, so that nothing can be left out of the comparison.
    answers: dict[Arm, str] = {"baseline": f"A {'a ' * 3_900}A", "with_skill": f"B {'a ' * 3_900}B"}
    _open_pair(browser, tmp_path / "report.html", answers)
    assert browser.run(in_dialog("mark")) == []
    assert len(browser.run(in_dialog(".side pre"))[0]) > 7_000


def test_each_check_says_what_it_asks_for_and_what_it_saw(agents: Path, browser: Browser) -> None:
    browser.open(agents)
    browser.run(OPEN)
    checks = browser.run(in_dialog(".side:first-child .checks li"))
    assert checks == [
        "✗ failed containsthe answer contains 'ok'saw: it ended",
        "✓ passed excludessaw: not there",
    ], "a description of another kind of check is not shown"


def test_the_steps_of_an_agent_are_a_timeline_with_its_calls(agents: Path, browser: Browser) -> None:
    browser.open(agents)
    browser.run(OPEN)
    assert browser.run(in_dialog(".side h3")) == [
        "without the skill ✗ failed",
        "with the skill offered ✓ passed",
        "with the skill given ✓ passed",
    ]
    steps = browser.run(in_dialog(".timeline > li"))
    assert steps == [
        "I read the notes first.",
        "read_file ✗ failedmissingno such file",
        "7 steps are not shown. They are in the Inspect log.",
        f"shell 1.2 secho gauge > tarn.kdl{HOSTILE}",
    ]
    third = browser.run("document.querySelector('.side:last-child').textContent")
    assert "From an earlier run (2026-11-01). Its log has the steps." in third


def test_files_are_compared_with_those_of_the_case_and_of_the_other_side(agents: Path, browser: Browser) -> None:
    browser.open(agents)
    browser.run(OPEN)
    (lines,) = browser.run(in_dialog(".diff"))
    assert lines == "  one\n− two\n+ 2\n  three\n"
    offered = browser.run("document.querySelector('.side:nth-child(2)').innerText")
    assert "notes.txt, changed, 12 bytes" in offered
    assert "raw, new, 1 bytes" in offered
    assert "Not written on this side: notes.txt, raw" in browser.run("document.querySelector('.side').innerText")
    assert "Removed: notes.txt" in browser.run("document.querySelector('.side:last-child').innerText")


def test_agents_that_end_in_the_same_words_are_told_apart_by_their_files(agents: Path, browser: Browser) -> None:
    browser.open(agents)
    quotes = browser.run(texts("#pairs .quote"))
    assert quotes[0] == "tarn.kdl: gauge"
    assert quotes[1].startswith("notes.txt: one")


def test_rows_are_walked_and_pairs_turned_by_keyboard(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    assert browser.run("document.querySelectorAll('#pairs [tabindex=\"0\"]').length") == 1, "one stop for the Tab key"
    browser.run("document.querySelector('#pairs button').focus()")
    browser.run(press("ArrowDown"))
    browser.run(press("ArrowDown"))
    assert "▲ helped" in browser.run("document.activeElement.textContent")
    browser.run("document.activeElement.click()")
    assert browser.run("document.activeElement.id") == "pair-title"
    browser.run(click("Next"))
    assert browser.run(TITLE).startswith("helped, kimi")
    browser.run("document.querySelector('.repeats button:last-child').focus()")
    browser.run("document.activeElement.click()")
    assert browser.run("document.activeElement.getAttribute('aria-pressed')") == "true"
    assert browser.run("document.activeElement.getAttribute('aria-label')") == (
        "Repeat 2: without the skill passed, with the skill passed"
    )
    # The browser says when it has closed, after the click.
    closed = "(done) => document.querySelector('dialog').addEventListener('close', done, {once: true})"
    browser.run(f"(() => {{ const closed = new Promise({closed}); {click('Close')}; return closed.then(() => 0); }})()")
    assert browser.run("document.querySelector('dialog').open") is False
    assert browser.run("document.activeElement.dataset.at") == "3", "where the reader was last"


def test_rows_come_as_they_are_looked_at_and_are_found_by_what_is_sought(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    rows = "document.querySelectorAll('#pairs li').length"
    folds = "[...document.querySelectorAll('.fold')].map((one) => one.textContent)"
    folded = browser.run(folds)
    assert [text.partition(" ")[2] for text in folded] == ["pass both times: show them"], folded
    assert browser.run(rows) < 20, "what did not change is one line"
    browser.run("document.querySelector('.fold').click()")
    assert browser.run(folds) == []
    assert browser.run("document.activeElement.closest('li') !== null"), "the first of them has the focus"
    assert browser.run(rows) < 199
    for _ in range(6):
        browser.run("scrollTo(0, document.documentElement.scrollHeight)")
        browser.run(SETTLED)
    assert browser.run(rows) == 199
    found = "document.getElementById('found').textContent"
    for control, value, expected in (
        ("by-text", "port has case-96?", "2 of 199"),
        ("by-text", "of case-96 is 7413", "2 of 199"),
        ("by-text", "", ""),
        ("by-kind", "hurt", "2 of 199"),
        ("by-student", "1", "1 of 199"),
        ("by-kind", "errored", "0 of 199"),
        ("by-student", "", "1 of 199"),
    ):
        browser.run(put(control, value))
        browser.run(SETTLED)
        assert browser.run(found) == expected, (control, value)


def test_a_pair_that_is_opened_is_announced_with_its_sides(chat: Path, browser: Browser) -> None:
    browser.open(chat)
    browser.run("document.addEventListener('pair-opened', (event) => { window.heard = event.detail; })")
    browser.run(OPEN)
    heard = browser.run(
        "({...heard, sides: heard.sides.map((one) => [one.arm, one.trial.state, one.trial.line,"
        " one.trial.answer.slice(0, 22), one.element.querySelector('h3').textContent])})"
    )
    assert {key: heard[key] for key in ("case", "student", "repeat")} == {
        "case": "hurt",
        "student": "haiku",
        "repeat": 2,
    }
    assert [side[:2] + side[3:] for side in heard["sides"]] == [
        ["baseline", "passed", "The port of hurt is 80", "without the skill ✓ passed"],
        ["with_skill", "failed", "The port of hurt is 74", "with the skill ✗ failed"],
    ]


@pytest.mark.parametrize("look", [Look(width=DESK), Look(width=PHONE, scheme="dark")], ids=["desk", "phone"])
@pytest.mark.parametrize("kind", ["chat", "agents"])
def test_rows_and_an_open_pair_have_no_serious_finding(
    look: Look, kind: str, request: pytest.FixtureRequest, browser: Browser
) -> None:
    page: Path = request.getfixturevalue(kind)
    fewer = f"{put('by-text', 'hurt')}; {SETTLED}" if kind == "chat" else "0"
    assert serious(audit(page, browser=browser, looks=(look,), first=fewer)) == []
    assert serious(audit(page, browser=browser, looks=(look,), first=OPEN)) == []


@pytest.mark.parametrize("kind", ["chat", "agents"])
def test_on_a_phone_the_sides_are_stacked_and_nothing_is_cut(
    kind: str, request: pytest.FixtureRequest, browser: Browser
) -> None:
    browser.open(request.getfixturevalue(kind), Look(width=PHONE))
    assert browser.run("document.documentElement.scrollWidth") <= PHONE
    browser.run(OPEN)
    boxes = browser.run("[...document.querySelectorAll('.side')].map((one) => one.getBoundingClientRect().left)")
    assert len(set(boxes)) == 1
    assert browser.run("(({scrollWidth, clientWidth}) => scrollWidth <= clientWidth)(document.querySelector('dialog'))")


def test_rows_are_printed_and_without_scripts_there_is_a_table(chat: Path, browser: Browser) -> None:
    browser.open(chat, Look(media="print"))
    assert browser.run("document.querySelector('#pairs').getClientRects().length") == 1
    browser.open(chat, Look(script=False))
    assert "helped" in browser.run("document.querySelector('noscript').textContent")
    assert browser.run("document.getElementById('heads').getClientRects().length") == 0


def test_nothing_of_a_stranger_runs_in_a_pair(chat: Path, agents: Path, browser: Browser) -> None:
    for page in (chat, agents):
        browser.open(page)
        browser.run(OPEN)
        assert HOSTILE in browser.run("document.querySelector('dialog').textContent")
        assert browser.run("document.title") == "tarnctl: upskill report"
        assert browser.run("document.querySelectorAll('img').length") == 0
        assert browser.complaints() == []
