"""The moments of one session."""

from pathlib import Path

import pytest

from mining.made_sessions import Turn, edited, ran, read, searched, write_session
from upskill.mining.episodes import Episodes
from upskill.mining.moments import Moment
from upskill.traces.readers import read_traces
from upskill.traces.work import work_of


def found(folder: Path, *turns: Turn) -> Episodes:
    (trace,) = read_traces(write_session(folder, 1, turns)).traces
    return Episodes(work_of(trace, number=1))


def moments(folder: Path, kind: str, *turns: Turn) -> list[Moment]:
    return [each for each in found(folder, *turns).moments() if each.kind == kind]


def test_a_correction_knows_what_was_done_before_and_after(tmp_path: Path) -> None:
    (moment,) = moments(
        tmp_path, "correction", "Add rich.", ran("pip install rich"), "No pip here, use uv.", ran("uv add rich")
    )
    assert moment.corrects
    assert moment.quote == "No pip here, use uv."
    assert moment.outcome == "uv add rich"
    assert "uv add" in moment.added
    assert "pip install" in moment.removed
    assert "pip" in moment.refused
    assert (moment.tokens > 0, moment.seconds) == (True, 30.0 + 3 * 60)


def test_work_that_is_done_over_makes_words_a_correction(tmp_path: Path) -> None:
    (moment,) = moments(
        tmp_path,
        "correction",
        "Label the button.",
        edited("a.py", "label = 'Ready'"),
        "Texts for customers are in Dutch.",
        edited("a.py", "label = 'Klaar'", old="label = 'Ready'"),
    )
    assert moment.corrects


@pytest.mark.parametrize("words", ["Now add a test for the parser.", "Why is the list empty?", "Rename the file too."])
def test_a_further_request_is_no_correction(tmp_path: Path, words: str) -> None:
    (moment,) = moments(tmp_path, "correction", "Fix it.", edited("a.py", "1"), words, edited("b.py", "2"))
    assert not moment.corrects


def test_a_task_gives_its_rules_alone(tmp_path: Path) -> None:
    rules = moments(
        tmp_path, "instruction", "Fix the list. Always run scripts/pre.sh before you finish. Thanks for all."
    )
    assert [each.quote for each in rules if each.corrects] == ["Always run scripts/pre.sh before you finish."]


def test_a_failed_command_and_the_form_that_worked(tmp_path: Path) -> None:
    (moment,) = moments(
        tmp_path,
        "repair",
        "Push it.",
        ran("skiff push api", "skiff: push refused: nobody holds the lease", failed=True),
        ran("skiff status api", "lease=-"),
        ran("skiff lease take api"),
        ran("skiff push api"),
    )
    assert moment.outcome == "skiff lease take api"
    assert "skiff lease" in moment.added


def test_a_setting_before_the_command_is_another_form(tmp_path: Path) -> None:
    (moment,) = moments(
        tmp_path, "repair", "Sync.", ran("pull data", "error: LANG is not set", failed=True), ran("LANG=C pull data")
    )
    assert "LANG=" in moment.added


def test_a_value_in_another_form_and_a_wrapper_are_other_forms(tmp_path: Path) -> None:
    failed = ran("tide replay orders --day 2026-09-03", "KeyError: '2026-09-03'", failed=True)
    (moment,) = moments(tmp_path / "a", "repair", "Replay.", failed, ran("tide replay orders --day 20260903"))
    assert "form 99999999" in moment.added
    failed = ran("npx vitest run cart.test.ts", "FAIL cart.test.ts", failed=True)
    wrapped = ran('shopkeeper shell -c "npx vitest run cart.test.ts"')
    (moment,) = moments(tmp_path / "b", "repair", "Test.", failed, edited("other.ts", "2"), wrapped)
    assert "shopkeeper shell" in moment.added


def test_a_command_that_nobody_repaired_is_no_repair_of_its_own(tmp_path: Path) -> None:
    (moment,) = moments(tmp_path, "repair", "Push it.", ran("skiff push api", "skiff: push refused", failed=True))
    assert not moment.corrects
    assert moment.outcome == ""


def test_the_same_command_again_is_flaky(tmp_path: Path) -> None:
    command = "pytest tests/test_socket.py"
    episodes = found(tmp_path, "Test.", ran(command, "1 failed", failed=True), ran(command, "1 passed"))
    assert [each.kind for each in episodes.moments()] == []
    assert episodes.flaky == 1


def test_an_edit_that_repairs_a_check_is_work(tmp_path: Path) -> None:
    failed = ran("pytest tests/a.py", "E   assert 1 == 2", failed=True)
    turns: list[Turn] = ["Test.", failed, edited("a.py", "2"), ran("pytest -q tests/a.py tests/b.py")]
    assert moments(tmp_path, "repair", *turns) == []


@pytest.mark.parametrize(
    ("failed", "error", "passed"),
    [
        ("gti status", "gti: command not found", "git status"),
        ("npm ci", "connection timed out", "npm ci --prefer-offline"),
    ],
)
def test_slips_and_what_passes_by_itself_teach_nothing(tmp_path: Path, failed: str, error: str, passed: str) -> None:
    assert moments(tmp_path, "repair", "Go.", ran(failed, error, failed=True), ran(passed)) == []


def test_help_pages_and_files_are_look_ups_and_what_everybody_reads_is_none(tmp_path: Path) -> None:
    turns = [ran("quern export --help", "usage"), read("docs/error-codes.md"), read("src/app.py"), read("README.md")]
    looked = moments(tmp_path, "look-up", "Export it.", *turns, ran("yq .columns.a contracts/columns.yaml", "text"))
    files = ["file docs/error-codes.md", "file src/app.py", "file contracts/columns.yaml"]
    assert [each.said[0] for each in looked] == ["help quern", *files]


def test_a_long_search_ends_in_what_it_found(tmp_path: Path) -> None:
    turns = [searched("flag"), searched("toggle"), ran("find . -name '*flag*'", ""), ran("ls ops", "x")]
    (moment,) = moments(
        tmp_path, "search", "Switch it on.", *turns, read("ops/flags.yml"), edited("ops/flags.yml", "on")
    )
    assert moment.outcome == "ops/flags.yml"


def test_a_skill_that_was_loaded_and_then_corrected(tmp_path: Path) -> None:
    (load,) = found(tmp_path, "Go.", read(".claude/skills/tables/SKILL.md"), "No, not like that.").loads()
    assert (load.skill, load.corrected) == ("tables", True)
