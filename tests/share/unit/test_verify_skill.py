"""`verify_skill` says exactly which results still hold after an edit, and why the others do not."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from measured_runs import HAIKU, measured_run
from upskill.core.nouns import Student
from upskill.core.skills.skills import read_skill
from upskill.share.card import write_evidence
from upskill.share.evidence import EvidenceInvalid
from upskill.share.gather import gather
from upskill.share.verify import EvidenceState, NoEvidence, verification_json, verification_lines, verify_skill

BODY = "The port is 7413, as `scripts/port.sh` says.\n"
AGENT = Student(name="in-codex", model="openai/gpt")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A skill with evidence of a model that was given its text and of one that had its files."""
    here = tmp_path_factory.mktemp("measured")
    folder = here / "port"
    (folder / "scripts").mkdir(parents=True)
    (folder / "SKILL.md").write_text(f"---\nname: port\ndescription: Knows it.\n---\n{BODY}")
    (folder / "scripts" / "port.sh").write_text("#!/bin/sh\necho 7413\n")
    (folder / "notes.md").write_text("One.\nTwo.\n")
    asked = [{"id": f"c{n}", "input": f"Question {n}?", "expected": {"contains": "7413"}} for n in range(12)]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    always, never = [True] * 12, [False] * 12
    measured_run(here / "runs", "r1", folder, passed=always, passed_without=never, student=HAIKU)
    measured_run(
        here / "runs",
        "r2",
        folder,
        passed=always,
        passed_without=never,
        student=AGENT,
        arms=("baseline", "offered", "with_skill"),
        harness="codex/1",
    )
    before = read_skill(folder).digest
    write_evidence(folder, gather(folder, runs_dir=here / "runs", ledger=None).evidence)
    assert read_skill(folder).digest == before
    return folder


@pytest.fixture
def skill(measured: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(measured, tmp_path / "port"))


def held(state: EvidenceState) -> dict[str, bool]:
    return {one.result.model: one.holds for one in state.results}


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_nothing_changed_is_said_to_be_unchanged(skill: Path) -> None:
    state = verify_skill(skill)
    assert state.holds
    assert verification_lines(state)[0] == "port: unchanged: all 2 results still hold"
    assert "cases: the same" in verification_lines(state)
    assert "card: the same" in verification_lines(state)


def test_the_file_skill_md_names_its_folder(skill: Path) -> None:
    assert verify_skill(skill / "SKILL.md").holds


def test_a_comma_in_the_body_ends_every_result(skill: Path) -> None:
    edit(skill / "SKILL.md", "The port is 7413, as", "The port is 7413 as")
    state = verify_skill(skill)
    assert not state.holds
    assert held(state) == {"haiku": False, "in-codex": False}
    lines = verification_lines(state)
    assert lines[0] == "port: changed: 0 of 2 results still hold"
    assert lines[1] == "changed since it was measured: SKILL.md (its name or body)"
    assert lines[2].startswith("no longer holds: haiku, chat: helps: +100 points")
    assert lines[2].endswith("; the model was given the name and body of SKILL.md, and these changed")
    assert lines[3].endswith("; the model had all files of the skill, and some changed")


def test_another_description_ends_only_results_of_models_that_see_it(skill: Path) -> None:
    edit(skill / "SKILL.md", "Knows it.", "Use when asked for the port.")
    state = verify_skill(skill)
    assert not state.holds
    assert held(state) == {"haiku": True, "in-codex": False}
    lines = verification_lines(state)
    assert lines[0] == "port: changed: 1 of 2 results still holds"
    assert lines[1] == "changed since it was measured: SKILL.md (only above its body: the description, …)"
    assert lines[2].endswith("; it rests on the name and body of SKILL.md, which are the same")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            lambda folder: edit(folder / "scripts/port.sh", "7413", "7414"),
            "changed since it was measured: scripts/port.sh",
        ),
        (lambda folder: (folder / "notes.md").unlink(), "removed since it was measured: notes.md"),
        (lambda folder: (folder / "new.md").write_text("x"), "added since it was measured: new.md"),
    ],
)
def test_another_file_ends_only_results_of_models_with_tools(
    skill: Path, change: Callable[[Path], object], line: str
) -> None:
    change(skill)
    state = verify_skill(skill)
    assert not state.holds
    assert held(state) == {"haiku": True, "in-codex": False}
    assert line in verification_lines(state)


def change_cases(skill: Path, change: Callable[[list[dict[str, object]]], object]) -> None:
    meta = json.loads((skill / "skill_meta.json").read_text())
    change(meta["cases"])
    (skill / "skill_meta.json").write_text(json.dumps(meta))


