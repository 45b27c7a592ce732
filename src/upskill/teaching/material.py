"""What a teacher is given to work from, already read and redacted."""

from dataclasses import dataclass

from upskill.domain.draft import Draft
from upskill.domain.trace_digest import TraceDigest


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text to learn from: a page of documentation, a file of a repository."""

    name: str
    text: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Material:
    """Everything a skill can be made from. A task alone is enough."""

    task: str
    """What the skill is for, in the person's words; for a skill that is improved, what to improve."""
    examples: tuple[str, ...] = ()
    """Inputs, or inputs with what should come out, that the person gave with -e."""
    digest: TraceDigest | None = None
    """What is worth keeping of the traces; `digest.text` is the Markdown that names every step."""
    documents: tuple[Document, ...] = ()
    skill: Draft | None = None
    """The skill that is to be improved."""
