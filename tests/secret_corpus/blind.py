"""Lists that were written without looking at the rules, and measured before anything was mended."""

from pathlib import Path

import yaml

from secret_corpus.harmless import lines_of
from secret_corpus.made_up import Planted

_BREAK = "¦"
"""Stands in every secret of a file, so that it holds none whole, and in addresses that no file of ours names."""


def blind(name: str, difficulty: str) -> list[Planted]:
    """The entries of a list, `plain` or `hard`."""
    text = (Path(__file__).parent / name).read_text(encoding="utf-8").replace(_BREAK, "")
    return [
        Planted(entry["id"], tuple(entry["secrets"]), entry["text"])
        for entry in yaml.safe_load(text)
        if entry["difficulty"] == difficulty
    ]


def more_forms() -> list[Planted]:
    """One form a line, its secrets between `§`, named by the line. A line with `~` is known to leak."""
    found = []
    for line in lines_of("more_forms.txt"):
        parts = line.removeprefix("~").replace("\\n", "\n").replace("\\r", "\r").replace("\\x00", "\0").split("§")
        found.append(Planted(line, tuple(parts[1::2]), f"$ a line before\n{''.join(parts)}\na line after\n"))
    return found


def blind_benign() -> list[str]:
    """A thousand lines without a secret."""
    return [line.replace(_BREAK, "") for line in lines_of("blind_benign.txt")]
