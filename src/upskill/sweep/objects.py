"""Objects in a folder or a bucket; some are written once, by whoever comes first. No lock is used.

Names are relative, with forward slashes, and never lead elsewhere. A folder is read and written by the operating system
alone, link by link: it may be a stranger's, who may change it meanwhile. Anything else is a URL, and fsspec knows how.
"""

import errno
import os
import secrets
import shutil
import stat
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, wraps
from pathlib import Path
from typing import Any, BinaryIO, Concatenate, ParamSpec, TypeVar

from upskill.core.nouns.text import on_one_line
from upskill.core.settings.values import without_secrets
from upskill.core.skills.skill_files import not_plain, read_plain
from upskill.errors import EngineError, UsageError

MOST_OBJECT_BYTES = 300_000_000
MOST_BYTES_AHEAD = 50_000_000
"""The most that is read of an object that is fetched with others."""
AT_ONCE = 32
"""Objects that are fetched at the same time."""
PROBE = "written-once"
"""The object by which a place shows that it can write an object once."""
_CONFLICT_PAUSES = (0.1, 0.5, 2.0)
_CONFLICT = 409
_TAKEN = 412
_MOST_DEPTH = 8
_ODD = frozenset("\\:")
T = TypeVar("T")


P = ParamSpec("P")


def open_objects(place: str) -> "Objects":
    """The objects below a local path, or a URL."""
    local = place.removeprefix("file://")
    return _Url(place) if "://" in local else _Folder(Path(local).absolute(), place)


Store = TypeVar("Store", bound="Objects")


def _explained(work: Callable[Concatenate[Store, str, P], T]) -> Callable[Concatenate[Store, str, P], T]:
    """The work on an object of a name, with every error of the operating system or the driver explained."""

    @wraps(work)
    def explained(self: Store, name: str, /, *arguments: P.args, **options: P.kwargs) -> T:
        _require_name(name)
        try:
            return work(self, name, *arguments, **options)
        except (EngineError, UsageError):
            raise
        except Exception as error:
            # The driver of a store is foreign code with errors of its own. What is not one is a bug of ours.
            if self.folder is not None and not isinstance(error, OSError):
                raise
            where = on_one_line(f"{self.place}/{name}")
            why = on_one_line(without_secrets(_words(error, remote=self.folder is None)))
            raise EngineError(f"{where}: cannot be read or written ({why})") from error

    return explained


