"""Reads what `hf://` names on the Hugging Face Hub, at one commit, into the cache of the Hub's library; commits there.

What is there is a stranger's: it is listed first, and refused before anything is downloaded; a file is kept only if its
bytes have the hash of the listing. The library is an extra, imported when it is needed; it alone knows the token, which
goes to the address of the Hub and nowhere else. Knows nothing of what the files mean.
"""

import hashlib
import io
import logging
import os
import re
import secrets
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath
from queue import SimpleQueue
from shlex import quote
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs, urlsplit
from urllib.parse import quote as quoted

from upskill import disk
from upskill.core.foreign_json import MOST_JSON_BYTES, parse_json
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
    from httpx2 import Client, Request, Response

MOST_FILES = 5_000
MOST_BYTES = 4_000_000_000
_SCHEME = "hf://"
_FORM = "hf://OWNER/NAME[@REVISION][/PATH], or hf://datasets/OWNER/NAME[@REVISION][/PATH]"
_ON_THE_HUB = re.compile(
    r"https?://(?:huggingface\.co|hf\.co)/((?:datasets/)?[\w.-]+/[\w.-]+)(?:/(?:resolve|raw|blob|tree)/([^/?#]+)(/[^?#]*)?)?"
)
_LOGIN = "`hf auth login`; to publish, with a token that may write"
_COMMIT = re.compile(r"[0-9a-f]{40}")
_AT_ONCE = 8
SECONDS = 30.0
"""For the next bytes of an answer."""
_LISTING_SECONDS = 300.0
"""For all answers about a repository, and for the wait until a file begins."""
_SLOWEST = 20_000
"""Bytes a second of a file."""
_ATTEMPTS = 6
_OF_ERRORS = frozenset({"x-error-code", "x-error-message", "retry-after"})
_MOST_NAMED = 5

Note = Callable[[str], None]
_downloaded: dict[Path, str] = {}
"""What this process has downloaded: folders of the cache, each with the `hf://` name of its commit."""


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
    """The `hf://` name, with its commit, of a path that this process has downloaded; `None` for any other path."""
    real = Path(path).resolve()
    for folder in (real, *real.parents):
        if folder in _downloaded:
            inside = real.relative_to(folder).as_posix()
            return _downloaded[folder] if inside == "." else f"{_downloaded[folder]}/{inside}"
    return None


def _library() -> ModuleType:
    """Import `huggingface_hub`. Raises `UsageError` where it is not installed."""
    # Xet is a second program that would upload in another way than the one that is tested.
    for name in ("XET", "PROGRESS_BARS", "TELEMETRY"):
        os.environ.setdefault(f"HF_HUB_DISABLE_{name}", "1")
    try:
        import huggingface_hub.constants
        import huggingface_hub.errors
        import huggingface_hub.utils
    except ImportError:
        raise UsageError("hf:// needs the package huggingface_hub", hint="pip install 'skill-lift[hub]'") from None
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    return huggingface_hub


_one_at_a_time = threading.RLock()


@contextmanager
def _at_home() -> Iterator[None]:
    """Have every request of the library that carries the token go to the address of the Hub, whatever a Hub answers."""
    import httpx2

    hub = _library()
    sessions = hub.utils._http
    home = httpx2.URL(hub.constants.ENDPOINT).origin

    def keep(request: "Request") -> None:
        if "authorization" in request.headers and request.url.origin != home:
            raise EngineError("the Hub wants the token at another address", hint="nothing was sent there")

    def guarded() -> "Client":
        session: Client = before()
        session.event_hooks["request"].append(keep)
        return session

    with _one_at_a_time:
        before = sessions._GLOBAL_CLIENT_FACTORY
        hub.set_client_factory(guarded)
        try:
            yield
        finally:
            hub.set_client_factory(before)


@contextmanager
def explaining(what: str, *, kept: str = "complete files are kept") -> Iterator[None]:
    """Have a failure of the Hub or of the way to it in one line, without what the server or the library wrote.

    `kept` is what a second attempt need not do again.
    """
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    transport = (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError)
    try:
        with _at_home():
            yield
    except UpskillError:
        raise
    except (HfHubHTTPError, OSError, ValueError, RuntimeError, *transport) as error:
        raise _explained(error, what, kept) from error


def _explained(error: Exception, what: str, kept: str) -> UpskillError:
    from huggingface_hub import errors

    while isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__
    if isinstance(error, UpskillError):
        return error
    response = getattr(error, "response", None)
    status = 0 if response is None else int(response.status_code)
    if isinstance(error, errors.GatedRepoError):
        return UsageError(
            f"{what}: access has to be granted", hint="ask for it on its page on the Hub; `hf auth login`"
        )
    if isinstance(error, errors.RevisionNotFoundError):
        return UsageError(f"{what}: the Hub has no such revision", hint="name a branch, a tag or a whole commit hash")
    if isinstance(error, errors.EntryNotFoundError):
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


