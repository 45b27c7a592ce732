"""A case, its checks, and whether it can tell right from wrong. A check is a kind and a spec: no kind is known here."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from upskill.domain.answer import Answer, Files
from upskill.domain.digest import digest_of

CaseUse = Literal["learn", "held-out", "negative"]
"""`learn`: the teacher sees how the student did on it. `held-out`: it never does; the verdict comes from these.
`negative`: a task in which the skill must change nothing; it feeds the never-worse guard, never the lift."""

State = Literal["qualified", "unproven", "rejected"]
"""Shown to tell right from wrong; not shown, so it counts and is marked; shown not to, so it never counts."""

Label = Literal["recall", "leaks", "saturated", "impossible"]
"""The skill contains the answer; the prompt contains it; without the skill it always, or never, passes.

Labels say what kind of case it is. They never drop one.
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
    """One assertion on an answer: what kind, and what it asks for, as plain JSON."""

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


@dataclass(frozen=True, kw_only=True, slots=True)
class Case:
    """One task for a student, with the checks that decide whether it was done."""

    id: str
    prompt: str
    checks: tuple[Check, ...]
    files: Files = field(default_factory=dict)
    """What lies in the student's working folder when it begins."""
    reference: Answer | None = None
    """An answer that is right. No student ever sees it."""
    wrong: tuple[Answer, ...] = ()
    """Answers that are wrong."""
    use: CaseUse | None = None
    """What a generated case is for; `None` where cases were written by hand and never split."""
    family: str | None = None
    """What it shares with other cases: one template, one document, one bug. `None` where it stands alone."""
    passage: str | None = None
    """The part of the material that the answer rests on. Only the ceiling arm shows it to a student."""
    extra: Mapping[str, Json] = field(default_factory=dict)
    """Keys of a foreign file that we do not use and do not lose."""

    @property
    def digest(self) -> str:
        """Changes with the prompt, the files or any check; the id is only a name."""
        return digest_of({**self._asked, "checks": [[check.kind, check.spec] for check in self.checks]})

    @property
    def prompt_digest(self) -> str:
        """Changes with the prompt and the files, and stays when checks change."""
        return digest_of(self._asked)

    @property
    def _asked(self) -> dict[str, object]:
        files = {path: hashlib.sha256(data).hexdigest() for path, data in self.files.items()}
        return {"prompt": self.prompt, **({"files": files} if files else {})}


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckResult:
    """What a check saw, not only whether it passed."""

    kind: str
    passed: bool
    saw: str
    basis: str | None = None
    """For a judgement that was paid for: the digest of all that it rests on."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Grade:
    """The results of all checks of a case on one answer."""

    results: tuple[CheckResult, ...]

    @property
    def passed(self) -> bool:
        """A case passes when all its checks pass; no checks is not a pass."""
        return bool(self.results) and all(result.passed for result in self.results)

    @property
    def checks_passed(self) -> int:
        """How many of the checks passed."""
        return sum(result.passed for result in self.results)


@dataclass(frozen=True, kw_only=True, slots=True)
class Reason:
    """Something seen in a case, in words for the person who wrote it, and what to change."""

    saw: str
    change: str = ""
    """Empty where nothing needs to be changed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Qualification:
    """What is known about one case before any student gets it."""

    case_id: str
    state: State
    labels: tuple[Label, ...] = ()
    reasons: tuple[Reason, ...] = ()
    mutants: int = 0
    """Mechanical mutants of the reference that were graded."""
    slipped: tuple[str, ...] = ()
    """Those that passed, each by what was done to the reference."""
