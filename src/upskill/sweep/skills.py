"""One skill of a sweep: the archive that a worker unpacks, whose digest tells whether the skill has changed, and the
job that measures it.
"""

import io
import os
import stat
import tarfile
from collections import deque
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import TYPE_CHECKING, Self

from upskill import disk
from upskill.core.models.preflight import Servers
from upskill.core.nouns import PlannedTrial, Skill, digest_of
from upskill.core.nouns.skill import CASE_FILES, SKILL_FILE, shared_path_problem
from upskill.core.nouns.text import on_one_line, shortened, whole_characters
from upskill.core.settings import Settings
from upskill.core.skills.skill_files import MOST_FILES, FoundFile, find_files, require_inside, skill_invalid
from upskill.errors import EngineError, UpskillError, UsageError, WindowExceeded
from upskill.redaction import redactor_from
from upskill.sweep.files import SweepFolder, archive_digest, input_name
from upskill.sweep.manifest import ListedSkill
from upskill.sweep.values import PlannedJob, Refused

if TYPE_CHECKING:
    from upskill.evaluation.prepare import PreparedEvaluation

MOST_ARCHIVE_BYTES = 100_000_000
"""Every worker of a sweep reads an archive into memory."""
_PLAIN, _EXECUTABLE = 0o644, 0o755


