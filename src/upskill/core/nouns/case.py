"""A case, its checks, and whether it can tell right from wrong. A check is a kind and a spec: no kind is known here."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Literal

from upskill.core.nouns.answer import Answer, Files
from upskill.core.nouns.text import digest_of

CaseUse = Literal["learn", "held-out", "negative"]
"""`learn`: a practice case; the teacher sees its failures. `held-out`: the teacher never sees it; it counts for the
verdict. `negative`: an unrelated case; it can only count against the skill."""

State = Literal["qualified", "unproven", "rejected"]
"""Its checks tell right from wrong; not shown, so it counts and is marked; they do not, so it never counts."""

Label = Literal["recall", "leaks", "saturated", "impossible"]
"""The case asks for what is word for word in the skill; the prompt gives the answer away; the case always, or never,
passes without the skill. A label never excludes a case.
"""

LABELS: tuple[Label, ...] = ("recall", "leaks", "saturated", "impossible")
LABEL_MEANINGS: dict[Label, str] = {
    "recall": "asks for what is in the skill, word for word",
    "leaks": "the prompt gives the answer away",
    "saturated": "always passes without the skill",
    "impossible": "never passes without the skill",
}
"""The labels explained, for reports."""

Json = None | bool | int | float | str | list["Json"] | dict[str, "Json"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """One check of an answer: its kind, and what it asks for, as plain JSON."""

    kind: str
    spec: Json


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckOffer:
    """A kind of check that a teacher may use in the cases it writes."""

    kind: str
    guidance: str
    """What the teacher is told about it; empty where the text for another kind covers it."""
    schema: Mapping[str, Any]
    """The JSON Schema of a spec."""
    runs_programs: bool = False
    only_words: bool = False
    """Whether it looks at the text of an answer and at nothing else."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UserTurn:
    """What a user says at one point of a conversation, with the checks of the answer to it."""

    prompt: str
    checks: tuple[Check, ...] = ()
    reference: Answer | None = None
    wrong: tuple[Answer, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One task for a model, with the checks that decide whether it was done."""

    id: str
    prompt: str
    """In a conversation, the words of the user in all turns."""
    checks: tuple[Check, ...]
    """In a conversation, those of all turns, in their order."""
    files: Files = field(default_factory=dict)
    """Files in the model's working folder at the start."""
    reference: Answer | None = None
    """A right answer. No model ever sees it."""
    wrong: tuple[Answer, ...] = ()
    """Answers that are wrong."""
    use: CaseUse | None = None
    """What a generated case is for; `None` for cases that were never split."""
    family: str | None = None
    """What it shares with other cases, such as a template, a document or a bug."""
    passage: str | None = None
    """The part of the material that holds the answer. Only the ceiling arm shows it to a model."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Keys of a foreign file that we do not use and do not lose."""
    turns: tuple[UserTurn, ...] = ()
    """What the user says one after the other, in a conversation; empty where one prompt is answered once."""

    @property
    def digest(self) -> str:
        """Changes with the prompt, the files or any check; the id is only a name."""
        turns = {"checks_of_turns": [len(turn.checks) for turn in self.turns]} if self.turns else {}
        return digest_of({**self._asked, "checks": [[check.kind, check.spec] for check in self.checks], **turns})

    @property
    def prompt_digest(self) -> str:
        """Changes with the prompt and the files, and stays when checks change."""
        return digest_of(self._asked)

    @property
    def _asked(self) -> dict[str, object]:
        files = {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}
        turns = {"turns": [turn.prompt for turn in self.turns]} if self.turns else {}
        return {"prompt": self.prompt, **({"files": files} if files else {}), **turns}

    @property
    def first_prompt(self) -> str:
        """What the user says first."""
        return self.turns[0].prompt if self.turns else self.prompt

    @property
    def later_prompts(self) -> tuple[str, ...]:
        """What the user says after the first answer, one after the other."""
        return tuple(turn.prompt for turn in self.turns[1:])

    def goes_on_in(self, other: "Case") -> bool:
        """Whether another part is a later turn of the conversation that this part begins."""
        return other.prompt.startswith(f"{self.prompt}{_THEN}")

    @property
    def parts(self) -> tuple["Case", ...]:
        """Each turn as a case of its own, whose prompt is all that the user has said by then; the case itself where it
        is no conversation."""
        if not self.turns:
            return (self,)
        return tuple(
            Case(
                id=f"{self.id}, {turn_name(number, self.turns)}",
                prompt=prompt_of(self.turns[:number]),
                checks=turn.checks,
                files=self.files,
                reference=turn.reference,
                wrong=turn.wrong,
            )
            for number, turn in enumerate(self.turns, 1)
        )


_THEN = "\n\nThen: "


def turn_name(number: int, turns: Sequence[object]) -> str:
    """One of the turns of a conversation, as people read it."""
    return f"turn {number} of {len(turns)}"


def by_turns(texts: Iterable[str]) -> str:
    """What was said in the turns of a conversation, by their numbers."""
    return "\n\n".join(f"Turn {number}: {text}" for number, text in enumerate(texts, 1))


def prompt_of(turns: Sequence[UserTurn]) -> str:
    """The words of the user in these turns."""
    return _THEN.join(turn.prompt.strip() for turn in turns)


def dialogue(prompts: Sequence[str], answers: Sequence[str]) -> str:
    """Who said what, one after the other. A prompt without an answer is the last that was said."""
    said = zip_longest(prompts, answers)
    return "\n\n".join(
        f"{who}: {text.strip()}"
        for turn in said
        for who, text in zip(("User", "Model"), turn, strict=True)
        if text is not None
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """The result of one check."""

    kind: str
    passed: bool
    saw: str
    """What the check found, in words."""
    basis: str | None = None
    """For a judge: the digest of the check, the judge and the answer."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """The results of all checks of a case on one answer."""

    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """Whether all checks passed. Without checks it is false."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def checks_passed(self) -> int:
        """Checks that passed."""
        return sum(result.passed for result in self.results)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """A remark on a case for its author."""

    saw: str
    """What was found."""
    change: str = ""
    """What to change; empty if nothing."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Qualification:
    """The state of one case before any model answers it."""

    case_id: str
    state: State
    labels: tuple[Label, ...] = ()
    reasons: tuple[Reason, ...] = ()
    mutants: int = 0
    """Mechanical mutants of the reference that were graded."""
    slipped: tuple[str, ...] = ()
    """Mutants that passed, each by what was changed in the reference."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseChanges:
    """The ids of cases that differ between two versions of a skill."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    accepted: bool = False
    """Whether a person accepts that: then cases are measured as they are now, else as they were in the old version."""

    @property
    def refused(self) -> tuple[str, ...]:
        """The old cases that were changed or removed while nobody accepts it: no requirement is met then."""
        return () if self.accepted else (*self.changed, *self.removed)

    @property
    def by_kind(self) -> dict[str, tuple[str, ...]]:
        return {"changed": self.changed, "removed": self.removed, "added": self.added}

    @property
    def words(self) -> str:
        """How many were changed, removed and added, with some ids; empty where none was."""
        return ", ".join(
            f"{len(ids)} {kind} ({', '.join(ids[:3])}{', …' if len(ids) > 3 else ''})"
            for kind, ids in self.by_kind.items()
            if ids
        )


NO_CASE_CHANGES = CaseChanges()


def case_changes(before: Sequence[Case], after: Sequence[Case], *, accepted: bool) -> CaseChanges:
    """What differs in any part, also in what a case is for: a case that no longer counts is a changed one."""
    old, new = {case.id: case for case in before}, {case.id: case for case in after}
    return CaseChanges(
        changed=tuple(id for id in old if id in new and old[id] != new[id]),
        removed=tuple(id for id in old if id not in new),
        added=tuple(id for id in new if id not in old),
        accepted=accepted,
    )
