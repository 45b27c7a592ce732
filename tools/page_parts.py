"""Pages that people write, with a part that a program writes between two marks."""

END = "<!-- End of what is generated. -->"


def with_part(page: str, begin: str, text: str) -> str:
    """The page with this text between the mark `begin` and the next `END`. Raises `ValueError` if a mark is missing."""
    before = page.index(begin)
    after = page.index(END, before)
    return f"{page[:before]}{begin}\n\n{text}\n{page[after:]}"
