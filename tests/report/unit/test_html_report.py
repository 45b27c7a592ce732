"""The page of a run: whole, closed to the world, and the same for every kind of result."""

import base64
import hashlib
import json
import re
import time
from dataclasses import replace

import pytest

from report.unit.evaluations import CASE_STATES, report
from report.unit.pages import EVALUATIONS, FACTS, Parsed, errored, evaluation, page, scored
from upskill.core.nouns import Student
from upskill.report.html import report_page
from upskill.report.html.changed import room_for

HOSTILE = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&<!--]]><svg onload=alert(3)>\u202e\x00\ud800"
)


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_kind_of_result_has_a_page_that_loads_nothing(name: str) -> None:
    parsed = Parsed(page(EVALUATIONS[name], trials=[scored(), errored(repeat=2)]))
    assert not [attributes for _, attributes in parsed.elements if "src" in attributes]
    assert {(link.get("href") or "")[:6] for link in parsed.named("a")} <= {"#word-"}, "words that the page explains"
    assert not parsed.named("link")
    assert not parsed.named("iframe")
    for student in EVALUATIONS[name].students:
        assert student.student.name in parsed.text


def test_the_answer_comes_first_and_what_is_folded_last() -> None:
    result = evaluation(case_states=CASE_STATES, notes=("the last word",))
    text = Parsed(page(result, trials=[scored()])).text
    order = ["helps", "Next: ", "What changed", "Cost", "Cases", "Method", "Settings"]
    places = [text.index(f"{title}") for title in order[:1]] + [text.index(f"\n{title}") for title in order[1:]]
    assert places == sorted(places)
    assert text.index("the last word") > places[-1]


def test_a_generate_that_measured_nothing_has_a_page() -> None:
    parsed = Parsed(report_page(None, FACTS))
    assert "Nothing was measured." in parsed.text
    assert "Method" not in parsed.text


def test_scripts_that_answered_in_place_of_models_are_named_in_the_first_line() -> None:
    scripted = report(student=Student(name="demo", model="scripted/demo.yaml", price=None))
    assert "scripted demo" in Parsed(page(evaluation(scripted))).text
    assert "scripted demo" not in Parsed(page()).text


def test_the_first_line_has_the_day_as_people_write_it_and_the_cost() -> None:
    paid = replace(evaluation().bought, cost=0.42)
    line = Parsed(page(evaluation(bought=paid))).text.split("helps")[0]
    assert "15 Nov 2026" in line
    assert "$0.42" in line
    assert "price unknown" in Parsed(page()).text
    assert "unknown spent" not in Parsed(page()).text
    assert "yesterday" in Parsed(page(facts=replace(FACTS, started_at="yesterday"))).text


def test_no_verdict_names_the_command_that_mends_it_before_the_picture() -> None:
    text = page(EVALUATIONS["invalid"])
    assert text.index("upskill eval --resume") < text.index('class="dumbbell wide"')


def test_only_our_own_style_and_script_may_run() -> None:
    text = page(trials=[scored()])
    parsed = Parsed(text)
    assert parsed.policy["default-src"] == "'none'"
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    (script,) = [content for attributes, content in parsed.scripts if "type" not in attributes]
    for part, content in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert parsed.policy[part] == f"'sha256-{digest}'"
    assert not [attributes for _, attributes in parsed.elements if any(key.startswith("on") for key in attributes)]
    assert not [attributes for _, attributes in parsed.elements if "style" in attributes]


