"""Which files of a skill a document of it names, and whether an agent can follow the paths."""

import re
from collections.abc import Mapping, Sequence

_LINK = re.compile(r"\[[^\]\n]{0,200}\]\(<?([^)>\s]{1,300})>?(?:\s{1,9}[\"'][^)\n]{0,200})?\)")
_NAMED = re.compile(r"(?<![\w./~-])(?:\./)?((?:scripts|references|assets)/[\w.-]+(?:/[\w.-]+)*)")
_HOME = re.compile(r"(?<![\w.])(?:/home/|/Users/|/ro[o]t/|~/|\$HOME\b|\$\{HOME\}|[A-Za-z]:\\Users)", re.IGNORECASE)
_UPWARDS = re.compile(r"\.\./")
_NEW_BLOCK = re.compile(r"\s*(?:[-*+#|]|\d+[.)])")
_MARKDOWN_FILE = re.compile(r"[\w./-]+\.md\b")
_ABROAD = ("http://", "https://", "mailto:")


class Refused(Exception):
    """The model's work breaks a rule; the message is what was seen."""


def named_files(text: str, path: str) -> set[str]:
    """The files that one document of a skill names. Raises `Refused` at a path that works on one machine only."""
    home = _HOME.search(text)
    if home:
        raise Refused(f"{path} has a path of one machine: {text[home.start() : home.start() + 40].split()[0]!r}")
    if not path.endswith(".md"):
        return set()
    text = re.sub(r"(?s)<!--.*?(-->|$)", "", text)
    found = {one.rstrip(".") for one in _NAMED.findall(text)}
    for target in _LINK.findall(text):
        if target.startswith(("#", *_ABROAD)):
            continue
        if target.startswith("/") or "://" in target:
            raise Refused(f"{path} links to {target}, which is not a path in the skill")
        if _UPWARDS.match(target) or "/../" in target:
            raise Refused(f"{path} links to {target}; paths are relative to the folder of the skill")
        found.add(target.split("#")[0].removeprefix("./"))
    if re.search(r"\.\./(?:scripts|references|assets)/", text):
        raise Refused(f"{path} names a file by ../; paths are relative to the folder of the skill")
    return found


def unreached(text: str, routes: Mapping[str, Sequence[str]]) -> str | None:
    """The first file that a document does not name together with one of its words.

    The word is in the same sentence, list item or row of a table, or in the heading or line above.
    """
    blocks = _blocks(text)
    for path, words in routes.items():
        for above, block in zip(["", *blocks], blocks, strict=False):
            heading = "" if _MARKDOWN_FILE.search(above) or re.match(r"\d", above) else above
            said = _MARKDOWN_FILE.sub("", f"{heading} {block}").lower()
            if path in block and any(word in said for word in words):
                break
        else:
            return path
    return None


def _blocks(text: str) -> list[str]:
    """Headings, paragraphs, list items and rows of tables, each as one line."""
    blocks: list[str] = []
    new = True
    for line in text.splitlines():
        if not line.strip():
            new = True
        elif new or _NEW_BLOCK.match(line) or blocks[-1].startswith("#"):
            blocks.append(line.strip())
            new = False
        else:
            blocks[-1] += f" {line.strip()}"
    return blocks
