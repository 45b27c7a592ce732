"""The frame of every page of ours: what may run on it, how it looks, and nothing from anywhere else."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from markupsafe import Markup

from upskill.reporting.glance import dumbbell_css
from upskill.reporting.html.templating import render
from upskill.reporting.palette import DARK, LIGHT

STYLES = ("page.css", "changed.css", "skill.css", "feedback.css")
"""The frame first, then what each section adds."""
SCRIPTS = ("page.js", "changed.js", "feedback.js")
"""One script in this order: the others use what is in the first."""


def shell(title: str, body: Markup, *, script: bool) -> str:
    """A whole page. No style and no script but ours can take effect on it."""
    style, code = _style(), _joined(SCRIPTS) if script else ""
    policy = "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_hash(style)}'",
            f"script-src '{_hash(code)}'" if script else "script-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    page = render("shell.html", title=title, body=body, policy=Markup(policy), style=Markup(style), script=Markup(code))
    return str(page)  # text from here on: what is added to it later is not to be escaped


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _joined(names: tuple[str, ...]) -> str:
    folder = files("upskill.reporting.html")
    return "\n".join(folder.joinpath(name).read_text(encoding="utf-8") for name in names)


@cache
def _style() -> str:
    """The style sheet, with the colours of the pictures in it: one palette for both."""
    light = "".join(f"--{meaning}:{colour};" for meaning, colour in LIGHT.items())
    dark = "".join(f"--{meaning}:{colour};" for meaning, colour in DARK.items())
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    return schemes + dumbbell_css() + _joined(STYLES)
