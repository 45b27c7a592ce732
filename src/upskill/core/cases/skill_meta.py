"""`skill_meta.json`: where a skill came from, its cases, what it was measured to do, and how often its held-out cases
were used. Keys of others are kept."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.cases.files import cases_as_json
from upskill.core.foreign_json import read_json
from upskill.core.nouns import DEFAULT_HARNESS, Case
from upskill.core.nouns.case import Json
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.lift import Lift
from upskill.core.nouns.skill import META_FILE, META_FORMAT, SKILL_FILE
from upskill.core.nouns.text import whole_characters
from upskill.core.skills.skill_files import first_problem, require_inside, skill_invalid, write_text

_OWN = ("format", "status", "digest", "provenance", "measured", "held_out_uses", "findings")
_CASES = ("cases", "tests")


@dataclass(frozen=True, kw_only=True, slots=True)
class RungResult:
    """The practice cases of one rung: how many pass without help and with their passage in the prompt."""

    rung: str
    cases: int
    baseline: int
    ceiling: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Aptitude:
    """What one model can do on the practice cases without a skill. No verdict uses it."""

    student: str
    harness: str
    baseline: float | None
    """Share of practice cases that pass without help; `None` if not measured."""
    ceiling: float | None
    """Share that passes with the passage in the prompt; `None` where no case names a passage."""
    lift: Lift | None
    """Ceiling minus baseline."""
    cases: int = 0
    """Practice cases that were measured."""
    rungs: tuple[RungResult, ...] = ()
    reachable: tuple[str, ...] = ()
    """Ids of the practice cases that passed in either arm, or have no passage."""
    cut: int = 0
    """Answers cut at the maximum length."""
    trials: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Provenance:
    """How a skill came to be."""

    task: str
    """What it is for, in the person's words, without secrets."""
    teacher: str
    """As it was named."""
    teacher_model: str
    """The engine's name of it, and where it was served."""
    case_writer: str | None = None
    """The model that wrote the cases; `None` where nobody did."""
    sources: tuple[str, ...] = ()
    """What it was made from besides the task, as it was typed."""
    trace_digest: str | None = None
    """The SHA-256 of what was kept of the traces; `None` without a trace."""
    versions: dict[str, str] = field(default_factory=dict)
    started_at: str = ""
    finished_at: str = ""
    cost: float | None = None
    """Dollars for teacher and students together; `None` where a price is unknown."""
    calls: int = 0
    """Requests to teacher and students together."""
    run: str = ""
    """The name of the run folder."""
    improved_from: str | None = None
    """The digest of the version before; `None` for a new skill."""
    improved_for: str | None = None
    """What the last improvement was for, where that is not the task."""
    aptitude: tuple[Aptitude, ...] = ()
    """What each student could do on the learn cases before it was drafted. Nothing is claimed from it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredLift:
    """What the skill did for one student on cases that the teacher did not see while it wrote the skill."""

    model: str
    resolved: str
    endpoint: str | None = None
    harness: str = DEFAULT_HARNESS
    status: str
    """`helps`, `hurts`, `no difference`, `undecided`, `invalid`, `cheaper`; `not measured` where nothing was."""
    sentence: str
    against: str = "baseline"
    """Measured against no skill, or against the `previous` version."""
    mean: float | None = None
    interval: tuple[float, float] | None = None
    about: str | None = None
    pairs: int = 0
    dropped: int = 0
    pass_rate: float | None = None
    pass_rate_against: float | None = None
    at: str = ""
    version: str | None = None
    """The digest of the version that was measured, where that is an older one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HeldOutUse:
    """One use of held-out cases for a claim: each spends a part of the error that the set allows."""

    cases: tuple[str, ...]
    """Their keys, as the ledger of looks has them: new checks or a new name do not make a case new."""
    run: str
    at: str = ""
    helped: bool = False
    """Whether a version was proven with it: then later uses are tested less strictly."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillMeta:
    """What is known of a skill beside its content."""

    format: str = META_FORMAT
    status: str | None = None
    """The worst of what was measured against no skill, in a word: `helps` only where every student is helped."""
    digest: str | None = None
    """The digest of the skill as it was saved, so that a later change is seen; `None` where that was not noted."""
    provenance: Provenance | None = None
    measured: tuple[MeasuredLift, ...] = ()
    held_out_uses: tuple[HeldOutUse, ...] = ()
    findings: tuple[Finding, ...] = ()
    """What a search found before the skill was saved. None found does not mean safe."""


_META = TypeAdapter(SkillMeta)
_USES = TypeAdapter(tuple[HeldOutUse, ...])


def read_meta(folder: Path) -> SkillMeta:
    """What `skill_meta.json` says besides the cases. A file of another tool, or none, says nothing."""
    value = _load(folder / META_FILE)
    own = {key: value[key] for key in _OWN if value.get(key) is not None}
    if own.get("format") != META_FORMAT:
        return SkillMeta()
    try:
        return _META.validate_python(own)
    except ValidationError as error:
        raise skill_invalid(f"{folder / META_FILE}: cannot be read", [first_problem(error)]) from None


def meta_text(meta: SkillMeta, cases: Iterable[Case], *, before: dict[str, Json] | None = None) -> str:
    """The file as it is written: what is known first, the cases last, and what others put there in between."""
    own = _META.dump_python(meta, mode="json")
    others = {key: value for key, value in (before or {}).items() if key not in (*_OWN, *_CASES)}
    return _text({**own, **others, "cases": cases_as_json(cases)})


def write_meta(folder: Path, meta: SkillMeta, cases: Iterable[Case]) -> None:
    """Replace what is known of a skill, and its cases; keys of others stay."""
    path = folder / META_FILE
    write_text(path, meta_text(meta, cases, before=_load(path)))


def replace_meta(folder: Path, meta: SkillMeta) -> None:
    """Replace what is known of a skill; its cases, and keys of others, stay."""
    path = folder / META_FILE
    others = {key: value for key, value in _load(path).items() if key not in _OWN}
    write_text(path, _text({**_META.dump_python(meta, mode="json"), **others}))


def note_use(folder: Path, use: HeldOutUse) -> None:
    """Add a use of held-out cases to what is known of a skill, and change nothing else. Noted once per run."""
    path = folder / META_FILE
    value = _load(path)
    uses = read_meta(folder).held_out_uses
    if any(one.run == use.run for one in uses):
        return
    noted = _USES.dump_python((*uses, use), mode="json")
    write_text(path, _text({**value, "format": META_FORMAT, "held_out_uses": noted}))


def write_cases_into_meta(folder: Path, cases: Iterable[Case], *, written_by: dict[str, Json] | None = None) -> None:
    """Put cases into `skill_meta.json` in the place of those that are there, and change nothing else."""
    path = folder / META_FILE
    others = {key: value for key, value in _load(path).items() if key not in _CASES}
    if written_by is not None:
        others["cases_written_by"] = written_by
    write_text(path, _text({**others, "cases": cases_as_json(cases)}))


def cases_written_for(folder: Path) -> str | None:
    """The digest of the version that the cases in `skill_meta.json` were written for; `None` where that is unknown."""
    folder = folder.parent if folder.name == SKILL_FILE else folder
    by = _load(folder / META_FILE).get("cases_written_by")
    digest = by.get("skill_digest") if isinstance(by, dict) else None
    return digest if isinstance(digest, str) else None


def _load(path: Path) -> dict[str, Json]:
    if not path.is_file():
        return {}
    require_inside(path.parent, path)
    try:
        value = read_json(disk.named(path))
    except ValueError as error:
        raise skill_invalid(f"{path}: cannot be read", [str(error)]) from None
    # A bare list of cases is a case file of the old shape.
    return value if isinstance(value, dict) else {"cases": value}


def _text(whole: dict[str, Json]) -> str:
    text = json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if whole_characters(text) == text:
        return text
    # A lone surrogate, which a file of another tool can hold, has no UTF-8: it stays escaped, as it was.
    return json.dumps(whole, indent=2, allow_nan=False) + "\n"
