"""Text that came from elsewhere may hold half a character (a lone surrogate), which has no UTF-8."""


def whole_characters(text: str) -> str:
    """The text as it can be written and sent: half a character becomes a question mark."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def readable_text(data: bytes) -> str | None:
    """The text of a file; `None` where it is not one."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
