"""The skills of this repository are sound, and what they say to type exists."""

import json
import re
import shlex
from pathlib import Path

import click
import pytest
import skills_ref

from upskill.cli import app
from upskill.core.cases.files import read_case_file
from upskill.core.cases.states import qualify
from upskill.core.skills.skills import read_skill

SKILLS = sorted((Path(__file__).parents[3] / "skills").iterdir())
OURS = Path(__file__).parents[3] / "skills" / "upskill"


@pytest.mark.parametrize("folder", SKILLS, ids=lambda folder: folder.name)
def test_it_passes_the_specification_and_our_own_reading_without_a_note(folder: Path) -> None:
    assert skills_ref.validate(folder) == []
    skill = read_skill(folder)
    assert skill.notes == ()
    assert [file.path for file in skill.files] == ["SKILL.md"]


def _typed() -> list[str]:
    """Every command of the skill and of the references of its cases; `upskill A`, `B` means both."""
    shown = re.findall(r"`(upskill [a-z][^`]*)`", read_skill(OURS).body)
    cases = json.loads((OURS / "evals" / "evals.json").read_text(encoding="utf-8"))["cases"]
    texts = [case["reference"]["text"] for case in cases]
    return sorted({*shown, *(text for text in texts if text.startswith("upskill "))})


@pytest.mark.parametrize("line", _typed())
def test_what_it_says_to_type_exists(line: str) -> None:
    words = shlex.split(line.replace(" …", ""))[1:]
    command: click.Command = app
    context = click.Context(app, info_name="upskill")
    while isinstance(command, click.Group) and words:
        inner = command.get_command(context, words[0])
        assert inner is not None, f"there is no command {words[0]}"
        command, words = inner, words[1:]
        context = click.Context(command, parent=context)
    if words:
        command.make_parser(context).parse_args(list(words))


def test_its_cases_are_qualified() -> None:
    cases = read_case_file(OURS / "evals" / "evals.json", check_problems=lambda _: []).cases
    states = {one.case_id: one.state for one in qualify(cases, read_skill(OURS))}
    assert set(states.values()) == {"qualified"}, states