def archive_bytes(skill: Path, case_file: Path | None = None) -> bytes:
    """An uncompressed tar file with a skill, and with the cases that measure it."""
    root = (skill.parent if skill.name == SKILL_FILE else skill).resolve()
    problems: list[str] = []
    files = find_files(root, problems)
    if problems:
        raise skill_invalid(f"{root.name}: this skill cannot be used", problems)
    named = [FoundFile(f"skill/{root.name}/{file.path}", file.source) for file in files]
    if case_file is not None:
        named.append(FoundFile(f"cases/{case_file.name}", case_file))
    else:
        named += [FoundFile(f"skill/{root.name}/{name}", path) for name, path in _own_cases(root)]
    size = 0
    with io.BytesIO() as buffer:
        with tarfile.TarFile(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for file in sorted(named):
                info, data = _entry(file, most=MOST_ARCHIVE_BYTES - size)
                size += len(data)
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()


def found_digest(listed: ListedSkill) -> str | None:
    """The digest of the archive of a skill as it is now; `None` where none can be made, which planning explains."""
    try:
        return archive_digest(archive_bytes(listed.folder, listed.case_file))
    except UpskillError:
        return None


def extract_archive(data: bytes, into: Path) -> tuple[Path, Path | None]:
    """Write the files of an archive into an empty folder. Returns the skill's folder and the case file.

    Raises `EngineError` before anything is written where it is not an archive of one skill: it has links, devices,
    names that lead elsewhere, a second skill, or more than `archive_bytes` allows.
    """
    try:
        with tarfile.TarFile(fileobj=io.BytesIO(data)) as tar:
            members = _members(tar)
            for member in members:
                path, content = into / member.name, tar.extractfile(member)
                assert content is not None
                path.parent.mkdir(parents=True, exist_ok=True)
                executable = bool((member.mode or 0) & stat.S_IXUSR)
                disk.write_new(path, content.read(), mode=_EXECUTABLE if executable else _PLAIN)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise EngineError(f"the archive of the skill cannot be read ({on_one_line(str(error))})") from None
    except OSError as error:
        raise EngineError(f"{into}: the skill cannot be unpacked here ({error.strerror})") from None
    skill = next(member.name for member in members if member.name.startswith("skill/"))
    cases = next((member.name for member in members if member.name.startswith("cases/")), None)
    return into / "skill" / skill.split("/")[1], None if cases is None else into / cases


def _own_cases(root: Path) -> list[tuple[str, Path]]:
    found = [(name, root / name) for name in CASE_FILES if (root / name).is_file()]
    for _, path in found:
        require_inside(root, path)
    return [(name, path.resolve()) for name, path in found]


def _entry(file: FoundFile, *, most: int) -> tuple[tarfile.TarInfo, bytes]:
    if problem := _name_problem(file.path):
        raise UsageError(on_one_line(f"{file.path!r} {problem}"), hint="rename it")
    try:
        with disk.opened(file.source) as opened:
            data = opened.read(most + 1)
            mode = os.fstat(opened.fileno()).st_mode
    except OSError as error:
        raise UsageError(f"{on_one_line(str(file.source))}: cannot be read ({error.strerror})") from None
    if len(data) > most:
        raise UsageError(
            f"{file.path.split('/')[1]}: is larger than {MOST_ARCHIVE_BYTES // 1_000_000} MB, the limit of a sweep",
            hint="check the folder; a skill usually has only a few files",
        )
    info = tarfile.TarInfo(file.path)
    info.size = len(data)
    info.mode = _EXECUTABLE if mode & stat.S_IXUSR else _PLAIN
    return info, data


def _members(tar: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """The files of an archive. Raises where one is not what `archive_bytes` would have written."""
    members: list[tarfile.TarInfo] = []
    names: set[str] = set()
    size = 0
    while (member := tar.next()) is not None:
        size += member.size
        if member.size < 0 or len(members) == MOST_FILES or size > MOST_ARCHIVE_BYTES:
            raise EngineError(
                f"the archive of the skill is larger than any that is written ({MOST_FILES:,} files, 100 MB)"
            )
        parts = PurePosixPath(member.name).parts
        in_place = (parts[:1] == ("skill",) and len(parts) > 2) or (parts[:1] == ("cases",) and len(parts) == 2)
        plain = member.type in (tarfile.REGTYPE, tarfile.AREGTYPE) and not member.sparse
        in_place = in_place and "/".join(parts) == member.name and _name_problem(member.name) is None
        if not (plain and in_place) or member.name in names:
            raise EngineError(f"the archive of the skill holds a file that does not belong there: {_shown(member)}")
        names.add(member.name)
        members.append(member)
    skills = {name.split("/")[1] for name in names if name.startswith("skill/")}
    if len(skills) != 1 or sum(name.startswith("cases/") for name in names) > 1:
        raise EngineError("the archive does not hold one skill and at most one case file")
    return members


def _name_problem(path: str) -> str | None:
    """Why a file is not archived under this path; its first part is ours."""
    return shared_path_problem(path.partition("/")[2])


def _shown(member: tarfile.TarInfo) -> str:
    return on_one_line(whole_characters(member.name))[:200]


AT_ONCE = 16
MOST_WAITING = 64
"""Archives in memory that are not kept yet."""


class Archives:
    """Use it in a `with` block. At its end all are kept, or an error is raised."""

    def __init__(self, folder: SweepFolder) -> None:
        self._folder = folder
        self.there = set(folder.objects.folders("inputs"))
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="archive")
        self._waiting: deque[Future[str]] = deque()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            while kind is None and self._waiting:
                self._waiting.popleft().result()
        finally:
            self._pool.shutdown(cancel_futures=True)

    def has(self, digest: str) -> bool:
        """Whether an archive was there before."""
        return input_name(digest).rpartition("/")[2] in self.there

    def keep(self, archive: bytes) -> None:
        """Keep an archive, soon. Raises where an earlier one could not be kept."""
        if self.has(archive_digest(archive)):
            return
        if len(self._waiting) >= MOST_WAITING:
            self._waiting.popleft().result()
        self._waiting.append(self._pool.submit(self._folder.keep_input, archive))


_MOST_WHY = 300
Planned = tuple[PlannedJob | None, list[Refused]]
"""The job of a skill on a group of models, and the models that cannot be asked, with the reason."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillPlanner:
    """Plans skills under the conditions of one sweep."""

    settings: Settings
    runs: int | None
    confirm: bool
    """Whether winners are measured again, on the other half of the cases."""
    servers: Servers
    served: Mapping[str, str | None]
    """What each model was found to be."""
    archives: Archives

    def plan(self, listed: ListedSkill, group: tuple[str, ...], *, input: str | None) -> Planned:
        """Read the skill and its cases, check them as every evaluation does, and keep the archive.

        `input` is the digest of the archive as it was found; `None` where it could not be made.
        """
        refused: list[Refused] = []
        try:
            try:
                prepared = self._prepared(listed, group)
            except WindowExceeded:
                fitting = tuple(student for student in group if self._fits(student, listed, refused))
                if not fitting:
                    return None, [replace(one, input=input) for one in refused]
                prepared = self._prepared(listed, fitting)
            archive = archive_bytes(listed.folder, listed.case_file)
            if archive_digest(archive) != input:
                raise UsageError("it changed while it was being read")
            job = self._job(listed, prepared, input=input)
        except UpskillError as error:
            return None, [Refused(skill=listed.skill, why=_why(error, listed), students=group)]
        self.archives.keep(archive)
        return job, [replace(one, input=input) for one in refused]

    def _prepared(self, listed: ListedSkill, group: tuple[str, ...]) -> "PreparedEvaluation":
        # Reads, checks and renders: that takes a second to import, and a plan without changes needs none of it.
        from upskill.evaluation.order import EvaluationOrder
        from upskill.evaluation.prepare import prepare

        order = EvaluationOrder(
            skill=listed.folder,
            case_file=listed.case_file,
            repeats=self.runs,
            half="first" if self.confirm else None,
        )
        settings = replace(self.settings, models=group)
        return prepare(order, settings, search=False, needs_keys=False, servers=self.servers)

    def _fits(self, student: str, listed: ListedSkill, refused: list[Refused]) -> bool:
        try:
            self._prepared(listed, (student,))
        except WindowExceeded as error:
            refused.append(Refused(skill=listed.skill, why=_why(error, listed), students=(student,)))
            return False
        return True

    def _job(self, listed: ListedSkill, prepared: "PreparedEvaluation", *, input: str) -> PlannedJob:
        estimate = prepared.estimate
        unpriced = cost_at_most(prepared) is None
        return PlannedJob(
            id=job_id(prepared, self.served),
            skill=listed.skill,
            name=prepared.experiment.skill.name,
            version=prepared.experiment.skill.digest,
            input=input,
            cases=len(prepared.experiment.plan.cases),
            students=tuple(student.name for student in prepared.experiment.plan.students),
            calls_expected=estimate.calls_expected,
            calls_at_most=estimate.calls_at_most,
            cost_expected=None if unpriced else estimate.price_expected,
            cost_at_most=cost_at_most(prepared),
            output_tokens_expected=estimate.output_tokens_expected,
            tokens_at_most=estimate.tokens_at_most,
            owner=owner_of(listed.folder, prepared.experiment.skill),
        )


_CODEOWNERS = (".github/CODEOWNERS", "CODEOWNERS", "docs/CODEOWNERS")
_MOST_OWNER = 100


def owner_of(folder: Path, skill: Skill) -> str:
    """Who answers for a skill: `owner` in its `metadata`, else what the repository's CODEOWNERS says; empty elsewhere.

    The last pattern that fits counts, as on the sites that use the file.
    """
    metadata = skill.frontmatter.get("metadata")
    named = metadata.get("owner") if isinstance(metadata, Mapping) else None
    if isinstance(named, str) and named.strip():
        return shortened(on_one_line(named), _MOST_OWNER)
    place = folder.resolve()
    for root in (place, *place.parents):
        for file in (root / name for name in _CODEOWNERS):
            with suppress(OSError):
                text = disk.beginning(file, 1_000_000).decode("utf-8", "replace")
                return shortened(on_one_line(_owner_in(text, place.relative_to(root).as_posix())), _MOST_OWNER)
        if (root / ".git").exists():
            return ""
    return ""


def _owner_in(text: str, path: str) -> str:
    found = ""
    for line in text.splitlines():
        pattern, *owners = line.partition("#")[0].split()[:20] or [""]
        if pattern and _is_owned(path, pattern):
            found = " ".join(owners)
    return found


def _is_owned(path: str, pattern: str) -> bool:
    """Whether a pattern of CODEOWNERS names this folder or one above it."""
    anchored = pattern.strip("/")
    parts = path.split("/")
    above = ["/".join(parts[:length]) for length in range(1, len(parts) + 1)]
    if "/" in pattern.rstrip("/"):
        return any(fnmatchcase(one, anchored.removesuffix("/**").removesuffix("/*")) for one in above)
    return any(fnmatchcase(part, anchored) for part in parts)


def cost_at_most(prepared: "PreparedEvaluation") -> float | None:
    """Dollars, for the models whose price is known, the judge among them; `None` where none is known."""
    known = any(student.price is not None for student in prepared.experiment.plan.students)
    return prepared.estimate.price_at_most if known else prepared.estimate.price_at_most or None


def job_id(prepared: "PreparedEvaluation", served: Mapping[str, str | None]) -> str:
    """The id of an evaluation. `served` is what each model was found to be.

    A trial's own id stands for the model, where it is served, the harness with its version, the limits of a trial and
    all that the model is told. Names of folders, caps and how fast requests are sent change nothing.
    """
    from upskill.core.trials.judge import identity as judge_identity

    plan, requests = prepared.experiment.plan, prepared.experiment.requests
    asked = [
        [
            student.name,
            served[student.name],
            [
                requests.trial_id(PlannedTrial(case=case, arm=arm, repeat=1), student)
                for case in plan.cases
                for arm in plan.arms_of(case)
            ],
        ]
        for student in plan.students
    ]
    return digest_of(
        {
            "skill": [prepared.experiment.skill.name, prepared.experiment.skill.digest],
            "cases": [[case.id, case.digest, case.family] for case in plan.cases],
            "students": asked,
            "judge": judge_identity(prepared.experiment.judge),
            "arms": plan.arms,
            "design": [plan.design, plan.repeats],
            "seed": plan.seed,
        }
    )[:32]


def _why(error: UpskillError, listed: ListedSkill) -> str:
    """Why a skill is refused, in one line, without a key of the user's own."""
    said = "; ".join((error.message, *error.problems[:2]))
    said = said.replace(str(listed.folder), listed.skill)
    said = said.removeprefix(f"{listed.skill}: ").removeprefix(f"{listed.folder.name}: ")
    return shortened(on_one_line(redactor_from(os.environ).clean_own(said)), _MOST_WHY)
