"""Comments on a run: which skill they improve, what a teacher is shown, and that held-out cases stay held out."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from commented_runs import (
    MODEL,
    NUMBERS,
    RUN,
    THINGS,
    case_json,
    cases_of,
    comment,
    make_run,
    make_skill,
    question,
    write_feedback,
)
from upskill.errors import UsageError
from upskill.generation.feedback import AppliedFeedback, apply_feedback
from upskill.generation.order import GenerateOrder

HELD_OUT = dict.fromkeys(THINGS[:8], "held-out")
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _applied(run: Path, *comments: dict[str, Any], retire: Sequence[str] = (), **more: Any) -> AppliedFeedback:
    file = write_feedback(run, *comments)
    found = apply_feedback(
        GenerateOrder(sources=(str(run), *more.pop("others", ())), feedback=str(file), retire=tuple(retire), **more)
    )
    assert found is not None
    return found


def _refused(order: GenerateOrder) -> UsageError:
    with pytest.raises(UsageError) as refused:
        apply_feedback(order)
    return refused.value


def _edit_cases(skill: Path, **changed: dict[str, Any]) -> None:
    path = skill / "skill_meta.json"
    cases = [{**one, **changed.get(one["id"], {})} for one in json.loads(path.read_text())["cases"]]
    path.write_text(json.dumps({"cases": cases}))


def test_the_teacher_is_shown_task_answer_and_note_of_a_case_without_a_use(here: Path) -> None:
    skill = make_skill(here, uses=HELD_OUT)
    found = _applied(make_run(here, skill), comment("mast", "unclear", "Name the part"))
    (one,) = found.comments
    assert (one.prompt, one.answer) == (question("mast"), f"It is {NUMBERS['mast']}.")
    assert (one.subject, one.passed, one.opinion, one.note) == ("the skill", True, "unclear", "Name the part")
    assert found.applied(cases_of(skill)) == cases_of(skill)
    assert found.order.sources == (str(skill.resolve()),)
    assert found.line == f"Improving: ./skills/moor, from 1 comment on {RUN}"
    assert found.notes == ()


def test_a_comment_on_a_held_out_case_goes_nowhere_and_the_way_to_use_it_is_said(here: Path) -> None:
    skill = make_skill(here, uses=HELD_OUT)
    found = _applied(make_run(here, skill), comment("mast"), comment("cable"), comment("davit"))
    assert [one.case_id for one in found.comments] == ["mast"]
    (note,) = found.notes
    added = '"retire": ["cable", "davit"]'
    assert note == f"2 comments are on held-out cases and were not used; to use them, add to the file: {added}"


def test_comments_on_held_out_cases_alone_are_refused_with_what_to_type(here: Path) -> None:
    run = make_run(here, make_skill(here, uses=HELD_OUT))
    file = write_feedback(run, comment("cable"))
    refused = _refused(GenerateOrder(sources=(str(run),), feedback=str(file)))
    assert "none of these comments can be used" in refused.message
    assert 'to use it, add to the file: "retire": ["cable"]' in refused.problems[0]


def test_a_retired_case_is_learned_from_with_its_family_and_the_skill_remembers(here: Path) -> None:
    skill = make_skill(here, uses=HELD_OUT, families={"cable": "rope", "davit": "rope"})
    found = _applied(make_run(here, skill), comment("cable", note="Longer"), retire=["cable"])
    assert [one.case_id for one in found.comments] == ["cable"]
    assert "retired, now practice cases and never held out again: cable, davit" in found.notes
    found.record_retired()
    uses = {case.id: case.use for case in cases_of(skill)}
    assert (uses["cable"], uses["davit"], uses["anchor"], uses["mast"]) == ("learn", "learn", "held-out", None)


@pytest.mark.parametrize(
    ("name", "says"), [("mats", "there is no comment on that case"), ("jetty", "an unrelated case")]
)
def test_only_a_held_out_case_that_was_commented_on_can_be_retired(here: Path, name: str, says: str) -> None:
    run = make_run(here, make_skill(here, uses={**HELD_OUT, "jetty": "negative"}))
    file = write_feedback(run, comment("mast"), comment("jetty"))
    assert says in _refused(GenerateOrder(sources=(str(run),), feedback=str(file), retire=(name,))).message


def test_a_case_that_follows_a_held_out_one_of_its_family_is_held_out_too(here: Path) -> None:
    skill = make_skill(here, uses={"cable": "held-out"}, families={"cable": "rope", "mast": "rope"})
    found = _applied(make_run(here, skill), comment("mast"), comment("keel"))
    assert [one.case_id for one in found.comments] == ["keel"]
    assert '"retire": ["mast"]' in found.notes[0]


def test_a_comment_on_the_baseline_is_about_the_case_and_not_about_the_skill(here: Path) -> None:
    found = _applied(make_run(here, make_skill(here)), comment("mast", "wrong", "Say it", arm="baseline"))
    assert [(one.subject, one.answer) for one in found.comments] == [("no skill", "I am not sure.")]


def test_where_the_person_and_the_checks_disagree_the_check_is_named(here: Path) -> None:
    found = _applied(make_run(here, make_skill(here)), comment("anchor", "right"), comment("mast", "wrong"))
    assert [one.doubts_checks for one in found.comments] == [True, True]
    right, wrong = found.notes
    assert right.startswith("anchor: its checks failed an answer that you call right; add that answer to the case as")
    assert "as `reference`, correct the checks, then run `upskill cases check ./skills/moor`" in right
    assert wrong.startswith("mast: its checks passed an answer that you call wrong")
    assert "as `wrong`" in wrong


def test_a_case_whose_prompt_has_changed_is_not_used_and_is_named(here: Path) -> None:
    skill = make_skill(here)
    run = make_run(here, skill)
    _edit_cases(skill, mast={"input": "Which mast?"})
    found = _applied(run, comment("mast"), comment("keel"))
    assert [one.case_id for one in found.comments] == ["keel"]
    assert found.notes == ("comments not used, since these cases changed or are in another file (-t FILE): mast",)


def test_a_case_whose_checks_were_corrected_is_used_without_what_the_old_checks_said(here: Path) -> None:
    skill = make_skill(here)
    run = make_run(here, skill)
    _edit_cases(skill, mast={"expected": {"contains": "the mast"}})
    (one,) = _applied(run, comment("mast", "wrong")).comments
    assert (one.passed, one.doubts_checks) == (None, False)


def test_secrets_and_invisible_characters_are_taken_out_of_what_a_teacher_is_shown(here: Path) -> None:
    note = f"use {SECRET}\U000e0041\u202e now"
    (one,) = _applied(make_run(here, make_skill(here)), comment("mast", "wrong", note)).comments
    assert SECRET not in one.note
    assert "\U000e0041" not in one.note


def test_comments_on_another_run_another_skill_or_other_answers_are_refused(here: Path) -> None:
    run = make_run(here, make_skill(here))
    order = GenerateOrder(sources=(str(run),), feedback="upskill-feedback.json")

    def said(*comments: dict[str, Any], **more: Any) -> str:
        write_feedback(run, *comments, **more)
        return str(_refused(order))

    assert "these are comments on the run other-run" in said(comment("mast"), run="other-run")
    assert "another version of the skill" in said(comment("mast"), skill={"name": "moor", "digest": "e" * 64})
    assert "comment 1: this run has no case `sail`" in said(comment("sail"))
    assert "comment 2: the case `keel` was different" in said(comment("mast"), comment("keel", case_digest="f" * 64))
    assert "this run has no model `gpt`" in said({**comment("mast"), "model": "gpt"})
    assert f"this run has no answer of {MODEL} to `mast` (with_skill, repeat 2)" in said(
        {**comment("mast"), "repeat": 2}
    )
    assert "this run has no answer" in said(comment("mast", line=1))


def test_feedback_needs_exactly_one_run_and_retire_needs_feedback(here: Path) -> None:
    run = make_run(here, skill := make_skill(here))
    file = str(write_feedback(run, comment("mast")))
    assert "needs the run" in _refused(GenerateOrder(sources=(str(skill),), feedback=file)).message
    assert "`retire` needs comments" in _refused(GenerateOrder(sources=(str(skill),), retire=("mast",))).message
    assert apply_feedback(GenerateOrder(sources=(str(skill),))) is None


def test_a_record_that_names_a_skill_elsewhere_is_not_followed_until_it_is_typed(
    here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere") / "moor"
    run = make_run(here, skill := make_skill(here), skill_source=str(elsewhere))
    shutil.move(skill, elsewhere)
    file = write_feedback(run, comment("mast"))
    refused = _refused(GenerateOrder(sources=(str(run),), feedback=str(file)))
    assert "is outside the working folder" in refused.message
    assert f"--from {run} --from SKILL --feedback" in str(refused.hint)
    found = _applied(run, comment("mast"), others=(str(elsewhere),))
    assert found.order.sources == (str(elsewhere.resolve()),)


def test_a_skill_that_has_changed_since_is_refused(here: Path) -> None:
    run = make_run(here, skill := make_skill(here))
    text = (skill / "SKILL.md").read_text()
    (skill / "SKILL.md").write_text(f"{text}- More\n")
    file = write_feedback(run, comment("mast"))
    assert "is not the version that" in _refused(GenerateOrder(sources=(str(run),), feedback=str(file))).message


def test_comments_on_a_comparison_tell_the_version_in_use_from_the_other(here: Path) -> None:
    skill = make_skill(here)
    run = make_run(here, skill)
    record = json.loads((run / "run.json").read_text())
    record |= {"previous_digest": record["skill_digest"], "skill_digest": "e" * 64, "skill_source": "drafts/moor"}
    (run / "run.json").write_text(json.dumps(record | {"previous_source": "../../skills/moor"}))
    (one,) = _applied(run, comment("mast", "wrong")).comments
    assert one.subject == "another version"


def test_cases_of_another_file_are_found_where_it_is_named(here: Path) -> None:
    run = make_run(here, skill := make_skill(here))
    (here / "own.json").write_text((skill / "skill_meta.json").read_text())
    (skill / "skill_meta.json").write_text(json.dumps({"cases": [case_json("anchor", use="learn")]}))
    file = write_feedback(run, comment("mast"))
    refused = _refused(GenerateOrder(sources=(str(run),), feedback=str(file)))
    assert "are in another file (-t FILE): mast" in refused.problems[0]
    assert len(_applied(run, comment("mast"), case_file="own.json").comments) == 1


@pytest.mark.parametrize("claimed", [{"use": "learn"}, {}])
def test_a_run_cannot_make_a_held_out_case_of_the_skill_one_to_learn_from(here: Path, claimed: dict[str, str]) -> None:
    run = make_run(here, skill := make_skill(here, uses=HELD_OUT))
    kept = [one for one in json.loads((skill / "skill_meta.json").read_text())["cases"] if one["id"] != "mast"]
    (skill / "skill_meta.json").write_text(json.dumps({"cases": kept}))
    other = {**case_json("cable"), "expected": {"contains": "anything"}, "reference": "anything", **claimed}
    (run / "cases.json").write_text(json.dumps({"cases": [case_json("mast", use="learn"), other]}))
    file = write_feedback(run, comment("mast"), comment("cable"))
    refused = _refused(GenerateOrder(sources=(str(run),), feedback=str(file)))
    assert "1 comment is on a held-out case" in refused.problems[0]
