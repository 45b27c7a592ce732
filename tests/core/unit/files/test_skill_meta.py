"""What is known of a skill is written beside its cases, and what others wrote there stays."""

import json
from pathlib import Path

import pytest

from upskill.core.cases.skill_meta import (
    HeldOutUse,
    MeasuredLift,
    Provenance,
    SkillMeta,
    note_use,
    read_meta,
    write_meta,
)
from upskill.core.nouns import Case, Check
from upskill.errors import SkillInvalid

CASE = Case(id="a", prompt="Which port?", checks=(Check(kind="contains", spec="7413"),), use="held-out")
META = SkillMeta(
    status="helps",
    provenance=Provenance(task="ports", teacher="opus", teacher_model="anthropic/claude", cost=None, run="r1"),
    measured=(MeasuredLift(model="haiku", resolved="x/haiku", status="helps", sentence="helps", mean=0.5),),
    held_out_uses=(HeldOutUse(cases=("d1", "d2"), run="r1", at="now"),),
)


def test_what_is_written_is_read_back_and_keys_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / "skill_meta.json").write_text('{"owner": "ada", "status": "old", "cases": [], "tests": []}')
    write_meta(tmp_path, META, [CASE])
    assert read_meta(tmp_path) == META
    value = json.loads((tmp_path / "skill_meta.json").read_text())
    assert value["owner"] == "ada"
    assert value["provenance"]["cost"] is None, "an unknown price is not free"
    assert [case["use"] for case in value["cases"]] == ["held-out"]
    assert "tests" not in value


@pytest.mark.parametrize("text", [None, "[]", '{"cases": []}', '{"status": "of another tool", "provenance": 3}'])
def test_a_file_of_nobody_or_of_another_tool_says_nothing(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "skill_meta.json").write_text(text)
    assert read_meta(tmp_path) == SkillMeta()


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "skill_meta.json").write_text('{"format": "upskill.skill/1", "measured": 3}')
    with pytest.raises(SkillInvalid, match=r"skill_meta\.json"):
        read_meta(tmp_path)


def test_a_use_is_noted_once_per_run_and_changes_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "skill_meta.json"
    path.write_text('{"owner": "ada", "cases": [{"input": "x", "expected": {"contains": "y"}}]}')
    before = json.loads(path.read_text())
    for run in ("r1", "r1", "r2"):
        note_use(tmp_path, HeldOutUse(cases=("d",), run=run))
    after = json.loads(path.read_text())
    assert [use["run"] for use in after.pop("held_out_uses")] == ["r1", "r2"]
    assert after.pop("format") == "upskill.skill/1"
    assert after == before


def test_half_a_character_of_another_tool_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "skill_meta.json").write_text('{"owner": "half \\ud83d", "name": "\u00e4"}', encoding="utf-8")
    write_meta(tmp_path, META, [CASE])
    value = json.loads((tmp_path / "skill_meta.json").read_text(encoding="utf-8"))
    assert (value["owner"], value["name"]) == ("half \ud83d", "\u00e4")
    assert read_meta(tmp_path) == META
