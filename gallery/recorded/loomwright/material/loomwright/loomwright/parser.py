"""Reads the text of a .loom file into a Pattern."""

import re
from dataclasses import dataclass, field

from .errors import Snag

HEADER = re.compile(r"~loom/3(?: (.*))?")
KEY = re.compile(r"@ ([a-z]+) = (.+)")
PICK = re.compile(r"([0-9]+)x> (.+)")
ITEM = re.compile(r"([a-z]+):([1-9][0-9]*)(?:/(\S))?")
COMMENT = ";;"
MAX_TITLE, MAX_COPIES = 48, 25
LIMITS = {"span": (6, 90), "folds": (1, 7), "drift": (-4, 11)}
EDGES = {"bare": ("", ""), "pinned": (":", ":"), "corded": ("]", "[")}


@dataclass
class Pattern:
    """A parsed pattern; each pick is (line number, [(stitch, reach, tone), ...])."""

    title: str
    span: int = 36
    ground: str = ","
    folds: int = 2
    edge: str = "pinned"
    drift: int | None = None
    picks: list = field(default_factory=list)


def read_value(key, value, line):
    """Check the value of one key and convert it to its type."""
    if key in LIMITS:
        low, high = LIMITS[key]
        good = re.fullmatch(r"-?[0-9]+", value) and low <= int(value) <= high
        value = int(value) if good else value
    elif key == "ground":
        good = len(value) == 1 and value.isprintable() and value != " "
    elif key == "edge":
        good = value in EDGES
    else:
        raise Snag("LW07", key, line)
    if not good:
        raise Snag("LW09", f"{key} = {value}", line)
    return value


def read_pick(text, line):
    """Return the copies of one pick line, already multiplied."""
    match = PICK.fullmatch(text)
    if not match or not 1 <= int(match[1]) <= MAX_COPIES:
        raise Snag("LW17", text, line)
    items = []
    for part in match[2].split(" | "):
        item = ITEM.fullmatch(part)
        if not item:
            raise Snag("LW17", part, line)
        items.append((item[1], int(item[2]), item[3]))
    return [(line, items)] * int(match[1])


def parse(text):
    """Parse the text of a pattern file; lines after `---- off` are not read."""
    lines = [line.rstrip() for line in text.splitlines()] or [""]
    header = HEADER.fullmatch(lines[0])
    if not header:
        raise Snag("LW03", lines[0], 1)
    title = (header[1] or "").strip()
    if not 1 <= len(title) <= MAX_TITLE:
        raise Snag("LW05", title, 1)
    keys, picks, in_cloth = {}, [], False
    for number, line in enumerate(lines[1:], 2):
        if not line or line.startswith(COMMENT):
            continue
        if line == "---- off" and in_cloth:
            break
        if in_cloth:
            picks += read_pick(line, number)
        elif line == "---- cloth":
            in_cloth = True
        elif match := KEY.fullmatch(line):
            key, value = match.groups()
            if key in keys:
                raise Snag("LW11", key, number)
            keys[key] = read_value(key, value, number)
        else:
            raise Snag("LW25", line, number)
    else:
        raise Snag("LW15")  # the end of the file came before `---- off`
    if not picks:
        raise Snag("LW15")
    if "drift" not in keys:
        raise Snag("LW13")
    return Pattern(title, picks=picks, **keys)
