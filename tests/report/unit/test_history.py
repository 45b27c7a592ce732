"""One skill over its versions: what happened is said first, and every version is a row of the same dumbbell."""

from dataclasses import replace

from report.unit.evaluations import report
from report.unit.glance.results import LOST, student
from upskill.core.nouns import StudentReport
from upskill.report.html import history_page
from upskill.report.side_by_side import Version, history

CASES = "abcdefghijkl"
"""A letter for each of 12 cases."""


def version(digest: str, after: float, *, day: str = "2026-11-15", cases: str = CASES, name: str = "haiku") -> Version:
    measured = student(name, 0.2, after, "helps", (0.1, 0.9))
    return of(measured, digest, day=day, cases=cases)


def of(measured: StudentReport, digest: str, *, day: str = "2026-11-15", cases: str = CASES) -> Version:
    return Version(day=day, digest=digest * 64, run=f"run-{digest}", cases=frozenset(cases), report=measured)


def test_the_first_line_says_what_happened_over_the_versions() -> None:
    found = history("tarnctl", [version("a", 0.4), version("b", 0.5), version("c", 0.87, day="2026-11-16")])
    assert found is not None
    assert found.sentences[0] == "tarnctl on haiku: lift from +20 to +67 points over 3 versions; the newest: helps."
    assert found.sentences[1].startswith(
        "All versions were measured on the same 12 cases. The versions were not tested"
    )
    assert [row.name for row in found.models[0].rows] == ["2026-11-15 aaaaaa", "2026-11-15 bbbbbb", "2026-11-16 cccccc"]


def test_the_cases_that_were_asked_are_counted() -> None:
    one, other = version("a", 0.4), version("b", 0.5)
    (lift,) = other.report.lifts
    fewer = replace(other, report=replace(other.report, lifts=(replace(lift, cases=1),)))
    found = history("tarnctl", [replace(one, report=replace(one.report, lifts=(replace(lift, cases=2),))), fewer])
    assert found is not None
    assert found.sentences[1].startswith("All versions were measured on 1 to 2 of the same 12 cases.")


def test_two_versions_can_be_tested_by_one_command() -> None:
    found = history("tarnctl", [version("a", 0.4), version("b", 0.5)])
    assert found is not None
    assert found.next_step is not None
    assert found.next_step.command == "upskill eval SKILL -m haiku --compare previous:OLD_VERSION"
    assert found.next_step.command in history_page(found)
    alone = history("tarnctl", [version("a", 0.4)])
    assert alone is not None
    assert alone.next_step is None


def test_of_each_version_the_latest_run_counts() -> None:
    found = history("tarnctl", [version("a", 0.4), version("b", 0.6), version("a", 0.9)])
    assert found is not None
    assert [row.after for row in found.models[0].rows] == [0.9, 0.6]
    assert history("tarnctl", []) is None


def test_changed_cases_are_said() -> None:
    found = history("tarnctl", [version("a", 0.4), version("b", 0.6, cases="34")])
    assert found is not None
    assert "The cases changed between versions" in found.sentences[1]


def test_several_models_have_a_picture_each() -> None:
    found = history("tarnctl", [version("a", 0.4), version("a", 0.6, name="kimi"), version("b", 0.6)])
    assert found is not None
    assert found.sentences[0] == "tarnctl, 2 versions on 2 models. Newest version per model: 2 helps."
    assert [len(model.rows) for model in found.models] == [2, 1]


def test_a_newest_version_without_a_verdict_says_so() -> None:
    found = history("tarnctl", [version("a", 0.4, name="lost"), of(LOST, "b")])
    assert found is not None
    assert found.sentences[0] == "tarnctl on lost: 2 versions, the newest has no verdict."


def test_the_page_has_the_answer_the_pictures_and_the_figures_as_a_table() -> None:
    hostile = "<b>x</b>"
    found = history(hostile, [version("a", 0.4, name=hostile), of(report("kimi"), "b")])
    assert found is not None
    page = history_page(found)
    assert hostile not in page
    assert page.count('class="dumbbell wide"') == 2
    assert "20% → 40%" in page
    assert "run-a" in page
    assert "<script" not in page
