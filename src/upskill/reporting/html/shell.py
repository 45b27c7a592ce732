"""The frame of every page of ours: what may run on it, how it looks, and nothing from anywhere else; and the page of
one skill over its versions."""

import base64
import hashlib
from functools import cache
from importlib.resources import files

from upskill.reporting.html.elements import escaped, figure
from upskill.reporting.pictures import DrawnPicture, Picture
from upskill.reporting.pictures.palette import DARK, LIGHT


def shell(title: str, body: str, *, script: bool) -> str:
    """A whole page. `body` is HTML."""
    style, code = _style(), _file("page.js") if script else ""
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
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<meta name="referrer" content="no-referrer">\n'
        f"<title>{escaped(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n{body}\n"
        f"{f'<script>{code}</script>' if script else ''}\n</body>\n</html>\n"
    )


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")


@cache
def _file(name: str) -> str:
    return files("upskill.reporting.html").joinpath(name).read_text(encoding="utf-8")


@cache
def _style() -> str:
    """The style sheet, with the colours of the pictures in it: one palette for both."""
    light = "".join(f"--{meaning}:{colour};" for meaning, colour in LIGHT.items())
    dark = "".join(f"--{meaning}:{colour};" for meaning, colour in DARK.items())
    drawn = "".join(
        f'svg [{part}="{colour}"]{{{part}:var(--{meaning})}}'
        for meaning, colour in LIGHT.items()
        for part in ("fill", "stroke")
    )
    schemes = f":root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n{drawn}\n"
    return schemes + _file("page.css")


def history_page(skill: str, picture: Picture, drawn: DrawnPicture | None) -> str:
    """One picture, and the same as a table."""
    body = (
        f'<header><p class="kind">Skill over its versions</p><h1>{escaped(skill)}</h1></header>'
        f"<main>{figure(picture, drawn)}</main>"
        "<footer><p>Made by upskill. This file is whole: it loads nothing and sends nothing.</p></footer>"
    )
    return shell(f"{skill}: history", body, script=False)
