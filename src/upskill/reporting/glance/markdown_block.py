"""A glance as Markdown: the sentences and a table with a dumbbell in characters. All foreign text is escaped."""

import re

from upskill.domain.text import printable
from upskill.reporting.glance.text_dumbbell import UNICODE, drawn
from upskill.reporting.glance.values import Glance, GlanceRow
from upskill.reporting.wording import USUAL

_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$&@])")
_ADDRESS = re.compile(r"(?i)\b(https?|ftp)://|\bwww\.")
"""What GitHub makes a link of without being asked."""
_MENTION = re.compile(r"([@#])(?=\w)")
_BAR = 21


def markdown(glance: Glance) -> str:
    """The sentences in bold, and a row for each model; nothing but the sentences where there are none."""
    first, *others = [markdown_text(one) for one in glance.sentences]
    lines = [f"**{first}**" + "".join(f" {one}" for one in others)]
    if glance.rows:
        before, after = (text.capitalize() for text in (glance.before, glance.after))
        lines += [
            "",
            f"| Model | 0% to 100% | {before} | {after} | Lift in points ({USUAL}) | Verdict | Tokens |",
            "|---|---|--:|--:|---|---|--:|",
            *(_row(row) for row in glance.rows),
            "",
            f"{UNICODE.hollow} {glance.before}, {UNICODE.filled} {glance.after}"
            + (f", {UNICODE.unclear * 2} not clear" if any(row.clarity == "unclear" for row in glance.rows) else ""),
        ]
    return "\n".join(lines) + "\n"


def markdown_text(text: str) -> str:
    """Only text, whatever it holds: no markup, no link, no mention, on one line."""
    plain = _SPECIAL.sub(r"\\\1", " ".join(printable(text).split()))
    # GitHub looks for mentions after it has read the Markdown, when the backslash is gone.
    plain = _MENTION.sub(r"\1&#8203;", plain)
    return _ADDRESS.sub(lambda found: found[0].replace(":", "&#58;").replace(".", "&#46;"), plain)


def _row(row: GlanceRow) -> str:
    reach = f" {row.reach}" if row.reach else ""
    lift = row.why or "–" if row.lift is None else f"{row.figures}{reach}"
    cells = (
        markdown_text(row.name),
        f"`{drawn(row, _BAR)}`",
        row.before_text,
        row.after_text,
        markdown_text(lift),
        f"{row.sign} {row.verdict}",
        row.tokens or "–",
    )
    return f"| {' | '.join(cells)} |"
