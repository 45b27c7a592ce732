"""Cells of a table that a spreadsheet will open."""

from upskill.domain.characters import whole_characters

Cell = str | int | float | None

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "'")
"""A spreadsheet would take a cell that begins so for a formula. The apostrophe is here so that a reader can undo it."""


def safe_cell(cell: Cell) -> Cell:
    """The cell as text and nothing else, in characters that a file can hold."""
    if not isinstance(cell, str):
        return cell
    cell = whole_characters(cell)
    return f"'{cell}" if cell.startswith(_FORMULA) else cell
