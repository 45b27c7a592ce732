"""Evidence: what was measured of exactly this version of a skill, as values and as the file `evidence.json` beside it.

Holds everything a reader needs in order to doubt a result: digests, figures, looks, versions. Never a prompt, an
answer, a case, a path, an address or a key. A stranger may have written it: what contradicts itself is refused, and
figures that could be true are believed, since nothing in the file can prove them.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import date, datetime
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.foreign_json import parse_json
from upskill.core.nouns.evaluation import StudentReport
from upskill.core.nouns.harness import harness_info
from upskill.core.nouns.lift import Lift, Verdict
from upskill.core.nouns.plan import Design
from upskill.core.nouns.skill import EVIDENCE_FILE, EVIDENCE_FORMAT, SKILL_FILE, Skill, SkillFile, is_skill_name
from upskill.core.nouns.text import digest_of, on_one_line, points
from upskill.core.skills.skill_files import find_files, first_problem, read_plain
from upskill.errors import EXIT_NOT_SHOWN, EngineError, SkillInvalid

CARD_FORMAT = 2
"""Changes with the words of the card: a card of another format cannot be compared."""
SCRIPTED = "scripted/"
"""How the id of a script begins."""
MOST_RESULTS = 200
MOST_CASES = 5_000
"""Cases of one result."""

Basis = Literal["text", "files"]
"""What of a skill a result rests on: `text`, its name and the body of `SKILL.md`; or `files`, every file of it."""

_STRICT = {"extra": "forbid", "allow_inf_nan": False}
"""Reading one of these from JSON refuses unknown keys."""
FROM_WORST: tuple[Verdict, ...] = ("hurts", "invalid", "undecided", "no difference", "cheaper", "helps")


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
    """The report of one model in the last complete look, and what it rests on."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = _STRICT

    report: StudentReport
    """Figures to six digits. Left out: addresses, prices and costs, and the names of other skills."""
    own_server: bool = False
    """Whether a person named the server."""
    agent: str | None = None
    """The version of the coding agent; `None` where the harness runs none."""
    others: int | None = None
    """How many other skills lay beside it; `None` where none was asked for."""
    others_digest: str | None = None
    """Digest of their names and digests."""
    bundled: bool = False
    """Whether the skills that come with the coding agent were offered too."""
    against: str
    """`baseline` (no skill), or the digest of the older version."""
    design: Design
    repeats: int
    look: int | None = None
    """Which look at this skill with this model it was; `None` where looks were not counted."""
    level: float | None = None
    """The one-sided error level of this look; later looks have a smaller one."""
    other_looks: Mapping[Verdict, int] = field(default_factory=dict)
    """The verdicts of the other looks at the same, each with its number."""
    cases: tuple[str, ...]
    """The digests of the cases, sorted."""
    own_cases: bool = False
    """Whether the cases lay beside the skill when it was measured."""
    uses: Mapping[str, int] = field(default_factory=dict)
    """How many of the cases were `held-out`, `learn` (practice) or `negative`; empty where that is unknown."""
    judge: str | None = None
    """The model that judged answers; `None` without a judge."""
    sandbox: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions of upskill, the engine and Python."""
    finished_at: str
    """UTC."""

    @property
    def model(self) -> str:
        """The name that was typed; of a script, without its folder."""
        return self.report.student.name

    @property
    def verdict(self) -> Verdict:
        """What was concluded. Evidence holds no result without a verdict."""
        return self.report.verdict or "invalid"

    @property
    def lift(self) -> Lift | None:
        """The lift of the verdict; `None` where nothing was compared."""
        return self.report.lifts[0] if self.report.lifts else None

    @property
    def scripted(self) -> bool:
        """Whether a script answered instead of a model: such a result shows nothing about models."""
        return self.report.student.model.startswith(SCRIPTED)

    @property
    def basis(self) -> Basis:
        """What of the skill the result rests on."""
        return "files" if harness_info(self.report.harness).with_tools else "text"

    @property
    def is_narrow(self) -> bool:
        """Whether the verdict is about these cases only."""
        return self.lift is None or self.lift.about == "these cases"


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
        return next((verdict for verdict in FROM_WORST if verdict in found), None)

    @property
    def is_shown(self) -> bool:
        """Whether the skill helped some model, compared with no skill. Scripts are no models."""
        return any(one.verdict == "helps" and one.against == "baseline" and not one.scripted for one in self.results)


MOST_TEXT = 400
MOST_COUNTED = 10**9
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CLOSE = 1e-4
_BASELINE = "baseline"


def contradiction(evidence: Evidence) -> str | None:
    """The first thing that cannot be true of evidence, in a few words; `None` where nothing is wrong."""
    return next(_skill_problems(evidence), None) or next(_problems(evidence), None)


def _skill_problems(evidence: Evidence) -> Iterator[str]:
    skill = evidence.skill
    if not is_skill_name(skill.name):
        yield "skill.name: not the name of a skill"
    for file in skill.files:
        if not _is_path(file.path):
            yield "skill.files: a path that leaves the skill"
        if not _are_digests(file.sha256, file.sha256_lf) or file.size < 0:
            yield f"skill.files: {file.path}: not a size and digests"
    if not _are_digests(skill.digest, skill.text_digest):
        yield "skill: not SHA-256 digests"
    if digest_of([[file.path, file.sha256] for file in skill.files]) != skill.digest:
        yield "skill.digest: not the digest of the files that are listed"


def _problems(evidence: Evidence) -> Iterator[str]:
    if len(evidence.results) > MOST_RESULTS:
        yield f"results: more than {MOST_RESULTS}"
    if not 0 <= evidence.left_out <= MOST_COUNTED or not 0 < evidence.card_format <= MOST_COUNTED:
        yield "left_out or card_format: not a number of something"
    for number, one in enumerate(evidence.results):
        for problem in _result_problems(one):
            yield f"results.{number}.{problem}"
    for look in evidence.missing_looks:
        if not (_is_text(look.model) and _is_time(look.at) and _is_against(look.against)):
            yield "missing_looks: not a look"
    if evidence.date != max((one.finished_at[:10] for one in evidence.results), default=None):
        yield "date: not that of the newest result"


def result_contradiction(one: EvidenceResult) -> str | None:
    """The first thing that cannot be true of one result; `None` where nothing is wrong."""
    return next(_result_problems(one), None)


def _result_problems(one: EvidenceResult) -> Iterator[str]:
    yield from _value_problems(asdict(replace(one, cases=())), ())
    if not _is_time(one.finished_at):
        yield "finished_at: not a time with its zone"
    if not _is_against(one.against):
        yield "against: neither `baseline` nor a digest"
    if one.others_digest is not None and not _are_digests(one.others_digest):
        yield "others_digest: not a SHA-256 digest"
    if not 0 < len(one.cases) <= MOST_CASES or not _are_digests(*one.cases):
        yield f"cases: not 1 to {MOST_CASES:,} SHA-256 digests"
    if list(one.cases) != sorted(one.cases):
        yield "cases: not sorted"
    if 0 in (one.repeats, one.look):
        yield "repeats or look: not a number of something"
    seen = None if one.lift is None else one.lift.cases
    labelled = (label.cases for label in one.report.label_lifts)
    if max((seen or 0, *labelled, sum(one.uses.values()))) > len(one.cases):
        yield "cases, labels or uses: more than there are cases"
    if not 0 <= (one.level or 0) <= 1:
        yield "level: not between 0 and 1"
    for problem in _report_problems(one.report):
        yield f"report.{problem}"


def _value_problems(value: object, where: tuple[str, ...]) -> Iterator[str]:
    """What is neither a short text nor a number of something, anywhere in a result."""
    if isinstance(value, str) and not _is_text(value):
        yield f"{'.'.join(where)}: not a short text on one line"
    elif isinstance(value, int | float) and not (0 if isinstance(value, int) else -1) <= value <= MOST_COUNTED:
        yield f"{'.'.join(where)}: not a number of something"
    elif isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _value_problems(str(name), where)
            yield from _value_problems(inner, (*where, str(name)[:40]))
    elif isinstance(value, tuple | list):
        for number, inner in enumerate(value):
            yield from _value_problems(inner, (*where, str(number)))


def _report_problems(report: StudentReport) -> Iterator[str]:
    """What cannot be true of the figures: shares are shares, and the verdict is on the side of its interval."""
    if report.verdict is None or report.compared[0] not in ("with_skill", "offered"):
        yield "verdict: nothing was compared with the skill"
    if report.loads is not None and not 0 <= report.loads.rate <= 1:
        yield "loads.rate: not between 0 and 1"
    every = (*report.lifts, *(one.lift for one in report.label_lifts if one.lift is not None))
    yield from (f"lifts.{problem}" for lift in every for problem in _lift_problems(lift))
    if not report.lifts:
        if report.verdict not in ("invalid", "undecided"):
            yield f"verdict: {report.verdict} without a lift"
        return
    lift, interval = report.lifts[0], report.interval
    if report.arms and (lift.arm, lift.against) != report.compared:
        yield "lifts: not of the arms that were compared"
    if interval is None or not interval.low - _CLOSE <= lift.mean <= interval.high + _CLOSE:
        yield f"lifts.mean: {points(lift.mean)}, which is outside its interval"
    elif {"helps": not interval.above_zero, "hurts": not interval.below_zero}.get(report.verdict or "", False):
        yield f"verdict: {report.verdict}, but its interval includes 0"


def _lift_problems(lift: Lift) -> Iterator[str]:
    shares = {"rate": lift.rate, "rate_against": lift.rate_against, "confidence": lift.confidence}
    yield from (f"{name}: not between 0 and 1" for name, share in shares.items() if not 0 <= (share or 0) <= 1)
    if abs(lift.rate - lift.rate_against - lift.mean) > _CLOSE:
        yield f"mean: {points(lift.mean)}, which is not the difference of its pass rates"
    if not -1 - _CLOSE <= lift.interval.low <= lift.interval.high <= 1 + _CLOSE:
        yield "interval: not an interval"
    if not lift.better + lift.worse <= lift.units <= lift.cases:
        yield "units: not those of its cases"


def _are_digests(*texts: str) -> bool:
    return all(_SHA256.fullmatch(text) is not None for text in texts)


def _is_against(text: str) -> bool:
    return text == _BASELINE or _are_digests(text)


def _is_text(text: str) -> bool:
    return len(text) <= MOST_TEXT and text.isprintable()


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return _is_text(path) and not path.startswith("/") and not {"", ".", ".."} & set(parts)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None and bool(date.fromisoformat(text[:10]))
    except ValueError:
        return False


MOST_EVIDENCE_BYTES = 5_000_000
MOST_TEXT_BYTES = 20_000_000
"""Line endings of larger files are not looked at."""
_EVIDENCE = TypeAdapter(Evidence)


class EvidenceInvalid(SkillInvalid):
    """A file beside a skill is not evidence, whatever it is called."""

    exit_code = EXIT_NOT_SHOWN


def evidence_text(evidence: Evidence) -> str:
    """The text of `evidence.json`: equal evidence has equal bytes."""
    value = _EVIDENCE.dump_python(evidence, mode="json")
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def evidence_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of `evidence.json`. It refuses unknown keys."""
    schema = _EVIDENCE.json_schema(mode="serialization")
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def read_evidence(folder: Path) -> Evidence | None:
    """The evidence beside a skill; `None` where there is none. Raises `EvidenceInvalid` for what is not evidence."""
    path = folder / EVIDENCE_FILE
    try:
        return evidence_from(read_plain(path, most=MOST_EVIDENCE_BYTES))
    except FileNotFoundError:
        return None
    except EngineError as error:
        raise EvidenceInvalid(on_one_line(error.message)) from None
    except ValueError as error:
        raise EvidenceInvalid(
            on_one_line(f"{path}: cannot be read as {EVIDENCE_FORMAT}: {error}"),
            hint="remove it, and write it again with `upskill evidence SKILL`",
        ) from None


