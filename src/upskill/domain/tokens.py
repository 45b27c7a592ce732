"""A rough count of tokens, always shown with a `~`: a real count would need the model's own vocabulary."""


def estimate_tokens(text: str) -> int:
    """About four bytes of UTF-8 to a token."""
    return tokens_of_bytes(len(text.encode("utf-8", "replace")))


def tokens_of_bytes(size: int) -> int:
    """The same for a text of which only the size is known."""
    return (size + 3) // 4
