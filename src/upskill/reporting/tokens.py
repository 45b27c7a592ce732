"""A rough count of tokens, always shown with a `~`: a real count would need the model's own vocabulary."""


def estimate_tokens(text: str) -> int:
    """About four bytes of UTF-8 to a token."""
    return (len(text.encode("utf-8", "replace")) + 3) // 4
