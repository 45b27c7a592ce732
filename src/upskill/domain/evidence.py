"""Evidence: what was measured of exactly this version of a skill, as values that travel beside it.

Holds everything a reader needs in order to doubt a result: digests, figures, looks, versions. Never a prompt, an
answer, a case, a path, an address or a key.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from upskill.domain.digest import digest_of
from upskill.domain.evaluation import shown_interval
from upskill.domain.harness import harness_info
from upskill.domain.lift import Interval, Verdict
from upskill.domain.plan import Design
from upskill.domain.skill import Skill
from upskill.domain.trial import Arm

EVIDENCE_FORMAT: Literal["upskill.evidence/1"] = "upskill.evidence/1"
CARD_FORMAT = 1
"""Changes with the words of the card: a card of another format cannot be compared."""
MOST_RESULTS = 200
MOST_CASES = 5_000
"""Cases of one result."""

Basis = Literal["text", "files"]
"""What of a skill a result rests on: `text`, its name and the body of `SKILL.md`; or `files`, every file of it."""

_STRICT = {"extra": "forbid", "allow_inf_nan": False}
"""Reading one of these from JSON refuses unknown keys."""
_FROM_WORST: tuple[Verdict, ...] = ("hurts", "invalid", "undecided", "no difference", "cheaper", "helps")


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredFile:
    """One file of the measured skill."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    path: str
    size: int
    sha256: str
    sha256_lf: str
    """The SHA-256 of its text with line feeds only; of other files, of its bytes."""
    program: bool = False
    """Whether it begins with `#!`: such a file may not run with other line endings."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredSkill:
    """The measured version of the skill."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    name: str
    digest: str
    """SHA-256 over the paths and bytes of its files, as in run folders."""
    text_digest: str
    """SHA-256 of what a model without tools is given: the name and the body of `SKILL.md`."""
    files: tuple[MeasuredFile, ...]


def text_digest(skill: Skill) -> str:
    """The digest of what a model without tools is given of a skill. Line endings do not change it."""
    return digest_of([skill.name, skill.body.replace("\r\n", "\n").replace("\r", "\n").strip()])


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceResult:
    """What one model did with and without the skill, in the last complete look."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    model: str
    """The name that was typed; of a script, without its folder."""
    resolved: str
    """The exact model id, `provider/name`."""
    answered_by: tuple[str, ...] = ()
    """What the server called the model, where that is another name."""
    scripted: bool = False
    """Whether a script answered instead of a model: such a result shows nothing about models."""
    own_server: bool = False
    """Whether a person named the server. Its address is left out."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    harness: str
    """With its version, as in `chat/2`."""
    agent: str | None = None
    """The version of the coding agent; `None` where the harness runs none."""
    others: int | None = None
    """How many other skills lay beside it; `None` where none was asked for."""
    others_digest: str | None = None
    """Digest of their names and digests."""
    bundled: bool = False
    """Whether the skills that come with the coding agent were offered too."""
    arm: Arm
    """How the skill reached the model: `with_skill`, or `offered`."""
    against: str
    """`baseline` (no skill), or the digest of the older version."""
    verdict: Verdict
    claim: str | None = None
    """`cases like these` (new cases of this kind) or `these cases`; `None` without `helps` or `hurts`."""
    sentence: str
    rate: float | None = None
    """Pass rate with the skill, over the pairs of the lift."""
    rate_against: float | None = None
    lift: float | None = None
    these_cases: tuple[float, float] | None = None
    """Ends of the confidence interval on these cases."""
    cases_like_these: tuple[float, float] | None = None
    """Ends of the confidence interval on new cases of this kind; `None` with too few cases."""
    confidence: float | None = None
    """Level of both intervals."""
    pairs: int = 0
    dropped: int = 0
    """Pairs without an answer in one arm or both."""
    errored: int = 0
    """Answers that could not be scored, in both arms."""
    lost: int = 0
    """Answers that were lost on the way, in both arms."""
    earlier_pairs: int = 0
    """Pairs of earlier looks that the lift includes."""
    load_rate: float | None = None
    """Share of answers in which a model loaded the offered skill."""
    design: Design
    repeats: int
    look: int | None = None
    """Which look at these cases this was, by the ledger; `None` where no ledger knows."""
    level: float | None = None
    """The one-sided error level of this look; later looks have a smaller one."""
    other_looks: Mapping[Verdict, int] = field(default_factory=dict)
    """The verdicts of the other looks at the same, each with its number."""
    cases: tuple[str, ...]
    """The digests of the cases, sorted."""
    cases_seen: int | None = None
    """The cases of the pairs: a sequential design may stop before it has asked all."""
    own_cases: bool = False
    """Whether the cases lay beside the skill when it was measured."""
    uses: Mapping[str, int] = field(default_factory=dict)
    """How many of the cases were `held-out`, `learn` (practice) or `negative`; empty where that is unknown."""
    labels: Mapping[str, int] = field(default_factory=dict)
    """How many of the cases have each label, such as `recall`."""
    judge: str | None = None
    """The model that judged answers; `None` without a judge."""
    sandbox: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of upskill, the engine and Python."""
    finished_at: str
    """UTC."""

    @property
    def basis(self) -> Basis:
        """What of the skill the result rests on."""
        return "files" if harness_info(self.harness).with_tools else "text"

    @property
    def interval(self) -> Interval | None:
        """The interval of the verdict; `None` where nothing was compared."""
        narrow, wide = map(_interval, (self.these_cases, self.cases_like_these))
        return None if narrow is None else shown_interval(claim=self.claim, these_cases=narrow, cases_like_these=wide)

    @property
    def is_narrow(self) -> bool:
        """Whether the verdict is about these cases only."""
        return self.claim == "these cases" or self.cases_like_these is None


def _interval(ends: tuple[float, float] | None) -> Interval | None:
    return None if ends is None else Interval(low=ends[0], high=ends[1])


@dataclass(frozen=True, kw_only=True, slots=True)
class MissingLook:
    """A look at this version that the ledger records and whose run folder is not here."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    model: str
    against: str
    verdict: Verdict
    claim: str | None
    at: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Evidence:
    """All that is known of one version of a skill."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    format: Literal["upskill.evidence/1"] = EVIDENCE_FORMAT
    skill: MeasuredSkill
    results: tuple[EvidenceResult, ...]
    missing_looks: tuple[MissingLook, ...] = ()
    left_out: int = 0
    """Runs of this version that were left out: damaged, contradicting themselves, or never finished."""
    date: str | None = None
    """The day of the newest result; `None` without one."""
    card_format: int = CARD_FORMAT
    """Which words the card beside it has."""

    @property
    def worst_verdict(self) -> Verdict | None:
        """The worst last verdict on any model, scripts included; `None` where nothing was measured.

        A look whose run folder is gone counts too, unless a later result of the same model replaced it.
        """
        later = {(one.model, one.against): one.finished_at for one in self.results}
        found = {one.verdict for one in self.results} | {
            one.verdict for one in self.missing_looks if one.at > later.get((one.model, one.against), "")
        }
        return next((verdict for verdict in _FROM_WORST if verdict in found), None)

    @property
    def is_shown(self) -> bool:
        """Whether the skill helped some model, compared with no skill. Scripts are no models."""
        return any(one.verdict == "helps" and one.against == "baseline" and not one.scripted for one in self.results)