def test_a_changed_case_is_counted_and_named(skill: Path) -> None:
    change_cases(skill, lambda cases: cases[4].update(input="Another question?"))
    state = verify_skill(skill)
    assert not state.holds
    assert held(state) == {"haiku": False, "in-codex": False}
    reason = "; 1 of 12 cases was changed or removed (here and not measured: c4)"
    assert all(line.endswith(reason) for line in verification_lines(state)[1:3])
    assert verification_json(state)["results"][0]["cases"] == {  # type: ignore[index,call-overload]
        "measured": 12,
        "here": 11,
        "unmeasured": ["c4"],
    }


def test_removed_cases_are_counted(skill: Path) -> None:
    change_cases(skill, lambda cases: cases.__delitem__(slice(0, 2)))
    assert verification_lines(verify_skill(skill))[1].endswith("; 2 of 12 cases were changed or removed")


def test_an_added_case_is_named_and_ends_nothing(skill: Path) -> None:
    change_cases(skill, lambda cases: cases.append({"id": "new", "input": "New?", "expected": {"contains": "7413"}}))
    state = verify_skill(skill)
    assert state.holds
    assert "cases that were not measured: new" in verification_lines(state)


def test_a_new_name_or_another_order_of_cases_changes_nothing(skill: Path) -> None:
    change_cases(skill, lambda cases: cases[0].update(id="renamed"))
    change_cases(skill, list.reverse)
    assert verify_skill(skill).holds


def test_cases_that_are_not_here_are_not_compared_until_they_are_named(skill: Path, tmp_path: Path) -> None:
    meta = tmp_path / "cases.json"
    (skill / "skill_meta.json").rename(meta)
    state = verify_skill(skill)
    assert state.holds
    assert any(line.startswith("cases: not here, so they were not compared") for line in verification_lines(state))
    assert "cases: the same" in verification_lines(verify_skill(skill, case_file=meta))
    edit(meta, "Question 3?", "Question three?")
    state = verify_skill(skill, case_file=meta)
    assert not state.holds
    assert verification_lines(state)[1].endswith("; 1 of 12 cases was changed or removed (here and not measured: c3)")


def test_a_clone_with_other_line_endings_still_holds_unless_a_program_has_them(skill: Path) -> None:
    for name in ("SKILL.md", "notes.md", "evidence.json", "evidence.md"):
        path = skill / name
        path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    state = verify_skill(skill)
    assert state.holds
    assert "same but for line endings: SKILL.md, notes.md" in verification_lines(state)
    script = skill / "scripts" / "port.sh"
    script.write_bytes(script.read_bytes().replace(b"\n", b"\r\n"))
    state = verify_skill(skill)
    assert held(state) == {"haiku": True, "in-codex": False}
    assert state.files.changed == ("scripts/port.sh",)


def test_an_edited_card_is_named_and_a_missing_one_is_said(skill: Path) -> None:
    edit(skill / "evidence.md", "+100", "+99")
    state = verify_skill(skill)
    assert not state.holds
    assert verification_lines(state)[0] == "port: changed: the card was edited; the results still hold"
    assert any("evidence.md is not what evidence.json says" in line for line in verification_lines(state))
    (skill / "evidence.md").unlink()
    state = verify_skill(skill)
    assert state.holds
    assert "card: evidence.md is not here" in verification_lines(state)


def test_figures_that_contradict_each_other_are_refused(skill: Path) -> None:
    edit(skill / "evidence.json", '"mean": 1.0', '"mean": 0.5')
    with pytest.raises(
        EvidenceInvalid, match=r"results\.0\.report\.lifts\.mean: \+50, which is not the difference of its pass rates"
    ):
        verify_skill(skill)


def test_without_evidence_there_is_nothing_to_verify(skill: Path) -> None:
    (skill / "evidence.json").unlink()
    with pytest.raises(NoEvidence, match="nothing to verify"):
        verify_skill(skill)


def test_a_signature_that_somebody_put_beside_the_evidence_changes_nothing(skill: Path) -> None:
    before = verification_lines(verify_skill(skill))
    (skill / "evidence.json.sigstore.json").write_text("{}")
    state = verify_skill(skill)
    assert state.holds
    assert verification_lines(state) == before
    assert before[-1].startswith("not proven: that the figures are true")


def test_a_card_in_the_words_of_another_version_is_not_called_edited(skill: Path) -> None:
    edit(skill / "evidence.json", '"card_format": 2', '"card_format": 99')
    (skill / "evidence.md").write_text("# Another card\n")
    state = verify_skill(skill)
    assert state.holds
    assert any("so it was not compared" in line for line in verification_lines(state))