@dataclass(frozen=True, kw_only=True, slots=True)
class _LargeFile:
    """What a listing says of a file in LFS."""

    oid: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class HubFile:
    """What a listing says of a file, a folder or something else. The bytes of a file must fit it."""

    type: str
    path: str
    oid: str = ""
    """The SHA-1 of a file as git keeps it."""
    size: int = 0
    lfs: _LargeFile | None = None

    @property
    def length(self) -> int:
        """The size of a file itself: for one in LFS, not that of its pointer."""
        return self.size if self.lfs is None else self.lfs.size

    def fits(self, file: IO[bytes]) -> bool:
        """Whether these are its bytes."""
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        digest = hashlib.sha1(b"blob %d\0" % size) if self.lfs is None else hashlib.sha256()
        while piece := file.read(1_000_000):
            digest.update(piece)
        return size == self.length and digest.hexdigest() == (self.oid if self.lfs is None else self.lfs.oid)


class Commit(NamedTuple):
    """What a revision names now."""

    hash: str
    is_private: bool


class Repository:
    """A repository on the Hub. Its methods are used within one `explaining`."""

    def __init__(self, name: str, kind: str, *, shown: str) -> None:
        """`kind` is `model` or `dataset`. `shown` is how errors name it."""
        self._hub, self._shown = _library(), shown
        self._where = {"repo_id": name, "repo_type": kind}
        self._api = f"{self._hub.constants.ENDPOINT}/api/{kind}s/{name}"
        self._folder = Path(self._hub.constants.HF_HUB_CACHE, f"{kind}s--{name.replace('/', '--')}")
        self._until = time.monotonic() + _LISTING_SECONDS
        self.address = f"{_SCHEME}{'datasets/' if kind == 'dataset' else ''}{name}"

    @cached_property
    def _session(self) -> "Client":
        """That of this `explaining`: a thread that outlives it has none, and so none that sends the token elsewhere."""
        session: Client = self._hub.utils.get_session()
        return session

    def require_token(self) -> None:
        """Raise `UsageError` where there is none."""
        if self._hub.get_token() is None:
            hint = "`hf auth login`, with a token that may write"
            raise UsageError(f"{self._shown}: the Hub needs a token", hint=hint)

    def commit(self, revision: str | None = None) -> Commit:
        """The commit that a revision names now. Nothing after this asks for the revision again."""
        path = "" if revision is None else f"/revision/{quoted(revision, safe='')}"
        value = parse_json(self._ask(f"{self._api}{path}", attempts=1)[0])
        if not isinstance(value, dict) or not _COMMIT.fullmatch(str(value.get("sha"))):
            raise self._refused("the Hub named no commit")
        return Commit(str(value["sha"]), bool(value.get("private")))

    def commit_if_any(self) -> Commit | None:
        """What it holds now; `None` where there is no such repository, as far as the token may see."""
        try:
            return self.commit()
        except self._hub.errors.RepositoryNotFoundError:
            return None

    def named(self, path: str, commit: str) -> list[HubFile]:
        """The file or folder of this path; empty where there is none."""
        return self._page(self._ask(f"{self._api}/paths-info/{commit}", data={"paths": [path], "expand": False})[0])

    def listing(self, commit: str, below: str = "") -> list[HubFile]:
        """Everything below a path, or in all of it, without downloading it. Raises where that is too much."""
        url = f"{self._api}/tree/{commit}{f'/{quoted(below)}' if below else ''}"
        params: dict[str, str] = {"recursive": "true"}
        found: list[HubFile] = []
        while len(found) < 4 * MOST_FILES:
            data, following = self._ask(url, params=params)
            page = self._page(data)
            found += page
            if not following:
                break
            # Only this of the address of the next page is taken: the token goes where it went before.
            params["cursor"] = "".join(parse_qs(urlsplit(following).query).get("cursor", []))
            if not page or not params["cursor"]:
                raise self._refused("the Hub's list of files has no end")
        if sum(one.type == "file" for one in found) > MOST_FILES or len(found) >= 4 * MOST_FILES:
            raise UsageError(
                f"{self._shown}: has more than {MOST_FILES:,} files", hint="name a folder or a file in it: …/PATH"
            )
        return found

    def _page(self, data: bytes) -> list[HubFile]:
        from pydantic import TypeAdapter, ValidationError

        refused = self._refused("the Hub's list of files cannot be read")
        try:
            found = TypeAdapter(list[HubFile]).validate_json(data, strict=True)
        except ValidationError:
            raise refused from None
        if any(min(one.size, one.length) < 0 for one in found):
            raise refused
        return found

    def folder(self, commit: str) -> Path:
        """Where the files of a commit are on this machine."""
        return self._folder / "snapshots" / commit

    def fetch(self, file: HubFile, commit: str) -> Path:
        """Have a file in the cache, if its bytes are those of the listing."""
        path = self.folder(commit) / file.path
        with suppress(OSError), disk.opened(path) as there:
            if file.fits(there):
                return path
        url = self._hub.hf_hub_url(filename=file.path, revision=commit, **self._where)
        until = time.monotonic() + _LISTING_SECONDS + file.length / _SLOWEST
        part = self._folder / "blobs" / secrets.token_hex(8)
        for folder in (part.parent, path.parent):
            folder.mkdir(parents=True, exist_ok=True)
        with disk.replacing(part) as out:
            self._receive(url, out, most=file.length, until=until)
            if not file.fits(out):
                raise self._refused(f"{file.path} is not what the Hub lists")
        disk.move(part, path)
        return path

    def change(
        self, *, parent: str | None, private: bool, written: Mapping[str, bytes], removed: Iterable[str], message: str
    ) -> str:
        """Commit, and return the hash. Without a `parent` the repository is made. Raises where it is another now."""
        hub = self._hub
        operations = [
            *(hub.CommitOperationAdd(path_in_repo=path, path_or_fileobj=data) for path, data in written.items()),
            *(hub.CommitOperationDelete(path_in_repo=path, is_folder=False) for path in removed),
        ]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if parent is None:
                hub.HfApi().create_repo(private=private, **self._where)
            made = hub.HfApi().create_commit(
                operations=operations, commit_message=message, parent_commit=parent, **self._where
            )
        return str(made.oid)

    def _ask(self, url: str, *, attempts: int = _ATTEMPTS, **request: Any) -> tuple[bytes, str]:
        """An answer, and the address of the next page where it has one."""
        data = io.BytesIO()
        following = self._receive(url, data, most=MOST_JSON_BYTES, until=self._until, attempts=attempts, **request)
        return data.getvalue(), following

    def _receive(
        self, url: str, out: IO[bytes], *, most: int, until: float, attempts: int = _ATTEMPTS, **request: Any
    ) -> str:
        """Write an answer of at most so many bytes, before a deadline; ask again for the rest where the connection
        breaks, and for all where the Hub is busy."""
        import httpx2

        utils, left = self._hub.utils, attempts
        method = "POST" if "data" in request else "GET"
        while True:
            begun, left, wait = out.tell(), left - 1, 1.0
            headers = {**utils.build_hf_headers(), "Accept-Encoding": "identity"}
            headers |= {"Range": f"bytes={begun}-"} if begun else {}
            try:
                with self._session.stream(method, url, headers=headers, timeout=SECONDS, **request) as answer:
                    wait = self._seconds_to_wait(answer, 2.0 ** (attempts - left))
                    if not wait or not left or time.monotonic() + wait > until:
                        self._require_success(answer)
                        out.seek(begun if answer.status_code == httpx2.codes.PARTIAL_CONTENT else 0)
                        out.truncate()
                        for piece in answer.iter_bytes():
                            if out.tell() + len(piece) > most:
                                raise self._refused("the Hub sends more than it may")
                            if time.monotonic() > until:
                                raise self._refused("the Hub is too slow")
                            out.write(piece)
                        return str(answer.links.get("next", {}).get("url", ""))
            except httpx2.TransportError:
                left = attempts - 1 if out.tell() > begun else left
                if left <= 0 or time.monotonic() > until:
                    raise
            time.sleep(wait)

    def _seconds_to_wait(self, answer: "Response", usual: float) -> float:
        """How long to wait for a Hub that is busy; 0 for one that is not."""
        if answer.status_code not in (408, 429, 500, 502, 503, 504):
            return 0.0
        limit = self._hub.utils.parse_ratelimit_headers(answer.headers)
        if answer.status_code == 429 and limit is not None and limit.remaining == 0:
            return float(limit.reset_in_seconds) + 1
        named = re.fullmatch(r"\d{1,9}", answer.headers.get("Retry-After", ""))
        return usual if named is None else float(named[0]) + 1

    def _require_success(self, answer: "Response") -> None:
        """Raise as the library does, without reading what a Hub says of an error: that may have no end."""
        import httpx2

        if answer.status_code >= 400:
            headers = {name: text for name, text in answer.headers.items() if name in _OF_ERRORS}
            bare = httpx2.Response(answer.status_code, headers=headers, request=answer.request)
            self._hub.utils.hf_raise_for_status(bare)

    def _refused(self, why: str) -> EngineError:
        return EngineError(on_one_line(f"{self._shown}: {why}"), hint="check HF_ENDPOINT; complete files are kept")


