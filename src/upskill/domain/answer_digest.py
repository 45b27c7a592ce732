"""The identity of an answer: its text and its files."""

import hashlib

from upskill.domain.answer import Answer
from upskill.domain.digest import digest_of


def answer_digest(answer: Answer) -> str:
    """Equal for two answers exactly when their texts and files are."""
    return digest_of(
        {
            "text": answer.text,
            "files": {path: hashlib.sha256(data).hexdigest() for path, data in answer.files.items()},
        }
    )