def evidence_from(data: bytes) -> Evidence:
    """The evidence in the bytes of a file. Raises `ValueError` with the first thing that is wrong with it."""
    parse_json(data)  # refuses duplicated keys, NaN, endless nesting
    try:
        evidence = _EVIDENCE.validate_json(data, strict=True)
    except ValidationError as error:
        raise ValueError(first_problem(error)) from None
    if (problem := contradiction(evidence)) is not None:
        raise ValueError(problem)
    return evidence


def measured_skill(folder: Path, skill: Skill) -> MeasuredSkill:
    """The version in a folder as evidence names it; `skill` is what was read from it."""
    root = folder.parent if folder.name == SKILL_FILE else folder
    sources = {file.path: file.source for file in find_files(root.resolve(), [])}
    return MeasuredSkill(
        name=skill.name,
        digest=skill.digest,
        text_digest=text_digest(skill),
        files=tuple(_measured_file(file, sources[file.path]) for file in skill.files if file.path in sources),
    )


def _measured_file(file: SkillFile, source: Path) -> MeasuredFile:
    sha256_lf, program = file.sha256, False
    if file.size <= MOST_TEXT_BYTES:
        data = disk.read(source, most=MOST_TEXT_BYTES)
        program = data.startswith(b"#!")
        if b"\0" not in data:
            sha256_lf = hashlib.sha256(data.replace(b"\r\n", b"\n")).hexdigest()
    return MeasuredFile(path=file.path, size=file.size, sha256=file.sha256, sha256_lf=sha256_lf, program=program)