class _Place:
    """A repository on the Hub, or what is below a path in it."""

    def __init__(self, source: str) -> None:
        library = _library()
        self.shown = on_one_line(source)
        try:
            named = library.parse_hf_uri(source.rstrip("/"))
            library.utils.validate_repo_id(named.id)
        except (library.errors.HfUriError, ValueError):
            raise UsageError(f"{self.shown}: names nothing on the Hub", hint=_FORM) from None
        if named.type not in ("model", "dataset"):
            raise UsageError(f"{self.shown}: is a {named.type}, which is not read", hint=_FORM)
        self.path: str = named.path_in_repo.strip("/")
        if self.path and (problem := path_problem(self.path)):
            raise UsageError(f"{self.shown}: the path {problem}", hint=_FORM)
        self._revision: str | None = named.revision
        self._repository = Repository(named.id, named.type, shown=self.shown)

    def download(self, note: Note, *, skill: bool = False) -> Path:
        """Download all files of one commit, as ordinary files; returns the path that was named, on this machine."""
        with explaining(self.shown):
            commit = self._repository.commit(self._revision).hash
            files = self._files(commit)
            self._require_usable(files, skill=skill)
            size = size_words(sum(file.length for file in files))
            note(f"{self.shown}: {count(len(files), 'file')}, {size}, at commit {commit}")
            return self._downloaded(files, commit)

    def _files(self, commit: str) -> list[HubFile]:
        """What is below the path, without downloading it. Raises for what a folder of a stranger may not hold."""
        if self.path:
            named = self._repository.named(self.path, commit)
            if not named:
                hint = f"a revision comes after the name: {_FORM}" if "@" in self.path else _FORM
                raise UsageError(f"{self.shown}: no such file or folder there", hint=hint)
            if named[0].type == "file" and named[0].path == self.path:
                return [named[0]]
        found = self._repository.listing(commit, self.path)
        files = [one for one in found if one.type == "file"]
        inside = {folder for file in files for folder in folders_of(file.path)}
        # Git keeps no empty folder: what is no file and holds none is something else.
        links = [one.path for one in found if one.type != "file" and one.path not in inside]
        problems = [f"{path!r} is a link or another repository" for path in links if path != self.path]
        problems += [f"{file.path!r} {problem}" for file in files if (problem := path_problem(file.path))]
        problems += [f"{file.path!r} is not below {self.path}" for file in files if not self._is_below(file.path)]
        problems += [
            f"{one!r} and {two!r} are one name on some systems"
            for one, two in name_clashes(file.path for file in files)
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

    def _require_usable(self, files: Sequence[HubFile], *, skill: bool) -> None:
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
        size = sum(file.length for file in files)
        if len(files) > most_files or size > most:
            large = max(files, key=lambda file: file.length)
            raise UsageError(
                f"{self.shown}: {count(len(files), 'file')} with {size_words(size)} "
                f"({on_one_line(large.path)}: {size_words(large.length)}); at most {most_files:,} files with "
                f"{size_words(most)} are downloaded",
                hint="name a folder or a file in it: …/PATH",
            )

    def _downloaded(self, files: Sequence[HubFile], commit: str) -> Path:
        repository = self._repository
        waiting, ended = iter(files), SimpleQueue[Path | BaseException]()

        def fetch() -> None:
            for file in waiting:
                try:
                    ended.put(repository.fetch(file, commit))
                except BaseException as error:  # noqa: BLE001 - the boundary of a thread: raised again by whoever waits
                    ended.put(error)

        # A Hub that says nothing holds up no Ctrl-C: these threads end with the process, or with the library's client.
        for _ in range(min(_AT_ONCE, len(files))):
            threading.Thread(target=fetch, name="upskill-download", daemon=True).start()
        paths: set[Path] = set()
        for _ in files:
            path = ended.get()
            if isinstance(path, BaseException):
                raise path
            paths.add(path)
        root = repository.folder(commit)
        target = root / self.path
        if other := next((path for path in disk.below(target) if path not in paths), None):
            raise EngineError(
                on_one_line(f"{self.shown}: the cache has a file that is not in this commit: {other}"),
                hint=f"delete {on_one_line(str(root))}",
            )
        _downloaded[target.resolve()] = repository.address + f"@{commit}" + (f"/{self.path}" if self.path else "")
        return target
