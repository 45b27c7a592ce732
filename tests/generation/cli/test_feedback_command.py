"""`upskill generate --from RUN --feedback FILE`: what is refused before anything is spent, and what survives a stop."""

import json
from pathlib import Path

import pytest

from commented_runs import (
    MODEL,
    NUMBERS,
    THINGS,
    comment,
    make_run,
    make_skill,
    question,
    write_feedback,
    write_scripts,
)
from typed import Upskill

WHO = ("-m", "scripted/teacher.yaml", "--eval-model", MODEL, "--yes")
HELD_OUT = dict.fromkeys(THINGS[:10], "held-out")


@pytest.fixture
def run(here: Path) -> Path:
    """A run of a skill whose first ten cases are held out."""
    write_scripts(here)
    return make_run(here, make_skill(here, uses=HELD_OUT))


def _generates(here: Path) -> list[Path]:
    return sorted((here / "runs").glob("*generate*"))


def test_a_dry_run_says_what_is_improved_and_which_comments_are_left_out(upskill: Upskill, run: Path) -> None:
    file = write_feedback(
        run, comment("mast", "right"), comment("cable"), comment("anchor", "right"), retire=["anchor"]
    )
    done = upskill("generate", "--from", str(run), "--feedback", str(file), *WHO, "--dry-run")
    assert done.returncode == 0, done.stderr
    said = " ".join(done.stdout.split())
    assert f"Improving: ./skills/moor, from 2 comments on {run.name}" in said
    assert '1 comment is on a held-out case and was not used; to use it, add to the file: "retire": ["cable"]' in said
    assert "anchor: its checks failed an answer that you call right" in said
    assert "retired, now practice cases and never held out again: anchor" in said
    cases = json.loads(Path(run, "../../skills/moor/skill_meta.json").read_text())["cases"]
    assert cases[0]["use"] == "held-out"  # nothing is written by a dry run


def test_where_no_held_out_case_would_be_left_nothing_is_run(upskill: Upskill, run: Path, here: Path) -> None:
    file = write_feedback(run, *(comment(thing) for thing in THINGS), retire=list(HELD_OUT))
    done = upskill("generate", "--from", str(run), "--feedback", str(file), *WHO)
    assert done.returncode == 2
    assert "every case is a practice case: no held-out case is left to test a new version" in done.stderr
    assert "without comments" in done.stderr
    assert _generates(here) == []


def test_where_few_held_out_cases_are_left_that_is_said(upskill: Upskill, run: Path) -> None:
    file = write_feedback(run, *(comment(thing) for thing in THINGS), retire=THINGS[:7])
    done = upskill("generate", "--from", str(run), "--feedback", str(file), *WHO, "--dry-run")
    assert "only 3 held-out cases left to test a new version" in " ".join(done.stdout.split())


def test_a_stopped_run_goes_on_with_its_comments_after_their_file_is_gone(
    upskill: Upskill, run: Path, here: Path
) -> None:
    comments = (comment("mast", note="Name the part"), comment("cable", note="secret-of-cable"))
    file = write_feedback(run, *comments, retire=["cable"])
    stopped = upskill("generate", "--from", str(run), "--feedback", str(file), *WHO, UPSKILL_MAX_CALLS="3")
    assert "UPSKILL_MAX_CALLS=N" in stopped.stderr + stopped.stdout
    file.unlink()
    (folder,) = _generates(here)
    who = ("--eval-model", MODEL, "-m", "scripted/teacher.yaml")
    done = upskill("generate", "--resume", str(folder), *who, UPSKILL_MAX_CALLS="1000")
    assert done.returncode == 0, done.stderr
    asked = (folder / "teacher.jsonl").read_text()
    for part in ("Name the part", "secret-of-cable", question("mast"), question("cable"), NUMBERS["mast"]):
        assert part in asked
    assert question("davit") not in asked


@pytest.mark.parametrize("text", ['{"schema": ', '{"schema": "upskill.feedback/1", "run": "\x1b[31mred"}'])
def test_a_damaged_file_is_refused_and_cannot_act_on_the_terminal(
    upskill: Upskill, run: Path, here: Path, text: str
) -> None:
    (here / "bad.json").write_text(text)
    done = upskill("generate", "--from", str(run), "--feedback", "bad.json", *WHO)
    assert done.returncode == 2
    assert "it is not JSON" in done.stderr
    assert "at line 1" in done.stderr
    assert "\x1b" not in done.stderr


def test_notes_and_names_in_a_file_cannot_act_on_the_terminal(upskill: Upskill, run: Path) -> None:
    file = write_feedback(run, comment("mast", note="\x1b[31mred"), {**comment("sail\x1b[2J"), "model": "\x1b]0;x\x07"})
    done = upskill("generate", "--from", str(run), "--feedback", str(file), *WHO)
    assert done.returncode == 2
    assert "comment 2: this run has no case `sail\\x1b[2J`" in done.stderr
    assert "\x1b" not in done.stderr
