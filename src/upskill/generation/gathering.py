"""Gathers what a teacher works from: recordings, documents, a repository, a skill, examples; all without secrets."""

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal

from pydantic import TypeAdapter, ValidationError

from upskill import disk
from upskill.core.cases.skill_meta import read_meta
from upskill.core.hub import pinned
from upskill.core.nouns import digest_of
from upskill.core.nouns.skill import SKILL_FILE
from upskill.core.nouns.text import count, on_one_line, shortened, whole_characters
from upskill.core.progress import SILENT, Progress
from upskill.core.runs.own_runs import is_sealed
from upskill.core.runs.records import record_text
from upskill.core.skills.skill_files import first_problem
from upskill.core.skills.skills import read_skill
from upskill.errors import EngineError, UsageError
from upskill.generation.draft import read_draft
from upskill.generation.facts import PLAN_FORMAT
from upskill.generation.material import Document, Material
from upskill.redaction import redactor_from
from upskill.traces.read_trace import read_trace
from upskill.traces.readers import detect, learnable_below, recordings_below
from upskill.traces.recording import Recording
from upskill.traces.trace import TraceDigest

DIGEST_BUDGET = 24_000
"""Tokens of the digest of all recordings: a tenth of a large teacher's window."""
MOST_DOCUMENT_CHARACTERS = 200_000
"""All documents together, about 50,000 tokens."""
MOST_OF_ONE = 60_000
MOST_FILE_BYTES = 2_000_000
MOST_FILES = 20_000
"""Files of a repository that are considered."""
_TRACE_TEXTS = frozenset({".md", ".txt", ".log", ""})
"""A text with such a suffix is taken for a recording of work, unless it is Markdown with a title."""
_TITLE = re.compile(r"\s*(?:---\n.*?\n---\s*)?# \S", re.DOTALL)
_FIRST = ("readme", "agents", "claude", "contributing", "docs", "doc")
_PROSE = frozenset({".md", ".rst", ".txt", ".adoc"})
_CODE = frozenset(
    {".py", ".js", ".ts", ".tsx", ".rs", ".go", ".c", ".h", ".cc", ".cpp", ".cu", ".cuh", ".java", ".rb", ".sh"}
    | {".nix", ".toml", ".yaml", ".yml", ".cfg", ".ini", ".html", ".tex", ".sql", ".json"}
)


def gather(
    task: str | None,
    *,
    examples: Sequence[str] = (),
    sources: Sequence[str] = (),
    folder: Path,
    unseen: Sequence[Path] = (),
    environment: Mapping[str, str] | None = None,
    progress: Progress = SILENT,
    piped: BinaryIO | None = None,
) -> Material:
    """Read everything that was named. Raises `UsageError` where there is nothing to learn from, or two skills.

    `unseen` are files that say what the skill will be tested on, cases or a plan of them: nobody who writes it is given
    them.
    """
    environment = os.environ if environment is None else environment
    redactor = redactor_from(environment)

    def clean(text: str) -> str:
        # What is typed, and names of files, need not be UTF-8; what is saved and sent must be.
        return redactor.clean(whole_characters(text))

    typed = sources
    notes: list[str] = []
    task, sources, later = _mined(task, sources, notes)
    in_later = {
        session: gather(task, sources=found, folder=folder, environment=environment)
        for session, found in (later or {}).items()
    }
    skills = [found for source in sources if (found := skill_in(source)) is not None]
    if len(skills) > 1:
        raise UsageError(
            "only one skill can be improved at a time", hint="name one skill with --from, beside sessions or documents"
        )
    skill_folder = skills[0] if skills else None
    recordings, documents = _sorted_sources([one for one in sources if skill_in(one) is None], notes, unseen)
    digest, taken_out = None, 0
    if recordings:
        read = read_trace(
            *recordings,
            budget=DIGEST_BUDGET,
            folder=folder,
            environment=environment,
            progress=progress,
            now=time.time(),
            piped=piped,
        )
        digest, taken_out = read.digest, sum(read.redactions.values())
        notes += [*read.notes, *(f"not read: {why}" for why in read.refused)]
    return Material(
        task=clean(_task(task, skill_folder, digest)),
        examples=tuple(map(clean, examples)),
        digest=digest,
        documents=_cleaned(documents, clean, notes),
        skill=None if skill_folder is None else read_draft(skill_folder),
        skill_folder=skill_folder,
        sources=tuple(clean(pinned(one) or one) for one in typed),
        trace_digest=None if digest is None else digest_of(digest.text),
        redacted=taken_out + redactor.found.total,
        notes=tuple(dict.fromkeys(map(whole_characters, notes))),
        wish=clean(task) if task and skill_folder is not None else None,
        later=None if later is None else in_later,
    )


