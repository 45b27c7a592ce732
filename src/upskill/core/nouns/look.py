"""A look: one evaluation of one model, as the ledger keeps it. A later look at the same cases is noticed.

Knows what makes two cases the same, and two skills versions of one; not what follows from that.

Why an evaluation ended is a value, too. Decisions look at it; the words for people are made from it.
"""

import hashlib
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import urlsplit

from upskill.core.nouns.case import Case
from upskill.core.nouns.lift import Verdict
from upskill.core.nouns.plan import Design, Student
from upskill.core.nouns.skill import Skill
from upskill.core.nouns.text import count, digest_of
from upskill.core.nouns.trial import Trial

DesignEnd = Literal[
    "decided", "no difference", "min lift", "withdrawn", "futile", "copies", "judge", "regraded", "checks changed"
]
StudentEnd = DesignEnd | Literal["plan finished", "cap reached", "endpoint down", "interrupted"]
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


def reason_to_stop(reason: str | None, *, verdict: str | None, clears: bool | None) -> str | None:
    """Why a design stopped, as it is reported: what has no verdict was not decided, whatever boundary was crossed."""
    if reason != "decided" or verdict not in ("undecided", "invalid"):
        return reason
    return "withdrawn" if clears is None else "min lift"


def end_by_design(reason: str | None) -> DesignEnd | None:
    """The end of a student whose design stopped for this reason; `None` where something else ended it."""
    ends: tuple[DesignEnd, ...] = get_args(DesignEnd)
    return next((end for end in ends if end == reason), None)


LOOK_FORMAT = "upskill.look/1"
SKETCH_LINES = 64
SAME_WORDS = 0.8
"""Two cases with the same checks ask the same where so much of the shorter prompt is in both."""
_SHORT, _SHORT_WORD = 16, 8
_WORD = re.compile(r"\w+")
CUT_SHORT: frozenset[StudentEnd] = frozenset({"interrupted", "endpoint down", "cap reached"})
"""The ends of a run that may be resumed."""


class SeenPair(NamedTuple):
    """Both arms of one case, scored: which two answers, and whether each passed."""

    instance: str
    instance_against: str
    passed: bool
    passed_against: bool
    answers: tuple[str, str] = ("", "")
    """Digests of both answers: copies of an answer are no further evidence."""
    lost: tuple[bool, bool] = (False, False)
    """Whether an answer of each arm was lost before this one came."""
    repeat: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class SeenCase:
    """What a look saw of one case."""

    key: str
    """Survives reformatting of the case file, a new id and new checks."""
    checks: str
    """The digest of its checks."""
    words: tuple[str, ...] = ()
    """The digests of some of its words: a case that was worded anew is recognised."""
    family: str | None = None
    pairs: tuple[SeenPair, ...] = ()

    def asks_like(self, other: "SeenCase") -> bool:
        """Whether both ask the same: in the same words, or in mostly the same words with the same checks."""
        if self.key == other.key:
            return True
        if self.checks != other.checks or not (self.words and other.words):
            return bool(self.words) and self.words == other.words
        mine, theirs = _set_of(self.words), _set_of(other.words)
        return len(mine & theirs) >= SAME_WORDS * min(len(mine), len(theirs))


@lru_cache(maxsize=10_000)
def _set_of(words: tuple[str, ...]) -> frozenset[str]:
    """Words as a set; each case is compared with every other one."""
    return frozenset(words)


