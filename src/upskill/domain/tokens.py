"""A rough count of tokens: a real one would need the model's own vocabulary. Always shown with a `~`."""

BYTES_PER_TOKEN = 4
"""How many bytes of UTF-8 are counted as a token where nobody says."""


def estimated_tokens(text_bytes: int) -> int:
    """Tokens of so many bytes of UTF-8, rounded up."""
    return -(-text_bytes // BYTES_PER_TOKEN)


def estimate_tokens(text: str) -> int:
    """Tokens of a text."""
    return estimated_tokens(len(text.encode("utf-8", "replace")))
