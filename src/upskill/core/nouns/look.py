"""A look: one evaluation of one model, as the ledger keeps it. A later look at the same cases is noticed.

Knows what makes two cases the same, and two skills versions of one; not what follows from that.

Why an evaluation ended is a value, too. Decisions look at it; the words for people are made from it.
"""

import hashlib
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

from upskill.core.nouns.case import Case
from upskill.core.nouns.lift import Verdict
from upskill.core.nouns.plan import Design, Student
from upskill.core.nouns.skill import Skill
from upskill.core.nouns.text import count, digest_of
from upskill.core.nouns.trial import Trial

DesignEnd = Literal["decided", "futile", "copies", "plan finished"]
"""Why a design asks no more: the first look decided; a second one would hardly show more; answers repeat
themselves; all was asked."""
StudentEnd = DesignEnd | Literal["cap reached", "endpoint down", "interrupted", "checks changed"]
"""Why no more answers of one model were asked for. docs/reference/json.md explains each value."""

CapKind = Literal["calls", "tokens", "dollars", "minutes"]


_RAISED: dict[CapKind, str] = {
    "calls": "--max-calls N",
    "tokens": "UPSKILL_MAX_TOTAL_TOKENS=N",
    "dollars": "--max-cost DOLLARS",
    "minutes": "UPSKILL_MAX_TIME_MINUTES=N",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Cap:
    """A limit that was set before the run, in the unit of `kind`."""

    kind: CapKind
    amount: float

    @property
    def raised_with(self) -> str:
        """The option that raises it, or the variable, with a placeholder for the value."""
        return _RAISED[self.kind]

    def __str__(self) -> str:
        match self.kind:
            case "calls":
                return f"the cap of {count(int(self.amount), 'call')}"
            case "tokens":
                return f"the cap of {int(self.amount):,} tokens"
            case "dollars":
                # Two decimals, and more only where they say something.
                two = round(self.amount, 2) == self.amount
                return f"the cap of ${f'{self.amount:,.2f}' if two else f'{self.amount:g}'}"
            case "minutes":
                return f"the cap of {self.amount:.3g} minutes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outage:
    """An endpoint that went down."""

    model: str
    """The engine's name for it."""
    said: str
    """The endpoint's last error."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunEnd:
    """What ended a run before its plan was done: a person, a cap or outages."""

    interrupted: bool = False
    cap: Cap | None = None
    outages: tuple[Outage, ...] = ()

    @property
    def is_complete(self) -> bool:
        """Whether a resume would only retry what errored."""
        return not self.interrupted and self.cap is None and not self.outages

    def has_outage(self, model: str) -> bool:
        """Whether the endpoint of a model went down."""
        return any(outage.model == model for outage in self.outages)


LOOK_FORMAT = "upskill.look/2"
SKETCH_LINES = 64
_SHORT = INSTANCE_PREFIX = 16
CUT_SHORT: frozenset[StudentEnd] = frozenset({"interrupted", "endpoint down", "cap reached"})
"""The ends of a run that may be resumed."""


class SeenPair(NamedTuple):
    """Both arms of one case, scored: which two answers, and whether each passed."""

    instance: str
    instance_against: str
    """Empty where only answers with the skill were asked for."""
    passed: bool
    passed_against: bool
    """`True` where no other answer was asked for: nobody may gain by leaving it out."""
    lost: tuple[bool, bool] = (False, False)
    """Whether an answer of each arm was lost before this one came."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenCase:
    """What a look saw of one case."""

    key: str
    """Survives reformatting of the case file, a new id and new checks."""
    checks: str
    """The digest of its checks."""
    family: str | None = None
    pairs: tuple[SeenPair, ...] = ()


Asked = Literal["lift", "loads", "loads among others"]
"""What a look asks: whether a skill helps, or whether its description makes a model load it."""
NOTHING = "nothing"
"""What answers are compared with where only the skill was asked for."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """One evaluation of one student: opened before its first answer is bought, and closed by its verdict."""

    format: str = LOOK_FORMAT
    id: str
    """The name of the run folder in which it was opened: a look that is gone on with keeps it."""
    at: str
    """When it was opened, UTC."""
    ended_at: str | None = None
    """When it was closed; `None` for one that is open, or was killed."""
    run: str
    """The last run folder, as it was shown."""
    student: str
    """The name that was typed."""
    model: str
    """The digest of the model: the same on another port, or under another name of the same weights."""
    kind: str
    """The digest of how the model is asked: harness, temperature, limits."""
    served: str | None
    """The digest of what the server said of the model; `None` where it said nothing."""
    asked: Asked = "lift"
    skill: str
    place: str = ""
    """The digest of the folder that the skill lies in."""
    version: str
    """The digest of the skill."""
    sketch: tuple[str, ...]
    """The digests of some of the skill's lines: versions of one skill have many in common."""
    against: str
    """`baseline`, the digest of the older version that it was compared with, or `nothing`."""
    design: Design
    repeats: int
    cases: tuple[SeenCase, ...]
    """What was seen of each case, or of each prompt that asks for a load or not; nothing yet, while it is open."""
    lost: int = 0
    """Requests with the skill whose answer was lost."""
    lost_against: int = 0
    level: float
    """One-sided: how often a skill that changes nothing would be called helpful."""
    remembered: bool = True
    """Whether its answers are in the trial store: only then can a look that was killed be gone on with."""
    practice: bool = False
    """Whether its cases were practised on: then it counts where one of them is to prove something."""
    verdict: Verdict | None = None
    """`None` while it is open, and where nothing was compared."""
    claim: str | None = None
    lift: float | None = None
    shown_lift: float | None = None
    """The lift that a person asked for, where at least that was shown."""
    sentence: str = ""
    end: StudentEnd = "interrupted"

    @property
    def is_open(self) -> bool:
        """Whether it was not closed: it is going on, or its process was killed."""
        return self.ended_at is None

    @property
    def unfinished(self) -> bool:
        """Whether a person, a cap or an outage ended it: then asking again continues it."""
        return self.is_open or self.end in CUT_SHORT

    @property
    def is_free(self) -> bool:
        """Whether it was closed without an answer, so that nobody has seen anything."""
        return not self.is_open and not self.answers and not (self.lost or self.lost_against or self.asked != "lift")

    def helped(self, least: float | None = None) -> bool:
        """Whether it said that new cases are helped, by as much as is asked for where something is."""
        said = self.verdict == "helps" and self.claim == "new cases"
        return said and (least is None or least <= 0 or (self.shown_lift is not None and self.shown_lift >= least))

    @property
    def keys(self) -> frozenset[str]:
        """Its cases."""
        return frozenset(case.key for case in self.cases)

    @property
    def answers(self) -> frozenset[str]:
        """The answers that it rests on, each by its instance."""
        return frozenset(instance for case in self.cases for pair in case.pairs for instance in pair[:2] if instance)


@dataclass(frozen=True, kw_only=True, slots=True)
class RemovedCase:
    """What was seen last of a case that is asked no more, or is checked in another way."""

    key: str
    pairs: int
    passed: int
    passed_against: int
    family: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierLook:
    """A look before this one, as a result lists it."""

    at: str
    run: str
    cases: int
    level: float
    verdict: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LookTerms:
    """How strict one verdict on these cases is."""

    level: float
    """One-sided error level."""
    id: str | None = None
    """The look that is gone on with; `None` for a new one."""
    at: str | None = None
    """When that was opened."""
    answered: bool = False
    """Whether that came to its end and every answer of it is there, so that nothing is bought."""
    removed: tuple[RemovedCase, ...] = ()
    """Cases that were seen and are asked no more. A claim must also hold with these."""
    regraded: int = 0
    """Cases whose checks changed after answers were seen that are counted now. With any, nothing is claimed."""
    earlier: tuple[EarlierLook, ...] = ()
    """The looks before this one that count, oldest first."""
    note: str | None = None
    """The note for the reader; `None` for a first look."""


def case_key(case: Case) -> str:
    """Equal for two cases that ask the same, however they are formatted, named or checked."""
    files = {path: _normal_file(data) for path, data in case.files.items()}
    return digest_of([_normal(case.prompt), files])[:_SHORT]


def checks_digest(case: Case) -> str:
    """Equal for two cases that are checked in the same way."""
    return digest_of([[check.kind, check.spec] for check in case.checks])[:_SHORT]


def instance_of(trial: Trial) -> str:
    """Names one answer: a trial that comes from the trial store again is the same instance. Begins like its id."""
    return trial.id[:_SHORT] + digest_of([trial.finished_at, trial.answer_digest])[:_SHORT]


def sketch_of(skill: Skill) -> tuple[str, ...]:
    """The smallest digests of the different lines of a skill."""
    return sketch_of_text(f"{skill.description}\n{skill.body}")


def sketch_of_text(text: str) -> tuple[str, ...]:
    """The smallest digests of the different lines of a text."""
    lines = {_normal(line) for line in text.splitlines()}
    return tuple(sorted(digest_of(line)[:_SHORT] for line in lines if line)[:SKETCH_LINES])


def alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two sketches are of versions of one skill: half of the shorter one is in both."""
    mine, theirs = frozenset(one), frozenset(other)
    return bool(mine and theirs) and 2 * len(mine & theirs) >= min(len(mine), len(theirs))


def model_key(student: Student, *, weights: str | None) -> str:
    """The digest of a model: by its weights where the server tells, else by its name and the host that serves it."""
    host = None if student.endpoint is None else urlsplit(student.endpoint).hostname
    return digest_of([student.model, host] if weights is None else weights)[:_SHORT]


def kind_key(student: Student, *, harness: str, conditions: Mapping[str, object], known: bool) -> str:
    """The digest of how a student is asked; `conditions` is whatever else changes its answers or grades.

    Where the served file is not `known`, two ports may serve two models, so their answers do not belong together.
    """
    asked = {"temperature": student.temperature, "max_output_tokens": student.max_output_tokens, "harness": harness}
    parts = urlsplit(student.endpoint or "")
    where = None if known else f"{parts.hostname}:{parts.port}{parts.path}"
    return digest_of({**asked, **conditions, "where": where})[:_SHORT]


def _normal(text: str) -> str:
    """One spelling of texts that differ in white space and Unicode form only."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _normal_file(data: bytes) -> str:
    try:
        return digest_of(_normal(data.decode("utf-8")))
    except UnicodeDecodeError:
        return hashlib.sha256(data).hexdigest()
