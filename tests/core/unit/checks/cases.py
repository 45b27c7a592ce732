"""Cases and skills for tests, in as few words as possible."""

from collections.abc import Sequence
from typing import Any

from upskill.core.nouns import Answer, Case, Check, Skill


def case(
    prompt: str = "Which port does quayctl use?",
    *checks: dict[str, Any],
    reference: str | dict[str, str] | None = None,
    wrong: Sequence[str] = (),
    files: dict[str, str] | None = None,
    name: str = "one",
) -> Case:
    """A case as its file would say it: a reference is text, or files by path."""
    return Case(
        id=name,
        prompt=prompt,
        checks=tuple(Check(kind=kind, spec=spec) for check in checks for kind, spec in check.items()),
        files={path: text.encode() for path, text in (files or {}).items()},
        reference=None if reference is None else answer(reference),
        wrong=tuple(Answer(text=text) for text in wrong),
    )


def answer(said: str | dict[str, str]) -> Answer:
    if isinstance(said, str):
        return Answer(text=said)
    return Answer(files={path: text.encode() for path, text in said.items()})


def skill(body: str = "Nothing of use.") -> Skill:
    return Skill(name="quay", description="Facts.", body=body, digest=f"digest of {body}")
