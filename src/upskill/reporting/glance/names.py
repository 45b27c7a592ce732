"""Names of models that fit beside a picture: short, no two alike, and without anything that acts."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from rich.cells import cell_len, set_cell_size

from upskill.domain.text import visible

_SCRIPT = "scripted/"
LONGEST = 36
"""Cells of a short name."""


def names_by_model(models: Sequence[str]) -> dict[str, str]:
    """The short name of each model, by its full one."""
    return dict(zip(models, unique_names(models), strict=True))


def unique_names(names: Sequence[str]) -> list[str]:
    """A short name for each: the file name of a script, the last part of a path, and more of it where two are alike."""
    clean = [" ".join(visible(name).split()) or "?" for name in names]
    parts = [_parts(name) for name in clean]
    return told_apart(["/".join(one[-_needed(one, parts) :]) for one in parts], LONGEST)


def told_apart(names: Sequence[str], most: int, dots: str = "…") -> list[str]:
    """The names in so many cells each; those that are alike once they are cut have their number."""
    cut = [fitted(name, most, dots) for name in names]
    room = most - len(f" #{len(names)}")
    return [
        one if cut.count(one) == 1 else f"{fitted(name, room, dots)} #{number}"
        for number, (one, name) in enumerate(zip(cut, names, strict=True), 1)
    ]


def fitted(name: str, most: int, dots: str = "…") -> str:
    """The name in at most so many cells of a terminal, cut in the middle: models differ at both ends."""
    if len(name) > 2 * most:  # marks that combine take no cell, however many there are
        name = name[:most] + name[-most:]
    if cell_len(name) <= most:
        return name
    tail_cells = (most - 1) * 2 // 3
    head = set_cell_size(name, most - 1 - tail_cells).rstrip()
    tail = name
    while cell_len(tail) > tail_cells:
        tail = tail[1:]
    return f"{head}{dots}{tail}"


def is_scripted(model: str) -> bool:
    """Whether a script stands in for a model."""
    return model.startswith(_SCRIPT)


def _parts(name: str) -> tuple[str, ...]:
    if not is_scripted(name):
        return tuple(part for part in name.split("/") if part) or (name,)
    path = PurePosixPath(name.removeprefix(_SCRIPT))
    return (*path.parts[:-1], path.stem)


def _needed(one: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> int:
    """How many of the last parts tell this name from the others."""
    different = [other for other in others if other != one]
    return next(
        (most for most in range(1, len(one)) if all(other[-most:] != one[-most:] for other in different)), len(one)
    )
