"""Slips of people who type `eval`, and what they are told."""

import json
from pathlib import Path

import pytest

from typed import Upskill, make_port_skill

STUDENT = "rules: [{reads: The port is 7413, replies: ['7413']}, {replies: [No idea]}]"
MODEL = ("-m", "scripted/student.yaml")


@pytest.fixture
def port(here: Path) -> Path:
    (here / "student.yaml").write_text(STUDENT)
    return make_port_skill(here, cases=6)


def test_a_trailing_comma_is_shown_where_it_stands(upskill: Upskill, here: Path, port: Path) -> None:
    (here / "cases.json").write_text('{"cases": [\n  {"input": "Port?", "expected": {"contains": "7413"}},\n]}\n')
    done = upskill("eval", "skills/port", "-t", "cases.json", *MODEL)
    assert done.returncode == 2
    assert "it is not JSON: remove the comma before the ] at line 2, column 55" in done.stderr


def test_a_colon_in_the_frontmatter_is_the_first_note_and_an_empty_skill_is_not_measured(
    upskill: Upskill, here: Path, port: Path
) -> None:
    head = "---\nname: port\ndescription: Use when: asked for the port.\n---\n"
    (port / "SKILL.md").write_text(f"{head}The port is 7413.\n")
    done = upskill("eval", "skills/port", *MODEL)
    shown = " ".join(done.stdout.split())
    assert "put the value of `description` in double quotes" in shown[: shown.index("note:") + 300], shown
    (port / "SKILL.md").write_text(head)
    done = upskill("eval", "skills/port", *MODEL)
    assert done.returncode == 2
    assert "SKILL.md has nothing below its frontmatter, so it teaches nothing" in done.stderr


def test_what_is_no_case_file_or_is_named_twice_is_told_apart(upskill: Upskill, here: Path, port: Path) -> None:
    _moved(port, {"first.json": range(6)})
    missing = upskill("eval", "skills/port", "-t", "none.json", *MODEL)
    assert "none.json: no such file" in missing.stderr
    assert '{"cases": [{"input": ' in missing.stderr
    assert "skills: is a folder: name a file in it" in upskill("eval", "skills/port", "-t", "skills", *MODEL).stderr
    twice = upskill("eval", "skills/port", "-t", "first.json", "-t", "first.json", *MODEL)
    assert (twice.returncode, "first.json: is named twice" in twice.stderr) == (2, True), twice.stderr


def test_practice_before_a_split_names_the_command_with_its_file(upskill: Upskill, here: Path, port: Path) -> None:
    _moved(port, {"first.json": range(6)})
    early = upskill("eval", "skills/port", "-t", "first.json", "--practice", *MODEL)
    assert "split the cases once: upskill cases split skills/port -t first.json" in " ".join(early.stderr.split())
    done = upskill("cases", "split", "skills/port", "-t", "first.json")
    assert "next, practise: upskill eval skills/port -t first.json --practice -m MODEL" in done.stderr
    nothing = upskill("eval", "skills/port", "--practice", *MODEL)
    assert (nothing.returncode, "there are no cases to practise on" in nothing.stderr) == (2, True), nothing.stderr


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        (("--max-cost", "-1"), "--max-cost: `max_cost` must be at least 0, not -1"),
        (("--max-calls", "0"), "--max-calls: `max_calls` must be at least 1, not 0"),
    ],
)
def test_a_typed_value_that_cannot_be_is_wrong_usage(
    upskill: Upskill, port: Path, typed: tuple[str, ...], told: str
) -> None:
    done = upskill("eval", "skills/port", *MODEL, *typed)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr


def test_a_model_of_a_provider_is_found_by_its_bare_name(upskill: Upskill, port: Path) -> None:
    done = upskill("eval", "skills/port", "-m", "gpt-4o")
    assert (done.returncode, "did you mean openai/gpt-4o?" in done.stderr) == (2, True), done.stderr


def test_the_help_names_the_settings_that_have_no_option(upskill: Upskill) -> None:
    shown = " ".join(upskill("eval", "--help").stdout.split())
    assert "See `upskill settings` for `temperature` and `max_output_tokens` (length)." in shown


def test_several_case_files_are_one_and_stay_with_the_run(upskill: Upskill, here: Path, port: Path) -> None:
    _moved(port, {"first.json": range(3), "evals.json": range(3, 6)})
    done = upskill("eval", "skills/port", "-t", "first.json", "-t", "evals.json", *MODEL, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    (student,) = found["students"]
    assert student["lifts"][0]["pairs"] == 6
    kept = f"{found['run']}/cases.json"
    assert len(json.loads((here / kept).read_text())["cases"]) == 6
    assert upskill("regrade", found["run"], "--json").returncode == 0
    same = upskill("eval", "skills/port", "-t", kept, *MODEL, "--json")
    assert json.loads(same.stdout)["students"][0]["lifts"] == student["lifts"]


def test_case_files_with_the_same_ids_are_not_merged(upskill: Upskill, port: Path) -> None:
    _moved(port, {"first.json": range(4), "second.json": range(3, 6)})
    done = upskill("eval", "skills/port", "-t", "first.json", "-t", "second.json", *MODEL)
    assert done.returncode == 2
    assert "  second.json: the id `c3` is in first.json too\nerror: the case files cannot be merged" in done.stderr


@pytest.mark.parametrize(
    "words", [("cases", "check"), ("cases", "split"), ("slim",), ("drift",), ("verify",), ("trigger",), ("generate",)]
)
def test_a_command_that_reads_one_file_takes_no_second(upskill: Upskill, port: Path, words: tuple[str, ...]) -> None:
    done = upskill(*words, "skills/port", "-t", "a.json", "-t", "b.json")
    assert (done.returncode, f"--tests: {words[-1]} reads one file, and 2 were named" in done.stderr) == (2, True)


def _moved(skill: Path, files: dict[str, range]) -> None:
    """Move cases of a skill into files of their own; one called evals.json in the form of the community."""
    cases = json.loads((skill / "skill_meta.json").read_text())["cases"]
    (skill / "skill_meta.json").unlink()
    for name, numbers in files.items():
        key = "evals" if name == "evals.json" else "cases"
        (skill.parents[1] / name).write_text(json.dumps({key: [cases[number] for number in numbers]}))