def _mined(
    task: str | None, sources: Sequence[str], notes: list[str]
) -> tuple[str | None, list[str], dict[str, list[str]] | None]:
    """Each `FOLDER:N` as what `upskill mine` found: its document and its sessions of practice; and apart from these
    what came later, session by session: `None` without any `FOLDER:N`, empty where nothing can be claimed.

    Only a list that the user's own `mine` wrote there may name files elsewhere, and make a claim possible.
    """
    found: list[str] = []
    later: dict[str, list[str]] = {}
    claims: list[bool] = []
    for source in sources:
        folder, _, number = source.rpartition(":")
        listed = Path(folder).expanduser() / MINED_FILE
        if not folder or not number.isdecimal() or not os.path.lexists(listed):
            found.append(source)
            continue
        mined, is_own = _mined_list(listed)
        chosen = next((one for one in mined.candidates if one.number == int(number)), None)
        if chosen is None:
            raise UsageError(
                f"{source}: has {count(len(mined.candidates), 'candidate')}", hint=f"see {listed.parent}/mined.html"
            )
        found.append(_mined_document(listed, chosen.document))
        if not is_own:
            about = "" if task else f"; its task: {on_one_line(shortened(chosen.task, 300))}"
            notes.append(
                f"{listed}: was not written there by you, so only {chosen.document} is read, no recording, and nothing "
                f"can be claimed{about}"
            )
        elif not chosen.claim_possible:
            notes.append(f"{source}: too few later sessions for a claim, so no held-out case is written")
        task = task or chosen.task
        claims.append(is_own and chosen.claim_possible)
        # Sessions can have been deleted since; what they said is in the document.
        found += _still_there(chosen.practice if is_own else ())
        for one in chosen.later if is_own else ():
            document = _mined_document(listed, one.document)
            recorded = _still_there(() if one.recording is None else (one.recording,))
            session = f"session-{digest_of(one.recording or document)[:12]}"
            later.setdefault(session, []).extend([document, *recorded])
    return task, found, None if not claims else later if all(claims) else {}


def _still_there(recordings: Iterable[str]) -> list[str]:
    """Those that are where `mine` read them: no link stands in their place, nor in that of a folder above them."""
    return [one for one in recordings if disk.is_file(Path(one)) and os.path.realpath(one) == one]


def _mined_list(listed: Path) -> tuple["_MinedList", bool]:
    """A list of `upskill mine`, and whether the user's own wrote it."""
    try:
        content = json.loads(disk.read(listed, most=_MOST_LIST_BYTES))
        return _MINED.validate_python(content, strict=False), is_sealed(listed.parent, content)
    except (OSError, ValueError, RecursionError):
        raise UsageError(f"{listed}: cannot be read", hint="run `upskill mine` again") from None


def _mined_document(listed: Path, name: str) -> str:
    """A document beside a list. Raises `UsageError` for what the list names elsewhere, or by a link."""
    document = listed.parent / name
    if _MINED_DOCUMENT.fullmatch(name) is None or not disk.is_file(document):
        raise UsageError(
            f"{listed}: names {on_one_line(name)}, which is no document beside it", hint="run `upskill mine` again"
        )
    return str(document)


