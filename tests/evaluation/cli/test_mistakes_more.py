"""Slips with paths, files of another form, and skills of one name, and what people are told."""

import json
import os
from pathlib import Path

import pytest

from forking import COMMAND, run_program
from typed import Upskill, make_port_skill

STUDENT = "rules: [{reads: The port is 7413, replies: ['7413']}, {replies: [No idea]}]"
MODEL = ("-m", "scripted/student.yaml")


@pytest.fixture
def port(here: Path) -> Path:
    (here / "student.yaml").write_text(STUDENT)
    return make_port_skill(here, cases=6)


def test_a_skill_that_cannot_be_read_is_said_once_with_the_command_that_opens_it(
    here: Path, port: Path, environment: dict[str, str]
) -> None:
    (port / "SKILL.md").chmod(0)
    as_others = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] if os.geteuid() == 0 else []
    words = [*as_others, COMMAND]
    done = run_program([*words, "eval", "skills/port", *MODEL], cwd=here, env=environment)
    assert done.stderr == (
        "  SKILL.md: cannot be read (Permission denied)\nerror: port: this skill cannot be used\n"
        "hint:  chmod u+r skills/port/SKILL.md\n"
    )
    linted = run_program([*words, "lint", "skills/port"], cwd=here, env=environment)
    assert "SKILL.md: Permission denied" in linted.stdout
    assert "Add a SKILL.md" not in linted.stdout


@pytest.mark.parametrize("words", [("eval", *MODEL), ("lint",)])
def test_a_skill_that_is_not_utf8_is_called_so_by_each_command(
    upskill: Upskill, port: Path, words: tuple[str, ...]
) -> None:
    (port / "SKILL.md").write_text("---\nname: port\ndescription: Port.\n---\nThe port.\n", encoding="utf-16")
    done = upskill(words[0], "skills/port", *words[1:])
    assert "not UTF-8" in done.stdout + done.stderr
    assert words == ("lint",) or "hint:  see more of it: upskill lint skills/port\n" in done.stderr


def test_settings_above_that_are_not_read_are_pointed_at(upskill: Upskill, here: Path, port: Path) -> None:
    (here / "upskill.toml").write_text('models = ["haiku"]\n')
    for words in (("eval", "port"), ("drift", "port", "--start")):
        done = upskill(*words, cwd=here / "skills")
        assert done.returncode == 2
        assert "error: no model was named\nhint:  ../upskill.toml is not read, as no repository holds" in done.stderr
        assert ": cd ..; or add -m NAME" in done.stderr
    (here / ".git").mkdir()
    assert "no model was named" not in upskill("eval", "port", "-n", cwd=here / "skills").stderr


@pytest.mark.parametrize(
    "words",
    [
        ("eval", "skills/port", "--resume"),
        ("generate", "--resume"),
        ("report",),
        ("regrade",),
        ("handoff",),
    ],
)
def test_a_run_that_is_not_there_is_no_such_folder(upskill: Upskill, port: Path, words: tuple[str, ...]) -> None:
    done = upskill(*words, "runs/gone")
    assert (done.returncode, "error: runs/gone: no such folder" in done.stderr) == (2, True), done.stderr


PROMPTFOO = "prompts: ['{{q}}']\ntests:\n  - vars: {q: Port?}\n    assert:\n      - {type: contains, value: 7413}\n"


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("promptfooconfig.yaml", PROMPTFOO, "it is YAML of promptfoo, and cases are one JSON object or list"),
        ("cases.json", PROMPTFOO, "it is YAML of promptfoo, and cases are one JSON object or list"),
        ("cases.yml", "cases:\n  - input: Port?\n", "it is YAML, and cases are one JSON object or list"),
        ("cases.csv", "input,expected\nPort?,7413\n", "it is a table (CSV), and cases are one JSON"),
        ("cases.jsonl", '{"input": "a"}\n{"input": "b"}\n', "it is JSON Lines, and cases are one JSON object or list"),
        ("cases.json", '{"input": "a"}\n{"input": "b"}\n', "it is JSON Lines, and cases are one JSON object or list"),
        ("cases.json", '{"cases": [\n{"input" "a"}]}', "it is not JSON: Expecting ':' delimiter at line 2, column 10"),
    ],
)
def test_a_case_file_of_another_form_is_recognised(
    upskill: Upskill, here: Path, port: Path, name: str, text: str, told: str
) -> None:
    (here / name).write_text(text)
    done = upskill("eval", "skills/port", "-t", name, *MODEL)
    assert (done.returncode, told in done.stderr) == (2, True), done.stderr
    assert 'hint:  a file of cases looks like {"cases": [{"input"' in done.stderr


