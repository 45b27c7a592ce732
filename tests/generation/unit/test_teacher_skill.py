"""The skill of the teacher says what the command says."""

from pathlib import Path

from click.testing import CliRunner

from upskill.cli import app
from upskill.core.skills.skills import read_skill

SKILL = Path(__file__).parents[3] / "skills" / "upskill-teacher"


def test_its_options_are_those_of_the_command() -> None:
    help_text = CliRunner().invoke(app, ["handoff", "--help"]).output
    body = read_skill(SKILL).body
    for option in ("--wait", "--check NUMBER FILE", "--count FILE", "--answer NUMBER FILE", "--json"):
        assert option in help_text
        assert option in body
