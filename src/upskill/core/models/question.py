"""A question to a teacher and what came back, as plain values: rooms that ask do not know how it is asked."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from upskill.core.nouns import digest_of

MOST_OUTPUT_TOKENS = 16_384


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One turn of the conversation."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """One call to a teacher."""

    purpose: str
    """For records and progress, in a word: lessons, cases, draft, revision, search."""
    system: str
    messages: tuple[Message, ...]
    schema: Mapping[str, object] | None = None
    """The JSON Schema of the answer: enforced where the model can, asked for in words everywhere."""
    max_output_tokens: int = MOST_OUTPUT_TOKENS

    @property
    def digest(self) -> str:
        """The same question has the same digest: a finished call is never bought again."""
        return digest_of(
            {
                "system": self.system,
                "messages": [[message.role, message.text] for message in self.messages],
                "schema": self.schema,
                "max_output_tokens": self.max_output_tokens,
            }
        )

    def followed_by(self, *messages: Message) -> "Question":
        """The same conversation, gone on with."""
        return replace(self, messages=(*self.messages, *messages))


@dataclass(frozen=True, kw_only=True, slots=True)
class Reply:
    """What a teacher answered."""

    text: str
    cut: bool = False
    """Whether it ended because it was too long."""


class Ask(Protocol):
    """Puts questions to a teacher, side by side where there are several, and brings the replies in the same order.

    Whoever hands it over has built in the meter, the redaction of what is sent, and the memory of what was bought.
    Raises `NoAnswer` where a question brought no answer.
    """

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]: ...
