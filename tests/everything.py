"""A folder as it is on disk, to be compared with what it was."""

from pathlib import Path


def everything_below(folder: Path) -> dict[str, bytes]:
    """All files, byte for byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
