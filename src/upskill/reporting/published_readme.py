"""The list of skills in the `README.md` of a published repository. Between its two marks it is written anew each time;
the rest of the file is the user's."""

from collections.abc import Sequence
from typing import NamedTuple

from upskill.reporting.glance.markdown_block import markdown_text

BEGIN = "<!-- upskill: list of skills, written by `upskill publish` -->"
END = "<!-- upskill: end of the list -->"


class ReadmeRow(NamedTuple):
    """One skill: its name, what it says it is for, what was measured."""

    name: str
    description: str
    result: str


def readme_text(title: str, rows: Sequence[ReadmeRow]) -> str:
    """A new README."""
    return "\n".join(
        [
            f"# {markdown_text(title)}",
            "",
            _block(rows),
            "",
            "Each skill has a card, `evidence.md`, and the same as data, `evidence.json`. `upskill verify skills/NAME`",
            "tells whether they still hold.",
            "",
            "To install a skill from a clone of this repository:",
            "",
            "```sh",
            "npx skills add .",
            "```",
            "",
            "In Claude Code: `/plugin marketplace add OWNER/REPOSITORY`.",
            "",
        ]
    )


def updated_readme(text: str, rows: Sequence[ReadmeRow]) -> str:
    """The text with a new list between the marks; as it was where it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{_block(rows)}{after}" if begin and end else text


def _block(rows: Sequence[ReadmeRow]) -> str:
    table = ["| Skill | What it is for | Result |", "|---|---|---|"]
    for row in rows:
        cells = (f"[{row.name}](skills/{row.name}/evidence.md)", markdown_text(row.description))
        table.append(f"| {' | '.join(cells)} | {markdown_text(row.result)} |")
    return "\n".join([BEGIN, "", *table, "", END])
