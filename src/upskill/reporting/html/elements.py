"""Small pieces of HTML, and text of strangers on its way into them: prompts, answers, names and messages all go through
here. Everything handed over is text and is escaped, unless it says that it is HTML."""

import html
import json
import re
from collections.abc import Iterable, Sequence

from upskill.domain.case import Json
from upskill.reporting.pictures import DrawnPicture, Picture

_NOT_SHOWN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff"
    # Marks that reverse what stands beside them: a failed check could be made to read as a passed one.
    r"\u202a-\u202e\u2066-\u2069]"
)


def plain(text: str) -> str:
    """Text without what cannot be shown, or would show something else than it says."""
    return _NOT_SHOWN.sub("\ufffd", text)


def escaped(text: object) -> str:
    """Text that is only text, in an element or in a quoted attribute."""
    return html.escape(plain(str(text)), quote=True)


def json_in_html(value: Json) -> str:
    """JSON that no parser of HTML can take for anything else: it holds no `<`, `>` or `&`."""
    text = plain(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
    for char in "<>&\u2028\u2029":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return text


def table(columns: Sequence[str], rows: Iterable[Sequence[str]], *, caption: str, label: str = "") -> str:
    """A table that scrolls by itself where it is too wide, also by keyboard."""
    head = "".join(f'<th scope="col">{escaped(name)}</th>' for name in columns)
    body = "".join(
        f'<tr><th scope="row">{escaped(row[0])}</th>{"".join(f"<td>{escaped(cell)}</td>" for cell in row[1:])}</tr>'
        for row in rows
    )
    return (
        f'<div class="scrolls" role="region" aria-label="{escaped(label or caption)}" tabindex="0"><table>'
        f"<caption>{escaped(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def figure(picture: Picture, drawn: DrawnPicture | None) -> str:
    """A picture with its words and its table. Where it could not be drawn, the table stands open in its place."""
    name = escaped(picture.name)
    drawing = (
        "" if drawn is None else _labelled(drawn.wide, "wide", picture) + _labelled(drawn.narrow, "narrow", picture)
    )
    numbers = table(picture.columns, picture.rows, caption=picture.title, label=f"{picture.title}, as a table")
    return (
        f'<section class="card" aria-labelledby="h-{name}"><h2 id="h-{name}">{escaped(picture.title)}</h2>'
        f"<figure>{drawing}<figcaption>{_with_code(picture.reading)}</figcaption></figure>"
        f"<details{' open' if drawn is None else ''}><summary>The same as a table</summary>{numbers}</details>"
        "</section>"
    )


def _with_code(text: str) -> str:
    """What stands between backticks is to be typed, and looks like it."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", escaped(text))


def _labelled(svg: str, width: str, picture: Picture) -> str:
    return svg.replace("<svg ", f'<svg class="{width}" role="img" aria-label="{escaped(picture.says)}" ', 1)


def definitions(pairs: Iterable[tuple[str, str]]) -> str:
    return "<dl>" + "".join(f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in pairs) + "</dl>"


def listed(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escaped(item)}</li>" for item in items) + "</ul>"
