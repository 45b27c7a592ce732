"""`upskill --help` answers at once, because nothing heavy is imported for it."""

import resource
import statistics
import subprocess
import sys

import pytest

from cli.conftest import COMMAND

LIGHT = ["--help", "--version", "eval --help", "list --help", "models --help", "runs --help", "settings --help"]
SCRIPT = """
import sys
from upskill.cli import app
try:
    app.main(sys.argv[1:], standalone_mode=False, prog_name="upskill")
finally:
    heavy = {"inspect_ai", "openai", "anthropic", "pydantic", "rich", "genai_prices"} & set(sys.modules)
    assert not heavy, heavy
"""


@pytest.mark.parametrize("words", LIGHT)
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


def test_a_mistyped_command_is_suggested() -> None:
    done = subprocess.run([COMMAND, "evla"], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "Did you mean 'eval'?" in done.stderr
