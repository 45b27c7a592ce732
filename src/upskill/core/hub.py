"""Reads what `hf://` names on the Hugging Face Hub: at one commit, into the cache of the Hub's own library.

What is there is a stranger's: it is listed first, and refused before anything is downloaded. The library is an extra,
imported when it is needed; it alone knows the token and sends it. Knows nothing of what the files mean.
"""

import logging
import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PurePosixPath
from shlex import quote
from types import ModuleType
from typing import TYPE_CHECKING

from upskill.core.nouns.skill import (
    MOST_SHARED_BYTES,
    MOST_SHARED_FILES,
    SKILL_FILE,
    folders_of,
    name_clashes,
    path_problem,
)
from upskill.core.nouns.text import count, on_one_line, size_words
from upskill.errors import EngineError, UpskillError, UsageError

if TYPE_CHECKING:
    from huggingface_hub import HfUri
    from huggingface_hub.hf_api import RepoFile, RepoFolder

MOST_FILES = 5_000
MOST_BYTES = 4_000_000_000
_SCHEME = "hf://"
_FORM = "hf://OWNER/NAME[@REVISION][/PATH], or hf://datasets/OWNER/NAME[@REVISION][/PATH]"
_ON_THE_HUB = re.compile(
    r"https?://(?:huggingface\.co|hf\.co)/((?:datasets/)?[\w.-]+/[\w.-]+)(?:/(?:resolve|raw|blob|tree)/([^/?#]+)(/[^?#]*)?)?"
)
_LOGIN = "`hf auth login`; to publish, with a token that may write"
_CACHED = re.compile(r"/(model|dataset)s--([^/]+?)--([^/]+)/snapshots/([0-9a-f]{40})(/.+)?\Z")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_AT_ONCE = 8
SECONDS = 30.0
"""For one answer about a repository."""
_MOST_NAMED = 5

Note = Callable[[str], None]


def silent(_: str) -> None:
    """Tell nobody."""


def is_address(source: str) -> bool:
    """Whether a source is no path on this machine, but an address."""
    return source.startswith((_SCHEME, "https://", "http://"))


def fetched(source: str, note: Note = silent) -> str:
    """A source as a path on this machine: `hf://` is downloaded; what is a path already is returned as it is.

    Raises `UsageError` for other addresses, with the command for it.
    """
    if not source.startswith(_SCHEME):
        if is_address(source):
            raise _no_download(source)
        return source
    return str(_Place(source).download(note))


def fetched_skill(source: str, note: Note = silent) -> Path:
    """The folder of a skill on this machine, by its path or by `hf://`."""
    if not source.startswith(_SCHEME):
        return Path(fetched(source))
    return _Place(source.removesuffix(f"/{SKILL_FILE}")).download(note, skill=True)


def pinned(path: Path | str) -> str | None:
    """The `hf://` name, with its commit, of a path in the Hub's cache; `None` for any other path."""
    found = _CACHED.search(Path(path).as_posix())
    if found is None:
        return None
    kind, owner, name, commit, inside = found.groups()
    return f"{_SCHEME}{'datasets/' if kind == 'dataset' else ''}{owner}/{name}@{commit}{inside or ''}"


def library() -> ModuleType:
    """Import `huggingface_hub`. Raises `UsageError` where it is not installed."""
    # Xet is a second program that would download and upload in another way than the one that is tested.
    for name in ("XET", "SYMLINKS", "PROGRESS_BARS", "TELEMETRY"):
        os.environ.setdefault(f"HF_HUB_DISABLE_{name}", "1")
    try:
        import huggingface_hub.errors
        import huggingface_hub.hf_api
        import huggingface_hub.utils
    except ImportError:
        raise UsageError("hf:// needs the package huggingface_hub", hint="pip install 'skill-lift[hub]'") from None
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return huggingface_hub


