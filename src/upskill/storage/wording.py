"""Text of strangers made fit for a message: one printable line, not too long. Knows nothing about files."""

from collections.abc import Sequence

from upskill.errors import SkillInvalid

MOST_CHARACTERS = 400
MOST_PROBLEMS = 100


def on_one_line(text: str) -> str:
    """The text with whatever could move a cursor, colour a terminal or fail to be encoded written as an escape."""
    if len(text) > MOST_CHARACTERS:
        text = text[:MOST_CHARACTERS] + "…"
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def skill_invalid(message: str, problems: Sequence[str], *, hint: str | None = None) -> SkillInvalid:
    """The error for a skill or a case file that cannot be used, with every problem found in it."""
    shown = [on_one_line(problem) for problem in problems[:MOST_PROBLEMS]]
    if len(problems) > MOST_PROBLEMS:
        shown.append(f"and {len(problems) - MOST_PROBLEMS:,} more")
    return SkillInvalid(on_one_line(message), problems=shown, hint=None if hint is None else on_one_line(hint))
