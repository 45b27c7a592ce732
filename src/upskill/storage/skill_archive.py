"""Archives of a skill with its cases: equal contents are equal bytes, and reading one trusts nothing that it says.

skill/NAME/…     the files of a skill that a student may see; and its own cases, unless a case file is named
cases/NAME       the case file that was named
"""

import hashlib
import io
import stat
import tarfile
from pathlib import Path, PurePosixPath

from upskill.domain.files import shared_path_problem
from upskill.domain.skill import META_FILE, SKILL_FILE
from upskill.domain.text import on_one_line, whole_characters
from upskill.errors import EngineError, UsageError
from upskill.storage.skill_files import MOST_FILES, FoundFile, find_files, require_inside, skill_invalid

MOST_ARCHIVE_BYTES = 100_000_000
"""Every worker of a sweep reads an archive into memory."""
_OWN_CASES = (META_FILE, "evals/evals.json")
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
        with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for file in sorted(named):
                info, data = _entry(file, most=MOST_ARCHIVE_BYTES - size)
                size += len(data)
                tar.addfile(info, io.BytesIO(data))
        return buffer.getvalue()


def archive_digest(data: bytes) -> str:
    """The name of an archive: the SHA-256 of its bytes."""
    return hashlib.sha256(data).hexdigest()


def extract_archive(data: bytes, into: Path) -> tuple[Path, Path | None]:
    """Write the files of an archive into an empty folder. Returns the skill's folder and the case file.

    Raises `EngineError` before anything is written where it is not an archive of one skill: it has links, devices,
    names that lead elsewhere, a second skill, or more than `archive_bytes` allows.
    """
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as tar:
            members = _members(tar)
            for member in members:
                tar.extract(member, into, set_attrs=False, filter="data")
                executable = bool((member.mode or 0) & stat.S_IXUSR)
                (into / member.name).chmod(_EXECUTABLE if executable else _PLAIN)
    except (tarfile.TarError, EOFError, ValueError, OverflowError, RecursionError) as error:
        raise EngineError(f"the archive of the skill cannot be read ({on_one_line(str(error))})") from None
    except OSError as error:
        raise EngineError(f"{into}: the skill cannot be unpacked here ({error.strerror})") from None
    skill = next(member.name for member in members if member.name.startswith("skill/"))
    cases = next((member.name for member in members if member.name.startswith("cases/")), None)
    return into / "skill" / skill.split("/")[1], None if cases is None else into / cases


def _own_cases(root: Path) -> list[tuple[str, Path]]:
    found = [(name, root / name) for name in _OWN_CASES if (root / name).is_file()]
    for _, path in found:
        require_inside(root, path)
    return found


def _entry(file: FoundFile, *, most: int) -> tuple[tarfile.TarInfo, bytes]:
    if problem := _name_problem(file.path):
        raise UsageError(on_one_line(f"{file.path!r} {problem}"), hint="rename it")
    try:
        with file.source.open("rb") as opened:
            data = opened.read(most + 1)
            mode = file.source.stat().st_mode
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
