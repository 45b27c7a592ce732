"""Pieces of a text between an opening and a closing tag, found in one pass however the text is made."""

import re
from dataclasses import dataclass

MOST_UNCLOSED = 50
"""Names that open and never close, before the rest of a text is taken as it is."""


@dataclass(frozen=True, slots=True)
class Tagged:
    """What was between tags, with the tag's name, and the text without it."""

    pieces: tuple[tuple[str, str], ...]
    rest: str


def split_tags(text: str, names: str, *, open_end: bool = False) -> Tagged:
    """Take out the pieces between `<name>` and `</name>`, for names that fit the pattern `names`.

    `open_end` lets a piece that is never closed reach to the end of the text, as when a model was stopped.
    """
    opening = re.compile(f"<({names})>")
    pieces, rest, unclosed = [], [], set[str]()
    done = at = 0
    while (found := opening.search(text, at)) is not None:
        name = found.group(1)
        end = -1 if name in unclosed else text.find(f"</{name}>", found.end())
        if end < 0 and not open_end:
            unclosed.add(name)
            at = found.end()
            if len(unclosed) > MOST_UNCLOSED:
                break
            continue
        end = len(text) if end < 0 else end
        pieces.append((name, text[found.end() : end]))
        rest.append(text[done : found.start()])
        done = at = end + len(name) + 3
    return Tagged(tuple(pieces), "".join((*rest, text[done:])))
