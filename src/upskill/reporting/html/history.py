"""The page of one skill over its versions."""

from upskill.reporting.html.elements import escaped, figure
from upskill.reporting.html.shell import shell
from upskill.reporting.pictures import Drawn, Picture


def history_page(skill: str, picture: Picture, drawn: Drawn | None) -> str:
    """One picture, and the same as a table."""
    body = (
        f'<header><p class="kind">Skill over its versions</p><h1>{escaped(skill)}</h1></header>'
        f"<main>{figure(picture, drawn)}</main>"
        "<footer><p>Made by upskill. This file is whole: it loads nothing and sends nothing.</p></footer>"
    )
    return shell(f"{skill}: history", body, script=False)