def test_assertions_of_promptfoo_are_named_and_written_as_ours(upskill: Upskill, here: Path, port: Path) -> None:
    def tested(kind: str) -> dict[str, object]:
        return {"vars": {"q": "Port?"}, "assert": [{"type": kind, "value": "7413"}]}

    (here / "cases.json").write_text(json.dumps({"tests": [tested("contians"), tested("contains")]}))
    done = upskill("eval", "skills/port", "-t", "cases.json", *MODEL)
    assert done.returncode == 2
    first, second = (
        "unknown kind of check `contians`; did you mean `contains`?",
        'write `expected`: {"contains": "7413"}',
    )
    assert f"  case 1: `assert` is a key of promptfoo; {first}\n" in done.stderr
    assert f"  case 2: `assert` is a key of promptfoo; {second}\n" in done.stderr
    assert "passage" not in done.stderr


def test_a_folder_whose_only_skill_has_the_name_of_the_measured_one_is_refused(
    upskill: Upskill, here: Path, port: Path
) -> None:
    twin = here / "other" / "harbour"
    twin.mkdir(parents=True)
    (twin / "SKILL.md").write_text("---\nname: port\ndescription: Another one.\n---\nAsk the harbour master.\n")
    done = upskill("eval", "skills/port", "--among", "other", *MODEL, "-n")
    assert done.returncode == 2
    assert "no other skill is left: other/harbour and the measured skill are both named port" in done.stderr
    (twin / "SKILL.md").write_text("---\nname: harbour\ndescription: Another one.\n---\nAsk the harbour master.\n")
    assert upskill("eval", "skills/port", "--among", "other", *MODEL, "-n").returncode == 0


def test_an_interrupted_hand_off_shows_the_command_that_resumes_it(upskill: Upskill, here: Path) -> None:
    words = ("generate", "Write down our ports", "--model", "handoff", "--no-eval", "--yes")
    assert upskill(*words, UPSKILL_WAIT="false").returncode == 3
    (run,) = (here / "runs").glob("*generate*")
    for state in run.glob("handoff/*/handoff.json"):
        state.write_text(state.read_text().replace("waiting", "stopped"))
    for side in ("cases", "skill"):
        done = upskill("handoff", f"runs/{run.name}/handoff/{side}")
        assert f"the run was interrupted\nresume it with: upskill generate --resume runs/{run.name}\n" in done.stderr
    typed = done.stderr.partition("resume it with: upskill ")[2].split("\n")[0].split()
    assert "waiting for an answer" in upskill(*typed, UPSKILL_WAIT="false").stderr


def test_the_advice_of_slim_on_too_few_cases_can_be_followed(upskill: Upskill, here: Path, port: Path) -> None:
    (port / "SKILL.md").write_text("---\nname: port\ndescription: Port.\n---\nThe port is 7413.\n\nIt is old.\n")
    file = port / "skill_meta.json"
    unsplit = upskill("slim", "skills/port", *MODEL, "-n").stderr
    assert "then split all once: `upskill cases split skills/port --practice 1/2`" in unsplit
    assert upskill("cases", "split", "skills/port", "--practice", "1/2").returncode == 0
    split = upskill("slim", "skills/port", *MODEL, "-n")
    assert 'each with its side: "use": "learn" for practice, "use": "held-out"' in split.stderr
    assert "cases split" not in split.stderr
    held = json.loads(file.read_text())
    for number in range(6, 70):
        use = "learn" if number % 2 else "held-out"
        asked = {"id": f"c{number}", "input": f"Question {number}?", "expected": {"contains": "7413"}, "use": use}
        held["cases"].append(asked)
    file.write_text(json.dumps(held))
    done = upskill("slim", "skills/port", *MODEL, "-n")
    assert "more practice" not in done.stderr, done.stderr
    assert done.returncode == 0, done.stderr
