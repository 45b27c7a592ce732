"""Searches what a `generate` is given and what it would save. A dangerous draft is saved only where a person agrees."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from upskill import storage
from upskill.domain.finding import Finding, FindingsRefused
from upskill.domain.text import count
from upskill.models import Ask, Question, Reply
from upskill.shipping import new_findings, search_skill, search_text
from upskill.storage.skills import read_contents
from upskill.teaching.draft_rules import without_hidden
from upskill.teaching.material import Material

Accept = Callable[[Sequence[Finding], Path], bool]
"""Whether a person agrees to dangers that a draft has and the version before it had not; the path is the draft's."""
NOBODY: Accept = lambda _findings, _draft: False  # noqa: E731
_STEP = re.compile(r"\b(?:trace \d+,? )?(?:steps?|turns?) \d+", re.IGNORECASE)
_MOST_NOTED = 5


class DraftSearch:
    """Watches the answers that drafts are made from, and searches the draft that would be saved."""

    def __init__(self) -> None:
        self._removed = 0

    def watching(self, ask: Ask) -> Ask:
        """The same, with invisible characters counted: they are removed when an answer is read."""

        def watched(questions: Sequence[Question], /) -> tuple[Reply, ...]:
            replies = ask(questions)
            texts = [_unescaped(reply.text) for reply in replies]
            self._removed += sum(len(text) - len(without_hidden(text)) for text in texts)
            return replies

        return watched

    def search(self, draft: Path) -> tuple[Finding, ...]:
        """Every finding in the files of a draft, and one for what was removed before it was one."""
        found = search_skill(_contents(draft))
        return (*found, *self._removals())

    def _removals(self) -> Iterator[Finding]:
        if self._removed:
            characters = count(self._removed, "invisible character")
            yield Finding(
                rule="invisible-characters",
                severity="caution",
                file="answers of the teacher",
                line=1,
                excerpt=f"{characters} {'was' if self._removed == 1 else 'were'} removed",
                reason="An answer of the teacher had invisible characters.",
                remedy="Search the material for their source.",
            )


def agreed_findings(
    found: Sequence[Finding], *, draft: Path, previous: Path | None, accept: Accept, shown: str, accepting: str
) -> tuple[Finding, ...]:
    """The findings as they are saved. Raises `FindingsRefused` where nobody agrees to a danger that `previous`, the
    version that would be replaced, has not; `accepting` is the command that agrees to all of them."""
    new = found if previous is None else new_findings(found, _contents(previous))
    dangers = [one for one in new if one.severity == "danger"]
    if dangers and not accept(dangers, draft):
        raise FindingsRefused(
            f"{draft.name}: not saved: {count(len(dangers), 'dangerous finding')} in the draft {shown}",
            findings=found,
            problems=[one.line_for_people for one in dangers],
            hint=f"read the draft; to save it as it is: {accepting}",
        )
    return tuple(replace(one, accepted=one in dangers) for one in found)


def material_notes(material: Material) -> tuple[str, ...]:
    """What in the material hides text or gives orders to its reader, with its place. Nothing is refused for it."""
    texts = [("example", one) for one in material.examples]
    texts += [(one.name, one.text) for one in material.documents]
    if material.digest is not None:
        texts.append(("the session", material.digest.text))
    notes = [_note(name, text, one) for name, text in texts for one in search_text("material.md", text)]
    more = len(notes) - _MOST_NOTED
    return (*notes[:_MOST_NOTED], *((f"and {more} more suspicious places",) if more > 0 else ()))


def _note(name: str, text: str, found: Finding) -> str:
    steps = _STEP.findall("\n".join(text.split("\n")[: found.line]))
    where = f"{steps[-1]} of {name}" if steps and name == "the session" else f"line {found.line} of {name}"
    return f"{where} looks suspicious ({found.rule}): {found.excerpt}"


def _contents(folder: Path) -> dict[str, bytes]:
    return dict(read_contents(folder, storage.read_skill(folder)))


def _unescaped(text: str) -> str:
    """The texts of an answer: invisible characters may stand in it as escapes."""
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except ValueError:
        return text