@dataclass(frozen=True, kw_only=True, slots=True)
class _LaterSession:
    document: str
    recording: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class _MinedCandidate:
    number: int
    task: str
    document: str
    practice: tuple[str, ...]
    later: tuple[_LaterSession, ...]
    claim_possible: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class _MinedList:
    format: Literal["upskill.mined/1"]
    candidates: tuple[_MinedCandidate, ...]


MINED_FILE = "mined.json"
_MINED_DOCUMENT = re.compile(r"[0-9]{1,6}(?:-later-[0-9]{1,6})?\.md")
_MOST_LIST_BYTES = 10_000_000
_MINED = TypeAdapter(_MinedList)


def _sorted_sources(
    sources: Sequence[str], notes: list[str], unseen: Sequence[Path]
) -> tuple[list[str], list[Document]]:
    """Which sources are recordings, and the texts of the others."""
    recordings: list[str] = []
    documents: list[Document] = []
    for source in sources:
        if any(_is_file(Path(source).expanduser(), one) for one in unseen):
            raise UsageError(
                f"{source}: contains what the skill is tested on, so the teacher must not see it",
                hint="remove it from --from, or name another case file with -t, or another plan with --plan",
            )
        texts = _documents(source, notes, unseen)
        if texts is None:
            recordings.append(source)
        else:
            documents += texts
    return recordings, documents


def skill_in(source: str) -> Path | None:
    """The folder of a skill that a source names; `None` where it names something else."""
    path = Path(source).expanduser()
    try:
        if path.name == SKILL_FILE and path.is_file():
            return path.parent
        return path if path.is_dir() and (path / SKILL_FILE).is_file() else None
    except OSError:
        return None


def _task(task: str | None, skill: Path | None, digest: TraceDigest | None) -> str:
    """The task that was typed; else what the skill was made for, or what the person in the recording asked."""
    if task:
        return task
    if skill is not None:
        provenance = read_meta(skill).provenance
        return provenance.task if provenance is not None else read_skill(skill).description
    if digest is not None:
        asked = next((finding for finding in digest.kept if finding.kind == "task"), None)
        if asked is not None:
            return asked.parts[0].text if asked.parts else asked.title
    raise UsageError(
        "no task was given: what should the skill be for?",
        hint='for example: upskill generate "parse YAML"; or name a session, or a skill to improve, with --from',
    )


def _is_file(path: Path, other: Path) -> bool:
    try:
        return path.samefile(other)
    except OSError:
        return False


def _documents(source: str, notes: list[str], unseen: Sequence[Path]) -> list[Document] | None:
    """The texts of a document or a repository; `None` where a source is a recording, or nothing that could be read."""
    if source in ("-", "last") or source.startswith("last:"):
        return None
    path = Path(source).expanduser()
    if path.is_dir():
        return None if _holds_recordings(path) else _repository(path, notes, unseen)
    if not path.is_file() or (path.suffix.lower() in _TRACE_TEXTS and not _has_title(path)):
        return None
    try:
        if detect(Recording(disk.named(path))) != "text":
            return None
    except UsageError:
        # JSON of no known format is a document; binary files are refused when they are read.
        if path.suffix.lower() not in {".json", ".jsonl"}:
            return None
    text = _text(disk.named(path))
    return None if text is None else [Document(name=path.name, text=text)]


def _has_title(path: Path) -> bool:
    """Whether a file is Markdown that begins with a heading, and short enough to be read whole."""
    text = _text(disk.named(path)) if path.suffix.lower() == ".md" else None
    return text is not None and len(text) <= MOST_OF_ONE and _TITLE.match(text) is not None


def _is_readable(path: Path) -> bool:
    """Whether a name is that of prose or code."""
    return not _is_hidden(path) and path.suffix.lower() in _PROSE | _CODE