class Objects(ABC):
    """The objects below one place."""

    def __init__(self, place: str, folder: Path | None) -> None:
        self.place = without_secrets(place)
        """For people."""
        self.folder = folder
        """The local folder; `None` for a URL."""

    @abstractmethod
    def create(self, name: str, data: bytes) -> bool:
        """Write an object that is not there yet. Returns whether this call wrote it.

        `False` need not mean that somebody else did: a request may have been sent twice after its answer was lost.
        """

    @abstractmethod
    def replace(self, name: str, data: bytes) -> None:
        """Write an object, whole or not at all, whether it is there or not."""

    @abstractmethod
    def upload(self, name: str, file: Path) -> None:
        """Write an object from a file that may be larger than memory, whether it is there or not."""

    @abstractmethod
    def read(self, name: str, *, most: int = MOST_OBJECT_BYTES) -> bytes | None:
        """The bytes of an object; `None` if it is not there. Raises where it has more than `most`."""

    @abstractmethod
    def names(self, below: str) -> list[str]:
        """The names of all objects below a name, sorted; none where there is no such folder."""

    @abstractmethod
    def folders(self, below: str) -> list[str]:
        """The names of what lies directly below a name, without what is deeper; sorted."""

    @abstractmethod
    def remove(self, name: str) -> None:
        """Remove an object; a missing one is no error."""

    def read_all(self, names: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Many objects in their order, some fetched ahead. Skips missing ones."""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            for start in range(0, len(names), AT_ONCE):
                some = names[start : start + AT_ONCE]
                for name, data in zip(some, pool.map(partial(self.read, most=MOST_BYTES_AHEAD), some), strict=True):
                    if data is not None:
                        yield name, data

    def require_written_once(self) -> None:
        """Raise `UsageError` where an object can be written twice: then two workers could both claim a result."""
        self.create(PROBE, b"An object that can be written once.\n")
        if self.create(PROBE, b"An object that was written twice.\n"):
            raise UsageError(
                f"{self.place}: writes an object twice although it was asked to write it once",
                hint="use a store with conditional writes (If-None-Match), or a local folder",
            )


def _require_name(name: str) -> None:
    """Raise where a name is not one that lies below its place in every store, and is nothing but a name there."""
    for part in name.split("/"):
        if not part.isprintable() or not part.strip(" .") or part.startswith(".") or not _ODD.isdisjoint(part):
            raise EngineError(on_one_line(f"{name!r}: is not the name of an object"))


def _words(error: Exception, *, remote: bool) -> str:
    if remote and isinstance(error, FileNotFoundError):  # of an object it would have been handled
        return "there is no such bucket"
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


class _Folder(Objects):
    """Objects are files. A file is written beside its place, under a name that begins with a dot, and then named.

    The root is what a person named; below it no link is followed, and what is new is for its owner alone.
    """

    def __init__(self, root: Path, place: str) -> None:
        super().__init__(place, root)
        self._root = root

    @_explained
    def create(self, name: str, data: bytes) -> bool:
        with self._below(name, make=True) as (path, folder):
            with suppress(FileNotFoundError):
                os.stat(_in(path, folder), dir_fd=folder, follow_symlinks=False)
                return False
            with _beside(path, folder, lambda file: file.write(data)) as beside:
                try:
                    # Fails if the name is taken, and never leaves half an object.
                    os.link(beside, _in(path, folder), src_dir_fd=folder, dst_dir_fd=folder)
                except FileExistsError:
                    return False
                except OSError as error:
                    if error.errno not in (errno.EPERM, errno.EOPNOTSUPP, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK):
                        raise
                    raise UsageError(
                        f"{self._root}: is on a file system without hard links, so nothing can be written once",
                        hint="name a folder on another file system, or a bucket",
                    ) from None
        return True

    @_explained
    def replace(self, name: str, data: bytes) -> None:
        self._replace(name, lambda file: file.write(data))

    @_explained
    def upload(self, name: str, file: Path) -> None:
        with file.open("rb") as source:
            self._replace(name, lambda target: shutil.copyfileobj(source, target))

    def _replace(self, name: str, write: Callable[[BinaryIO], object]) -> None:
        with self._below(name, make=True) as (path, folder), _beside(path, folder, write) as beside:
            os.replace(beside, _in(path, folder), src_dir_fd=folder, dst_dir_fd=folder)

    @_explained
    def read(self, name: str, *, most: int = MOST_OBJECT_BYTES) -> bytes | None:
        try:
            with self._below(name) as (path, folder):
                return read_plain(path, most=most, folder=folder)
        except FileNotFoundError:
            return None

    @_explained
    def names(self, below: str) -> list[str]:
        return sorted(self._names(below))

    def _names(self, below: str) -> Iterator[str]:
        for name, is_folder in self._children(below):
            if not is_folder:
                yield f"{below}/{name}"
            elif below.count("/") < _MOST_DEPTH:
                yield from self._names(f"{below}/{name}")
            else:
                raise not_plain(self._root / below / name)

    @_explained
    def folders(self, below: str) -> list[str]:
        return sorted(name for name, _ in self._children(below))

    def _children(self, below: str) -> list[tuple[str, bool]]:
        """What lies directly below a name, and whether it is a folder."""
        with (
            suppress(FileNotFoundError),
            self._below(f"{below}/*") as (path, folder),
            os.scandir(path.parent if folder is None else folder) as children,
        ):
            # What kind a child is comes with its name: one that is removed meanwhile is no error.
            found = [(one, one.is_dir(follow_symlinks=False)) for one in children if not one.name.startswith(".")]
            for child, is_folder in found:
                if not is_folder and not child.is_file(follow_symlinks=False):
                    raise not_plain(path.with_name(child.name))
            return [(child.name, is_folder) for child, is_folder in found]
        return []

    @_explained
    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError), self._below(name) as (path, folder):
            os.unlink(_in(path, folder), dir_fd=folder)

    @contextmanager
    def _below(self, name: str, *, make: bool = False) -> Iterator[tuple[Path, int | None]]:
        """The path of an object, and its folder, opened without following a link; `None` where the system cannot."""
        *folders, last = name.split("/")
        path = self._root
        if make:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        with ExitStack() as stack:
            folder = _opened(stack, path, None)
            for part in folders:
                path /= part
                if make:
                    with suppress(FileExistsError):
                        os.mkdir(_in(path, folder), 0o700, dir_fd=folder)
                if not stat.S_ISDIR(os.stat(_in(path, folder), dir_fd=folder, follow_symlinks=False).st_mode):
                    raise not_plain(path)
                folder = _opened(stack, path, folder)
            yield path / last, folder


def _opened(stack: ExitStack, path: Path, within: int | None) -> int | None:
    if os.open not in os.supports_dir_fd:
        return None
    flags = os.O_RDONLY | os.O_DIRECTORY | (0 if within is None else os.O_NOFOLLOW)
    folder = os.open(_in(path, within), flags, dir_fd=within)
    stack.callback(os.close, folder)
    return folder


def _in(path: Path, folder: int | None) -> str:
    """How the operating system is told a path: seen from its folder, where that is open."""
    return str(path) if folder is None else path.name


@contextmanager
def _beside(path: Path, folder: int | None, write: Callable[[BinaryIO], object]) -> Iterator[str]:
    """A file in the same folder, written and on disk; removed at the end if it is still there."""
    beside = _in(path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp"), folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with os.fdopen(os.open(beside, flags, 0o600, dir_fd=folder), "wb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        yield beside
    finally:
        with suppress(FileNotFoundError):
            os.unlink(beside, dir_fd=folder)


class _Url(Objects):
    """Objects of a file system that fsspec knows."""

    def __init__(self, url: str) -> None:
        import fsspec  # type: ignore[import-untyped]  # takes a tenth of a second

        try:
            # Another instance may cache listings, to which others write meanwhile.
            files, root = fsspec.core.url_to_fs(url, use_listings_cache=False, skip_instance_cache=True)
        except (ImportError, ValueError) as error:
            raise UsageError(f"{without_secrets(url)}: cannot be opened ({on_one_line(str(error))})") from None
        _require_create(files, url)
        super().__init__(url, None)
        self._files: Any = files
        self._root: str = root.rstrip("/")

    @_explained
    def create(self, name: str, data: bytes) -> bool:
        for pause in (*_CONFLICT_PAUSES, None):
            try:
                self._files.pipe_file(self._path(name), data, mode="create")
            except FileExistsError:
                return False
            except OSError as error:
                status = _http_status(error)
                if status == _TAKEN:
                    return False
                if status != _CONFLICT or pause is None:  # S3: another writes at this moment, so ask again
                    raise
                time.sleep(pause)
            else:
                return True
        raise AssertionError("the last pause is None")

    @_explained
    def replace(self, name: str, data: bytes) -> None:
        self._files.pipe_file(self._path(name), data)

    @_explained
    def upload(self, name: str, file: Path) -> None:
        self._files.put_file(str(file), self._path(name))

    @_explained
    def read(self, name: str, *, most: int = MOST_OBJECT_BYTES) -> bytes | None:
        try:
            if int(self._files.size(self._path(name)) or 0) > most:
                raise EngineError(on_one_line(f"{name}: has more than {most:,} bytes"))
            return bytes(self._files.cat_file(self._path(name)))
        except FileNotFoundError:
            return None

    @_explained
    def names(self, below: str) -> list[str]:
        self._files.invalidate_cache()
        return sorted(path[len(self._root) + 1 :] for path in self._files.find(self._path(below)))

    @_explained
    def folders(self, below: str) -> list[str]:
        self._files.invalidate_cache()
        try:
            found = self._files.ls(self._path(below), detail=False)
        except FileNotFoundError:
            return []
        return sorted(filter(None, (path.rstrip("/")[len(self._path(below)) + 1 :] for path in found)))

    @_explained
    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"


def _require_create(files: Any, url: str) -> None:
    """Raise where a file system looks first and writes then, as fsspec does for those that know nothing better."""
    import inspect

    from fsspec.asyn import AsyncFileSystem  # type: ignore[import-untyped]
    from fsspec.spec import AbstractFileSystem  # type: ignore[import-untyped]

    asynchronous = isinstance(files, AsyncFileSystem)
    write = type(files)._pipe_file if asynchronous else type(files).pipe_file
    known = write is not (AsyncFileSystem._pipe_file if asynchronous else AbstractFileSystem.pipe_file)
    if not known or "mode" not in inspect.signature(write).parameters:
        raise UsageError(
            f"{without_secrets(url)}: this kind of place cannot write an object once",
            hint="name a local folder, or a bucket (s3://BUCKET/PATH)",
        )


def _http_status(error: OSError) -> int | None:
    """What the server answered, where the driver tells: not every store says which condition failed."""
    response = getattr(error.__cause__, "response", None)
    if not isinstance(response, dict):
        return None
    status = response.get("ResponseMetadata", {}).get("HTTPStatusCode")
    return status if isinstance(status, int) else None