Asked = Literal["lift", "loads", "loads among others"]
"""What a look asks: whether a skill helps, or whether its description makes a model load it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Look:
    """One evaluation of one student."""

    format: str = LOOK_FORMAT
    at: str
    """When it ended, UTC."""
    run: str
    """The run folder, as it was shown."""
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
    """`baseline`, or the digest of the older version that it was compared with."""
    design: Design
    repeats: int
    min_lift: float | None = None
    cases: tuple[SeenCase, ...]
    """What was seen of each case, or of each prompt that asks for a load or not."""
    lost: int = 0
    """Requests with the skill whose answer was lost."""
    lost_against: int = 0
    level: float
    """One-sided: how often a skill that changes nothing would be called helpful."""
    verdict: Verdict
    claim: str | None = None
    sentence: str
    end: StudentEnd = "plan finished"
    report: Mapping[str, Any] = field(default_factory=dict)
    """The student's part of the object of `--json`, so that the verdict can be given again."""
    notes: tuple[str, ...] = ()
    """What the run said beside it."""

    def is_of(self, run: str) -> bool:
        """Whether it was taken in the run folder of this name. Run folders have unique names."""
        return self.run.rpartition("/")[2] == run

    @property
    def unfinished(self) -> bool:
        """Whether a person, a cap or an outage ended it: then asking again continues it."""
        return self.end in CUT_SHORT

    @property
    def spoilt(self) -> bool:
        """Whether it lost too much to allow a verdict: its pairs are a choice that nobody made fairly."""
        return self.verdict == "invalid" and not self.unfinished

    @property
    def claims_nothing(self) -> bool:
        """Whether nothing was said that answers could have changed: such a look is free.

        One that lost answers is not: where failing answers are lost, the looks that lose few are the lucky ones.
        """
        lost = self.lost + self.lost_against
        return (self.spoilt and not lost) or (self.end in ("interrupted", "endpoint down") and self.claim is None)

    @property
    def helped(self) -> bool:
        """Whether it said that cases like these are helped."""
        return self.verdict == "helps" and self.claim == "cases like these"

    def showed(self, least: float | None) -> bool:
        """Whether it said that cases like these are helped, by as much as is asked for where something is."""
        if least is None or least <= 0:
            return self.helped
        return self.helped and self.report.get("clears") is True and (self.min_lift or 0.0) >= least

    @property
    def keys(self) -> frozenset[str]:
        """Its cases."""
        return frozenset(case.key for case in self.cases)

    @property
    def answers(self) -> frozenset[str]:
        """The answers that it rests on, each by its instance."""
        return frozenset(instance for case in self.cases for pair in case.pairs for instance in pair[:2])


@dataclass(frozen=True, kw_only=True, slots=True)
class PooledCase:
    """Counts of the pairs of one case in earlier looks."""

    case_id: str
    pairs: int
    passed: int
    passed_against: int
    family: str | None = None
    answers: tuple[tuple[int, str, str], ...] = ()
    """The repeat and both answers of each pair, as digests."""


Relation = Literal["pooled", "same cases", "other version", "other settings"]
"""What an earlier look is to the next: its cases are new and count together, or it spends level."""


@dataclass(frozen=True, kw_only=True, slots=True)
class EarlierLook:
    """A look before this one, as a result lists it."""

    at: str
    run: str
    relation: Relation
    cases: int
    level: float
    verdict: str


@dataclass(frozen=True, kw_only=True, slots=True)
class LookTerms:
    """How strict one verdict on these cases is, and which answers of earlier runs it counts."""

    level: float
    """One-sided error level."""
    prior: tuple[PooledCase, ...] = ()
    """Earlier pairs of the same version of the skill."""
    removed: tuple[PooledCase, ...] = ()
    """Earlier pairs of cases that were removed. A claim must also hold with these."""
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
    """Names one answer: a trial that comes from the trial store again is the same instance."""
    return digest_of([trial.id, trial.finished_at, trial.answer_digest])[:_SHORT]


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


def words_of(case: Case) -> tuple[str, ...]:
    """The smallest digests of the different words of a case, of its prompt and of its files."""
    texts = [case.prompt, *(data.decode("utf-8", "replace") for data in case.files.values())]
    words = {word for text in texts for word in _WORD.findall(_normal(text).casefold())}
    return tuple(sorted(digest_of(word)[:_SHORT_WORD] for word in words)[:SKETCH_LINES])


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
