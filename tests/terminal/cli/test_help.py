"""`upskill --help` answers at once, because nothing heavy is imported for it."""

import re
import resource
import statistics
import subprocess
import sys
from pathlib import Path

import pytest

from forking import COMMAND
from made_runs import make_run, student_json
from upskill.cli import by_heading, commands

ROOT = Path(__file__).parents[3]

LIGHT = [
    "--help",
    "--version",
    "eval --help",
    "list --help",
    "models --help",
    "publish --help",
    "runs --help",
    "settings --help",
    "sweep run --help",
]
SCRIPT = """
import sys
from upskill.cli import app
try:
    app.main(sys.argv[1:], standalone_mode=False, prog_name="upskill")
finally:
    heavy = {"inspect_ai", "openai", "anthropic", "pydantic", "rich", "genai_prices", "ray", "fsspec"}
    heavy |= {"huggingface_hub", "httpx2", "arro3"}
    heavy &= set(sys.modules)
    assert not heavy, heavy
"""


@pytest.mark.parametrize("words", [one for one in LIGHT if one.startswith("--") or one.split()[0] in commands()])
def test_help_imports_no_engine(words: str) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT, *words.split()], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "upskill" in done.stdout


def _user_cpu(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    subprocess.run(command, check=True, capture_output=True)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


def test_help_costs_at_most_three_times_an_import_of_click() -> None:
    python = COMMAND.removesuffix("upskill") + "python"
    pairs = [(_user_cpu([COMMAND, "--help"]), _user_cpu([python, "-c", "import click"])) for _ in range(5)]
    ours, click = (statistics.median(column) for column in zip(*pairs, strict=True))
    assert ours <= 3 * click


def test_help_leads_with_what_people_come_for_and_names_every_command_once() -> None:
    text = subprocess.run([COMMAND, "--help"], capture_output=True, text=True, check=True).stdout
    _, _, listed = text.partition("Commands:\n")
    first = list(by_heading()["Commands"])
    assert first[0] == "eval"
    assert [line.split()[0] for line in listed.splitlines()[: len(first)]] == first
    names = [name for below in by_heading().values() for name in below]
    assert sorted(names) == sorted(commands())
    assert all(sum(line.split()[:1] == [name] for line in listed.splitlines()) == 1 for name in names)
    assert max(map(len, text.splitlines())) <= 80


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """Two hundred run folders, each with two models."""
    students = [student_json(name) for name in ("haiku", "kimi")]
    states = [{"case_id": f"c{number}", "state": "unproven", "reasons": [{"saw": "x" * 200}]} for number in range(100)]
    for number in range(200):
        make_run(
            tmp_path / f"2026-11-{number:04d}",
            skill=f"skill-{number % 20}",
            students=students,
            skill_digest=f"{number:064d}",
            case_states=states,
        )
    return tmp_path


def _looking(runs: Path) -> dict[str, list[str]]:
    """The commands that run no trial."""
    return {
        "list": ["list", str(ROOT / "examples")],
        "runs": ["runs", "--dir", str(runs)],
        "models": ["models"],
        "trace": ["trace", str(ROOT / "examples" / "traces" / "session.jsonl")],
    }


WITHOUT = SCRIPT.replace(' "rich",', "").replace("heavy = {", 'heavy = {"gepa", "anyio", "regex", ')


@pytest.mark.parametrize("name", ["list", "runs", "models", "trace"])
def test_a_command_that_only_looks_imports_nothing_heavy_and_takes_no_time(name: str, runs: Path) -> None:
    words = _looking(runs)[name]
    done = subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    python = COMMAND.removesuffix("upskill") + "python"
    pairs = [(_user_cpu([COMMAND, *words]), _user_cpu([python, "-c", "import click"])) for _ in range(3)]
    ours, click = (min(column) for column in zip(*pairs, strict=True))
    # 0.6 s where an import of click takes 0.06 s; a busy machine makes both longer.
    assert ours <= max(0.6, 10 * click)


LONGEST = {"eval": (28, 60), "trigger": (17, 60), "generate": (26, 60)}
"""The most options and lines of a command's help."""


@pytest.mark.parametrize(("name", "options", "lines"), [(n, *LONGEST[n]) for n in LONGEST if n in commands()])
def test_the_help_of_a_command_stays_short_enough_to_be_read(name: str, options: int, lines: int) -> None:
    done = subprocess.run([COMMAND, name, "--help"], capture_output=True, text=True, check=True)
    shown = re.findall(r"^ +(?:-\w, )?--[\w-]+", done.stdout, re.MULTILINE)
    assert len([one for one in shown if "--help" not in one]) <= options
    assert len(done.stdout.splitlines()) <= lines


def test_a_mistyped_command_is_suggested() -> None:
    done = subprocess.run([COMMAND, "evla"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr == "error: no such command 'evla'. Did you mean 'eval'?\nhint:  see `upskill --help`\n"


def test_wrong_usage_is_told_in_the_shape_of_every_other_error() -> None:
    done = subprocess.run([COMMAND, "eval", "x", "--runs", "few"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    wrong, hint = done.stderr.splitlines()
    assert wrong == "error: invalid value for '--runs': 'few' must be a number or auto"
    assert hint == "hint:  see `upskill eval --help`"