def _holds_recordings(folder: Path) -> bool:
    """Whether a folder holds recordings, and so is no repository even if it has a README."""
    for number, path in enumerate(recordings_below(folder)):
        if number >= MOST_FILES:
            return False
        try:
            if path.suffix not in {".md", ".txt"} and detect(Recording(path)) != "text":
                return True
        except UsageError:
            continue
    return False


def _repository(folder: Path, notes: list[str], unseen: Sequence[Path]) -> list[Document]:
    """The prose of a repository, then its code, as much as a teacher can read; without the cases of students."""
    readable = (path for path in learnable_below(folder, leave_out=_is_hidden) if _is_readable(path))
    below = list(islice(readable, MOST_FILES + 1))
    if len(below) > MOST_FILES:
        notes.append(
            f"{folder.as_posix()}: has more than {MOST_FILES:,} files; only the first {MOST_FILES:,} were considered"
        )
    files = sorted(below[:MOST_FILES], key=lambda path: _rank(path.relative_to(folder)))
    found: list[Document] = []
    room = MOST_DOCUMENT_CHARACTERS
    left_out = 0
    for path in files:
        if any(_is_file(path, one) for one in unseen):
            continue
        text = _text(path) if room > 0 else ""
        if text is None or _is_plan(text):
            continue
        if room <= 0 or len(text) > MOST_OF_ONE * 4:
            left_out += 1
            continue
        found.append(Document(name=path.relative_to(folder).as_posix(), text=text[:MOST_OF_ONE]))
        room -= min(len(text), MOST_OF_ONE)
    if not found:
        raise UsageError(
            f"{folder.as_posix()}: contains no session and no readable text",
            hint="name a session, a document, or the folder of a skill",
        )
    if left_out:
        notes.append(
            f"{folder.as_posix()}: {left_out:,} files were skipped at the total size limit; documents are read first"
        )
    return found


def _is_hidden(path: Path) -> bool:
    """Whether a name begins with a dot: such files and folders are for machines, and `.env` holds secrets."""
    return path.name.startswith(".")


def _is_plan(text: str) -> bool:
    """Whether a text is a plan of facts, which says what is held out."""
    return f'"format": "{PLAN_FORMAT}"' in text[:200]


def _rank(path: Path) -> tuple[int, int, str]:
    prose = path.suffix.lower() in _PROSE
    named = path.parts[0].lower().startswith(_FIRST)
    return (0 if prose and named else 1 if prose else 2, len(path.parts), path.as_posix())


def _text(path: Path) -> str | None:
    """The text of a file; `None` where it is none, or too large to be one."""
    try:
        data = disk.read(path, most=MOST_FILE_BYTES)
    except OSError:
        return None
    if b"\0" in data:
        return None
    return data.decode("utf-8", "replace").strip() or None


def _cleaned(documents: list[Document], clean: Callable[[str], str], notes: list[str]) -> tuple[Document, ...]:
    cleaned: list[Document] = []
    room = MOST_DOCUMENT_CHARACTERS
    for document in documents:
        text = clean(document.text)
        if len(text) > min(room, MOST_OF_ONE):
            notes.append(
                f"{document.name}: only the first {min(room, MOST_OF_ONE):,} of {len(text):,} characters were read"
            )
        text = text[: min(room, MOST_OF_ONE)]
        room -= len(text)
        if text:
            cleaned.append(Document(name=clean(document.name), text=text))
    return tuple(cleaned)


_MATERIAL = TypeAdapter(Material)


def material_record(material: Material) -> str:
    """`material.json`: everything but the skill, which is saved as a folder."""
    return record_text(_MATERIAL, replace(material, skill=None, skill_folder=None))


def read_material(text: bytes, *, previous: Path | None, skill_folder: Path | None) -> Material:
    """The saved material; the skill is read from its copy in the run folder, since the original may have changed."""
    try:
        saved = _MATERIAL.validate_json(text)
    except ValidationError as error:
        raise EngineError(
            f"the material of this run cannot be read: {first_problem(error)}", hint="start a new run"
        ) from None
    return replace(saved, skill=None if previous is None else read_draft(previous), skill_folder=skill_folder)
