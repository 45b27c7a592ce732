"""The page of a sweep: what needs a person comes first, and what changed since the report before is said."""

import json
import re
from pathlib import Path

import pytest

from upskill.core.nouns import Skill
from upskill.sweep.page import MOST_SKILLS, alerts_json, changes_since, history_line, read_history, sweep_page
from upskill.sweep.skills import owner_of
from upskill.sweep.table import AboutSkill, RowState, SweepTable, TableRow
from upskill.sweep.values import JobSpending

MODELS = ("haiku", "corp-4b")


def row(skill: str, model: str, state: RowState, lift: float | None = 0.3) -> TableRow:
    low, high = (None, None) if lift is None else (lift - 0.2, lift + 0.2)
    return TableRow(skill=skill, name=skill, version="v", model=model, state=state, lift=lift, low=low, high=high)


def table(*rows: TableRow, owner: str = "") -> SweepTable:
    return SweepTable(
        rows=rows,
        skills=len({one.skill for one in rows}),
        models=MODELS,
        evaluations=len(rows),
        evaluations_done=len(rows),
        charged=JobSpending(calls=40, tokens=900, cost=None),
        charged_for_confirmations=JobSpending(),
        confirms=True,
        about={one.skill: AboutSkill(owner=owner, charged=JobSpending(calls=4, cost=0.12)) for one in rows},
    )


BEFORE = table(row("a", "haiku", "confirmed"), row("b", "haiku", "undecided", 0.0), row("b", "corp-4b", "hurts", -0.3))
NOW = table(
    row("a", "haiku", "undecided", 0.05),
    row("b", "haiku", "confirmed"),
    row("b", "corp-4b", "hurts", -0.4),
    row("c", "haiku", "invalid", None),
    owner="@team",
)


def text_of(page: str) -> str:
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL).split())


def test_the_worst_comes_first_and_changes_are_said() -> None:
    past = read_history(history_line(BEFORE, at="2026-11-17"))
    shown = text_of(sweep_page(NOW, past=past, problems=["x contradicts itself"], at="2026-11-18", place="a sweep"))
    assert "1 of 4 results help, 1 hurts; 1 no longer shown to help" in shown
    assert "Look first at a on haiku: undecided now; before: helps (shown twice)." in shown
    said = [
        "x contradicts itself",
        "a on haiku: undecided now; before: helps (shown twice)",
        "b on corp-4b: hurts, −40 points (95% CI −60 to −20)",
        "c on haiku: no verdict",
        "Models",
        "b on haiku: helps (shown twice) now; before: undecided",
        "2026-11-17",
    ]
    below = shown[shown.index("results would seem to.") :]
    assert [below.index(words) for words in said] == sorted(below.index(words) for words in said)
    assert "upskill sweep run" not in shown, "nothing is left to be run"
    assert "@team" in shown
    assert "$0.12" in shown
    matrix = shown[shown.index("report before.") :]
    assert matrix.index(" a ") < matrix.index(" b "), "what became worse is the first row"


def test_alerts_name_what_became_worse_and_are_silent_about_the_rest() -> None:
    past = read_history(history_line(BEFORE, at="2026-11-17"))
    alert = json.loads(alerts_json(NOW, changes_since(NOW, past), []))
    assert alert["worse"] == [{"skill": "a", "model": "haiku", "before": "confirmed", "now": "undecided"}]
    assert alert["text"].startswith("1 no longer shown to help; 1 hurts, 1 no verdict")
    calm = json.loads(alerts_json(table(row("a", "haiku", "confirmed")), (), []))
    assert (calm["worse"], calm["text"]) == ([], "nothing hurts or lacks a result")


@pytest.mark.parametrize("line", ["", "{", "[]", '{"at": 1}', '{"at": "x", "states": [["a", "b", "evil", 1]]}', "\0"])
def test_a_history_of_a_stranger_is_read_as_far_as_it_can_be(line: str) -> None:
    assert all(not one.states for one in read_history(line))


def test_foreign_text_is_text_and_many_skills_stay_small() -> None:
    evil = "<script>alert(1)</script>"
    rows = [row(f"{evil}{number}", model, "confirmed") for number in range(1_200) for model in MODELS]
    page = sweep_page(table(*rows, owner=evil), past=[], problems=[evil], at="2026-11-18", place="a sweep")
    assert "<script" not in page
    assert f"{1_200 - MOST_SKILLS} more skills are in table.csv" in page
    assert len(page) < 5_000_000


@pytest.mark.parametrize(
    ("codeowners", "owner"),
    [
        ("* @all\n/skills/ @skills\n", "@skills"),
        ("* @all\nskills/other/ @other\n", "@all"),
        ("# nobody\n/skills/port/** @port @second # why\n", "@port @second"),
        ("port @by-name\n", "@by-name"),
        ("/skills/po* @glob\n* \n", ""),
        ("", ""),
    ],
)
def test_the_owner_is_in_the_metadata_or_in_codeowners(codeowners: str, owner: str, tmp_path: Path) -> None:
    folder = tmp_path / "skills" / "port"
    folder.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    (tmp_path / "CODEOWNERS").write_text(codeowners)
    skill = Skill(name="port", description="", body="", digest="")
    assert owner_of(folder, skill) == owner
    named = Skill(name="port", description="", body="", digest="", frontmatter={"metadata": {"owner": "me"}})
    assert owner_of(folder, named) == "me"