def test_hostile_text_anywhere_stays_text() -> None:
    student = report(HOSTILE, sentence=HOSTILE)
    skill = replace(evaluation().skill, name=HOSTILE, description=HOSTILE)
    states = tuple(replace(state, reasons=(replace(CASE_STATES[0].reasons[0], saw=HOSTILE),)) for state in CASE_STATES)
    result = evaluation(student, skill=skill, notes=(HOSTILE,), case_states=states)
    trial = replace(
        scored(student=HOSTILE, case=HOSTILE, answer=HOSTILE, saw=HOSTILE),
        files={HOSTILE: HOSTILE.encode("utf-8", "replace")},
    )
    trials = [trial, errored(student=HOSTILE, case=HOSTILE, repeat=2, message=HOSTILE)]
    facts = replace(FACTS, folder=HOSTILE, problems=(HOSTILE,), settings=((HOSTILE, HOSTILE, HOSTILE),))
    kind = Parsed(page(trials=[scored()]))
    parsed = Parsed(page(result, trials=trials, prompts={HOSTILE: HOSTILE}, facts=facts))
    assert not parsed.named("img")
    assert len(parsed.scripts) == len(kind.scripts)
    assert not [attributes for _, attributes in parsed.elements if any(key.startswith("on") for key in attributes)]
    for char in ("\u202e", "\x00", "\ud800"):
        assert char not in page(result, trials=trials, prompts={HOSTILE: HOSTILE}, facts=facts)
    data = json.loads(parsed.scripts[0][1])
    assert any("<img src=x" in str(text) for text in data["texts"])


def test_a_page_of_two_thousand_long_answers_is_under_three_megabytes() -> None:
    cases = {
        f"case-{number}": f"{number} " + 'Which file holds the port? ü "quoted" <b>\n' * 8 for number in range(200)
    }
    trials = [
        scored(
            case=case, arm=arm, repeat=repeat, answer=f"{case}/{arm}/{repeat} " + 'words & "quotes" <b> ü 語\n' * 200
        )
        for case in cases
        for arm in ("baseline", "with_skill")
        for repeat in range(1, 6)
    ]
    result = evaluation(cases=200, repeats=5, planned=2000)
    text = page(result, trials=trials, prompts=dict(cases))
    assert len(text.encode()) < 3_000_000
    assert room_for(2000) < 2_000_000


def test_a_run_that_was_cut_short_says_so_first() -> None:
    text = Parsed(page(replace(EVALUATIONS["interrupted"]))).text
    assert text.index("did not finish") < text.index("haiku")


@pytest.mark.parametrize(
    ("changes", "plan"),
    [
        ({"repeats": 1}, "each case once, without the skill and with the skill"),
        ({"repeats": 3}, "3 repeats of every case, without the skill and with the skill"),
        (
            {"repeats": 3, "design": "two looks"},
            "every case once, without the skill and with the skill, and up to 3 repeats if the first look does not "
            "decide",
        ),
        (
            {"repeats": 8, "design": "gate"},
            "every case twice, without the skill and with the skill (once at temperature 0), up to 8 repeats where it "
            "looks broken",
        ),
    ],
)
def test_the_plan_of_a_run_is_said_in_plain_words(changes: dict[str, object], plan: str) -> None:
    assert plan in Parsed(page(evaluation(**changes))).text


def test_the_command_that_shows_the_logs_says_from_where_it_works() -> None:
    facts = replace(FACTS, logs="'my runs/one/logs'", logs_from="from here")
    assert "from here: inspect view --log-dir 'my runs/one/logs'" in Parsed(page(facts=facts)).text
    assert "inspect view" not in Parsed(page()).text


def test_the_method_says_that_the_interval_does_not_include_the_errors_of_a_judge() -> None:
    agrees = (
        "opus, 36 answers; agrees with the other checks in 27 of 30 (90%); the interval does not include its errors"
    )
    assert agrees in Parsed(page(EVALUATIONS["judged"])).text
    alone = "opus, 36 answers; no answer had other checks to compare it with"
    assert alone in Parsed(page(EVALUATIONS["judged, agreement unknown"])).text


def test_a_page_of_eighteen_answers_costs_less_than_half_a_second() -> None:
    trials = [
        scored(case=f"c{number}", arm=arm, answer=f"Port {number}.")
        for number in range(9)
        for arm in ("baseline", "with_skill")
    ]
    began = time.process_time()
    page(evaluation(), trials=trials, prompts={f"c{number}": "Which port?" for number in range(9)})
    assert time.process_time() - began < 0.5