@contextmanager
def explaining(what: str, *, kept: str = "complete files are kept") -> Iterator[None]:
    """Have a failure of the Hub or of the way to it in one line, without what the server or the library wrote.

    `kept` is what a second attempt need not do again.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    transport = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
    try:
        yield
    except UpskillError:
        raise
    except (HfHubHTTPError, OSError, ValueError, RuntimeError, *transport) as error:
        raise _explained(error, what, kept) from error


def _explained(error: Exception, what: str, kept: str) -> UpskillError:
    from huggingface_hub import errors

    wrapped = (errors.LocalEntryNotFoundError, RuntimeError)
    while isinstance(error, wrapped) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    response = getattr(error, "response", None)
    status = 0 if response is None else int(response.status_code)
    if isinstance(error, errors.GatedRepoError):
        return UsageError(
            f"{what}: access has to be granted", hint="ask for it on its page on the Hub; `hf auth login`"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UsageError(f"{what}: the Hub has no such revision", hint="name a branch, a tag or a whole commit hash")
    if isinstance(error, errors.EntryNotFoundError) and not isinstance(error, errors.LocalEntryNotFoundError):
        return UsageError(f"{what}: no such file or folder there", hint=_FORM)
    if isinstance(error, errors.RepositoryNotFoundError) or status == 404:
        hint = "check the name (a dataset is hf://datasets/OWNER/NAME); if it is private: `hf auth login`"
        return UsageError(f"{what}: not found on the Hub, or private", hint=hint)
    if status in (401, 403):
        return UsageError(f"{what}: the Hub refused the token, or it may not do this", hint=_LOGIN)
    if status in (409, 412):
        return UsageError(f"{what}: was changed by somebody else meanwhile", hint="try again")
    if status == 429:
        seconds = re.sub(r"\D", "", response.headers.get("Retry-After", "")) if response is not None else ""
        after = f"in {seconds} seconds" if seconds else "later"
        return EngineError(f"{what}: the Hub limits requests", hint=f"try again {after}; {kept}")
    if status:
        return EngineError(f"{what}: the Hub answered {status}", hint=f"try again later; {kept}")
    if isinstance(error, OSError) and error.strerror and error.errno is not None:
        return EngineError(on_one_line(f"{what}: {error.strerror}"), hint="check the disk, and HF_HOME")
    reason = on_one_line(type(error).__name__)
    return EngineError(f"{what}: the Hub cannot be reached ({reason})", hint=f"try again; {kept}")


def _no_download(source: str) -> UsageError:
    shown = on_one_line(source)
    if found := _ON_THE_HUB.fullmatch(source.partition("?")[0].partition("#")[0].rstrip("/")):
        repository, revision, path = found.groups()
        named = f"{_SCHEME}{repository}{f'@{revision}' if revision else ''}{path or ''}"
        return UsageError(f"{shown}: is an address of the Hub's pages", hint=f"name it as {on_one_line(quote(named))}")
    return UsageError(
        f"{shown}: is not downloaded", hint=f"fetch it, and name the file: curl -fLO {on_one_line(quote(source))}"
    )


class _Place:
    """A repository on the Hub, or what is below a path in it."""

    def __init__(self, source: str) -> None:
        self.library = library()
        self.shown = on_one_line(source)
        try:
            self._named: HfUri = self.library.parse_hf_uri(source.rstrip("/"))
        except (self.library.errors.HfUriError, ValueError):
            raise UsageError(f"{self.shown}: names nothing on the Hub", hint=_FORM) from None
        if self._named.type not in ("model", "dataset"):
            raise UsageError(f"{self.shown}: is a {self._named.type}, which is not read", hint=_FORM)
        self.path: str = self._named.path_in_repo.strip("/")
        if self.path and (problem := path_problem(self.path)):
            raise UsageError(f"{self.shown}: the path {problem}", hint=_FORM)
        self._where = {"repo_id": self._named.id, "repo_type": self._named.type}

    def download(self, note: Note, *, skill: bool = False) -> Path:
        """Download all files of one commit, as ordinary files; returns the path that was named, on this machine."""
        with explaining(self.shown):
            commit = self._commit()
            files = self._files(commit)
            self._require_usable(files, skill=skill)
            size = size_words(sum(map(_size, files)))
            note(f"{self.shown}: {count(len(files), 'file')}, {size}, at commit {commit}")
            return self._downloaded(files, commit)

    def _commit(self) -> str:
        """The commit that the revision names now. Nothing after this asks for the revision again."""
        info = self.library.HfApi().repo_info(revision=self._named.revision, timeout=SECONDS, **self._where)
        if not isinstance(info.sha, str) or not _COMMIT.fullmatch(info.sha):
            raise EngineError(f"{self.shown}: the Hub named no commit", hint="check HF_ENDPOINT")
        return info.sha

    def _files(self, commit: str) -> list["RepoFile"]:
        """What is below the path, without downloading it. Raises for what a folder of a stranger may not hold."""
        api, names = self.library.HfApi(), self.library.hf_api
        if self.path:
            named = api.get_paths_info(paths=[self.path], revision=commit, **self._where)
            if not named:
                hint = f"a revision comes after the name: {_FORM}" if "@" in self.path else _FORM
                raise UsageError(f"{self.shown}: no such file or folder there", hint=hint)
            if isinstance(named[0], names.RepoFile):
                return [named[0]]
        entries: Iterable[RepoFile | RepoFolder] = api.list_repo_tree(
            path_in_repo=self.path or None, recursive=True, revision=commit, **self._where
        )
        found = list(islice(entries, 4 * MOST_FILES))
        files = [one for one in found if isinstance(one, names.RepoFile)]
        if len(files) > MOST_FILES or len(found) == 4 * MOST_FILES:
            raise UsageError(
                f"{self.shown}: has more than {MOST_FILES:,} files", hint="name a folder or a file in it: …/PATH"
            )
        inside = {folder for file in files for folder in folders_of(file.path)}
        # Git keeps no empty folder, and the library takes for a folder whatever is no file.
        links = [one.path for one in found if not isinstance(one, names.RepoFile) and one.path not in inside]
        problems = [f"{path!r} is a link or another repository" for path in links if path != self.path]
        problems += [f"{file.path!r} {problem}" for file in files if (problem := path_problem(file.path))]
        problems += [f"{file.path!r} is not below {self.path}" for file in files if not self._is_below(file.path)]
        problems += [
            f"{one!r} and {two!r} are one name on some systems" for one, two in name_clashes(map(_path, files))
        ]
        if problems:
            raise UsageError(
                f"{self.shown}: holds {count(len(problems), 'name')} that cannot be downloaded",
                problems=[*map(on_one_line, problems[:_MOST_NAMED]), *(["…"] if len(problems) > _MOST_NAMED else [])],
                hint="name a folder or a file without them: …/PATH",
            )
        return files

    def _is_below(self, path: str) -> bool:
        return not self.path or path.startswith(f"{self.path}/")

    def _require_usable(self, files: Sequence["RepoFile"], *, skill: bool) -> None:
        if not files:
            raise UsageError(f"{self.shown}: holds no file", hint=_FORM)
        skills = sorted(str(PurePosixPath(one.path).parent) for one in files if one.path.split("/")[-1] == SKILL_FILE)
        is_skill = (self.path or ".") in skills
        if skill and not is_skill:
            base = self.shown.removesuffix(f"/{self.path}")
            named = ", ".join(f"{base}/{one}" for one in skills[:_MOST_NAMED])
            hint = f"did you mean {named}?" if skills else "a skill is a folder with a SKILL.md in it"
            raise UsageError(f"{self.shown}: has no {SKILL_FILE}", hint=on_one_line(hint))
        most_files, most = (MOST_SHARED_FILES, MOST_SHARED_BYTES) if is_skill else (MOST_FILES, MOST_BYTES)
        if len(files) > most_files or sum(map(_size, files)) > most:
            large = max(files, key=_size)
            raise UsageError(
                f"{self.shown}: {count(len(files), 'file')} with {size_words(sum(map(_size, files)))} "
                f"({on_one_line(large.path)}: {size_words(_size(large))}); at most {most_files:,} files with "
                f"{size_words(most)} are downloaded",
                hint="name a folder or a file in it: …/PATH",
            )

    def _downloaded(self, files: Sequence["RepoFile"], commit: str) -> Path:
        def one(file: "RepoFile") -> Path:
            path = Path(self.library.hf_hub_download(filename=file.path, revision=commit, **self._where))
            _make_plain(path)
            if path.stat().st_size != _size(file):
                path.unlink()
                raise EngineError(
                    f"{self.shown}: {on_one_line(file.path)} did not arrive whole",
                    hint="try again; the others are kept",
                )
            return path

        pool = ThreadPoolExecutor(_AT_ONCE)
        try:
            paths: list[Path] = list(pool.map(one, files))
        finally:
            pool.shutdown(cancel_futures=True)
        depth = len(PurePosixPath(files[0].path).parts)
        root: Path = paths[0].parents[depth - 1]
        return root / self.path


def _make_plain(path: Path) -> None:
    """Have a file in the place of a link into the cache, which another program left: a skill may hold no such links."""
    if path.is_symlink():
        copy = path.with_name(f"{path.name}.{os.getpid()}.tmp")
        shutil.copyfile(path, copy)
        copy.replace(path)


def _path(file: "RepoFile") -> str:
    return file.path


def _size(file: "RepoFile") -> int:
    """The bytes of a file itself: for one in LFS, not those of its pointer."""
    return file.size if file.lfs is None else file.lfs.size
