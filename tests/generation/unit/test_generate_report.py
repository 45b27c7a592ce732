"""The report of a `generate` from its run folder: its story, and what a damaged or hostile folder does to it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commented_runs import make_run, make_skill
from upskill.core.nouns import Case, Check, Purchase
from upskill.core.nouns.finding import Finding
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError
from upskill.generation.draft import Draft
from upskill.generation.files import (
    RefiningRecord,
    TeachingEnd,
    TeachingFolder,
    TeachingRecord,
    create_teaching_run,
    read_teaching_run,
)
from upskill.generation.gathering import material_record
from upskill.generation.generated import AttemptSummary, FailedAnswer, StudentScore
from upskill.generation.material import Document, Material
from upskill.generation.story import GenerateReport, check_words, keep_generate_report, read_generate_report
from upskill.report.html.figures import Spent

SPENT = Purchase(calls=3, failed_calls=0, tokens=900, cost=0.5)
RECORD = TeachingRecord(
    status="finished",
    started_at="2026-11-15T12:00:00+00:00",
    versions={"upskill": "0.1.0"},
    order={"task": "read gauges", "sources": ["notes.md", "skills/quarn"]},
    teacher="anthropic/opus",
    case_writer="openai/writer",
    students=("scripted/students/small.yaml",),
    dropped=("c9 asks the same as c1",),
)
DECISION = "The old version stays: the revision was not shown to be better."
RESULTS: dict[str, Any] = {
    "saved": None,
    "revision": True,
    "sentence": "the old version stays",
    "decision": DECISION,
    "teacher": "opus",
    "spent": {"teacher": {"calls": 3, "failed_calls": 0, "tokens": 900, "cost": 0.5}},
    "notes": ["dropped: c9 asks the same as c1", "a note"],
}
HELD_OUT_PROMPT = "What nobody may read in the story"


def _case(name: str, use: Any, prompt: str) -> Case:
    return Case(id=name, prompt=prompt, checks=(Check(kind="contains", spec="x"),), use=use)


def _draft(body: str) -> Draft:
    return Draft(name="quarn", description="Facts about quarn.", body=body)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TeachingFolder:
    """A revision that was tried and not saved."""
    monkeypatch.chdir(tmp_path)
    folder = create_teaching_run(tmp_path / "runs", about="quarn")
    old = folder.path / "previous" / "quarn"
    old.mkdir(parents=True)
    (old / "SKILL.md").write_text("---\nname: quarn\ndescription: Facts about quarn.\n---\n# Facts\n\nOld.\n")
    new = folder.keep_draft(_draft("# Facts\n\nNew.\n"))
    failed = FailedAnswer(case_id="c1", student=RECORD.students[0], prompt="Port?", answer="No.", saw=("FAILED",))
    score = StudentScore(student=RECORD.students[0], passed=1, of=2)
    first = AttemptSummary(number=1, passed=1, of=2, draft="previous/quarn", failures=(failed,), by_student=(score,))
    second = AttemptSummary(
        number=2,
        passed=2,
        of=2,
        revises=1,
        chosen=True,
        draft=new.relative_to(folder.path).as_posix(),
        edits=("replace in SKILL.md",),
    )
    folder.write_attempts(RefiningRecord(attempts=(first, second), stopped="every practice case passes"))
    cases = (_case("c1", "learn", "Port?"), _case("c2", "learn", "Log?"), _case("h1", "held-out", HELD_OUT_PROMPT))
    folder.write_cases(cases)
    material = Material(
        task="read gauges",
        documents=(Document(name="notes.md", text="x" * 80),),
        sources=("notes.md", "skills/quarn"),
        redacted=2,
    )
    folder.save("material.json", material_record(material))
    folder.write_record(replace(RECORD, results=RESULTS))
    return folder


def _made_anew(folder: TeachingFolder, **changes: Any) -> GenerateReport:
    folder.write_record(replace(read_teaching_run(folder.path), **changes))
    return read_generate_report(folder.path)


def test_what_a_check_saw_is_said_in_words() -> None:
    assert check_words("FAILED contains: not found: '7413'") == "Check failed: the answer does not contain '7413'"
    assert check_words("FAILED command: exit code 1") == "Check failed (command): exit code 1"
    assert check_words("passed contains: found '7413'") == "Check passed: found '7413'"
    assert check_words("the answer was cut at 90 tokens") == "the answer was cut at 90 tokens"


def test_the_story_is_read_from_the_folder(folder: TeachingFolder) -> None:
    report = read_generate_report(folder.path)
    story = report.story
    assert (story.task, story.decision, story.outcome, story.teacher) == ("read gauges", DECISION, "stays", "opus")
    assert [(one.kind, one.name) for one in story.material] == [("document", "notes.md"), ("skill", "quarn")]
    assert (story.redacted, story.case_writer) == (2, "openai/writer")
    assert story.cases is not None
    assert (story.cases.learn, story.cases.held_out, story.cases.dropped) == (2, 1, RECORD.dropped)
    assert [one.share for one in story.attempts] == ["1/2", "2/2"]
    assert story.stopped == "every practice case passes"
    assert story.notes == ("a note",), "what was dropped stands beside the cases"
    assert story.spent == (Spent(part="Teacher", calls=3, tokens=900, cost=0.5),)
    assert story.problems == ()


def test_an_attempt_has_its_failures_and_the_diff_against_the_one_it_revises(folder: TeachingFolder) -> None:
    first, second = read_generate_report(folder.path).story.attempts
    assert first.is_old
    assert first.summary.failures[0].student == "small", "the name of a script is short"
    assert second.change is not None
    lines = [(line.mark, line.text) for line in second.change.lines]
    assert ("removed", "-Old.") in lines
    assert ("added", "+New.") in lines
    assert not any("description" in text for _, text in lines), "only what was changed"


def test_the_page_of_an_old_version_that_stays_shows_its_text_and_no_held_out_case(folder: TeachingFolder) -> None:
    page = read_generate_report(folder.path).page()
    assert DECISION in page
    assert "Old." in page
    assert "The old version, which was kept." in page
    assert HELD_OUT_PROMPT not in page
    assert str(folder.path.parent.parent) not in page, "no path of this machine"


def test_a_saved_version_is_the_draft_with_the_digest_of_the_results(folder: TeachingFolder) -> None:
    later = folder.keep_draft(_draft("# Facts\n\nLater.\n"))
    digest = read_skill(folder.path / "drafts" / "1" / "quarn").digest
    saved = {**RESULTS, "saved": "./skills/quarn", "skill": {"name": "quarn", "digest": digest}}
    report = _made_anew(folder, results=saved)
    assert report.skill is not None
    assert report.skill.text is not None
    assert "New." in report.skill.text
    assert later.parent.name == "2"
    assert report.story.next_step is not None
    assert report.story.next_step.command == "upskill eval ./skills/quarn -m MODEL"


def _end(reason: str) -> TeachingEnd:
    return TeachingEnd(reason=reason, teacher=SPENT, students=replace(SPENT, calls=0))


DANGER = Finding(rule="r", severity="danger", file="SKILL.md", line=1, excerpt="x", reason="y", remedy="z")


@pytest.mark.parametrize(
    ("changes", "decision", "command"),
    [
        (
            {"status": "failed", "stage": "aptitude", "end": _end("no skill can be expected to help")},
            "Nothing was saved: no skill can be expected to help.",
            "UPSKILL_ANYWAY=true",
        ),
        (
            {"status": "failed", "findings": (DANGER,), "end": _end("quarn: not saved")},
            "Nothing was saved: the draft has 1 dangerous finding that was not accepted.",
            "--accept-findings",
        ),
        ({"status": "interrupted", "end": _end("interrupted")}, "Nothing was saved yet: interrupted.", "--resume"),
        (
            {"status": "running", "stage": "cases"},
            "Nothing was saved yet: the run is still working or was killed after the stage “cases”.",
            "--resume",
        ),
    ],
)
def test_a_run_without_a_result_says_why_and_how_to_go_on(
    folder: TeachingFolder, changes: dict[str, Any], decision: str, command: str
) -> None:
    report = _made_anew(folder, results=None, **changes)
    assert (report.story.outcome, report.story.decision) == ("nothing", decision)
    assert report.story.next_step is not None
    typed = report.story.next_step.command.removeprefix("UPSKILL_ANYWAY=true ")
    assert typed.startswith("upskill generate --resume runs/")
    assert command in report.story.next_step.command
    assert decision in report.page()


@pytest.mark.parametrize("damage", [b"", b"{", b"[1]", b"\xff\xfe", b'{"attempts": 1, "cases": 1, "task": 1}'])
@pytest.mark.parametrize("name", ["attempts.json", "cases.json", "material.json", "aptitude.json"])
def test_a_damaged_file_is_named_and_left_out(folder: TeachingFolder, name: str, damage: bytes) -> None:
    (folder.path / name).write_bytes(damage)
    report = read_generate_report(folder.path)
    assert [line for line in report.story.problems if line.startswith(f"{name} could not be read")]
    assert DECISION in report.page()


def test_damaged_results_are_not_taken_for_a_decision(folder: TeachingFolder) -> None:
    report = _made_anew(folder, results={"decision": 7, "notes": "x"})
    assert report.story.decision == "The decision of this run cannot be read."
    assert report.story.problems


@pytest.mark.parametrize("draft", ["../../secret", "/etc", "drafts/9/linked", "drafts/../../../secret"])
def test_no_recorded_path_is_followed_out_of_the_folder(folder: TeachingFolder, draft: str) -> None:
    secret = folder.path.parent.parent / "secret"
    secret.mkdir()
    (secret / "SKILL.md").write_text("---\nname: secret\ndescription: d\n---\nThe secret of the owner.\n")
    (folder.path / "drafts" / "9").mkdir()
    (folder.path / "drafts" / "9" / "linked").symlink_to(secret)
    first = AttemptSummary(number=1, passed=1, of=1, draft="previous/quarn")
    folder.write_attempts(
        RefiningRecord(attempts=(first, replace(first, number=2, revises=1, chosen=True, draft=draft)))
    )
    saved = {**RESULTS, "saved": "x", "skill": {"digest": read_skill(secret).digest}}
    for results in (RESULTS, saved, None):
        report = _made_anew(folder, results=results)
        assert "The secret of the owner" not in report.page()
        assert report.story.problems


def test_links_in_the_place_of_files_are_not_followed(folder: TeachingFolder) -> None:
    elsewhere = folder.path.parent.parent / "elsewhere.json"
    elsewhere.write_text(json.dumps({"cases": [{"input": "theirs", "expected": {"contains": "x"}, "use": "learn"}]}))
    (folder.path / "cases.json").unlink()
    (folder.path / "cases.json").symlink_to(elsewhere)
    story = read_generate_report(folder.path).story
    assert story.cases is None
    assert "a link" in story.problems[0]
    stage = folder.path.parent.parent / "stage"
    stage.mkdir()
    (stage / "run.json").write_text("{}")
    (folder.path / "trials").mkdir()
    (folder.path / "trials" / "held-out").symlink_to(stage)
    assert (
        "trials/held-out is outside the run folder and was not read" in read_generate_report(folder.path).story.problems
    )


def test_many_attempts_are_cut_and_the_chosen_one_stays(folder: TeachingFolder) -> None:
    one = AttemptSummary(number=1, passed=1, of=1)
    many = tuple(replace(one, number=number, chosen=number == 90) for number in range(1, 101))
    folder.write_attempts(RefiningRecord(attempts=many))
    story = read_generate_report(folder.path).story
    assert len(story.attempts) == 40
    assert story.attempts[-1].summary.chosen
    assert "60 of 100 attempts are not shown" in story.problems


def test_the_wanted_pass_rate_reaches_the_held_out_test(folder: TeachingFolder) -> None:
    here = folder.path.parent.parent
    make_run(here, make_skill(here), name=f"{folder.path.name}/trials/held-out")
    assert "a pass rate of 99%" in read_generate_report(folder.path, enough=0.99).page()
    assert "a pass rate of 80%" in read_generate_report(folder.path).page()


def test_a_page_that_cannot_be_made_is_a_note(folder: TeachingFolder) -> None:
    assert keep_generate_report(folder.path) is None
    assert (folder.path / "report.html").is_file()
    (folder.path / "generate.json").write_text("{")
    problem = keep_generate_report(folder.path)
    assert problem is not None
    assert problem.startswith("report.html could not be written (EngineError: ")
    with pytest.raises(EngineError):
        read_generate_report(folder.path)
