"""The last section of a page that a program writes, while the rest of the page comes from elsewhere."""

from pathlib import Path


def last_section(page: Path, heading: str) -> str:
    """The page from the line `heading` to its end; empty if there is no page or no such line."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return _split(text, heading)[1]


def write_last_section(page: Path, text: str) -> None:
    """Replace the section with the same heading, the first line of `text`, or append it. What is before it stays."""
    before = _split(page.read_text(encoding="utf-8"), text.splitlines()[0])[0] if page.exists() else ""
    page.write_text(before + text, encoding="utf-8")


def _split(text: str, heading: str) -> tuple[str, str]:
    lines = text.splitlines(keepends=True)
    at = next((number for number, line in enumerate(lines) if line.rstrip("\n") == heading), None)
    if at is None:
        return (f"{text.rstrip()}\n\n" if text.strip() else ""), ""
    return "".join(lines[:at]), "".join(lines[at:])
