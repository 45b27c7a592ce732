"""The rough count of tokens, under the name by which reports use it."""

from upskill.domain.tokens import estimate_tokens

__all__ = ["estimate_tokens"]
