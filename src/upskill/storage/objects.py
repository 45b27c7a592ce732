"""Objects in a folder or a bucket, through fsspec; some are written once, by whoever comes first.

Names are relative, with forward slashes. No lock is used.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from upskill.errors import EngineError, UsageError
from upskill.settings.values import without_secrets


class Objects:
    """The objects below one place: a local path, or a URL that fsspec knows."""

    def __init__(self, place: str) -> None:
        self.place = place
        self.folder = None if "://" in place else Path(place)
        """The local folder; `None` for a URL."""
        self._files, self._root = _file_system(place)

    def create(self, name: str, data: bytes) -> bool:
        """Write an object that is not there yet. Returns whether this call wrote it."""
        with self._explained(name):
            if self.folder is not None:
                return _create_file(self.folder / name, data)
            try:
                self._files.pipe_file(self._path(name), data, mode="create")
            except FileExistsError:
                return False
            return True

    def replace(self, name: str, data: bytes) -> None:
        """Write an object, whole or not at all, whether it is there or not."""
        with self._explained(name):
            if self.folder is None:
                self._files.pipe_file(self._path(name), data)
                return
            target = self.folder / name
            beside = _written_beside(target, data)
            beside.replace(target)

    def upload(self, name: str, file: Path) -> None:
        """Write an object from a file that may be larger than memory, whether it is there or not."""
        with self._explained(name):
            self._files.put_file(str(file), self._path(name))

    def read(self, name: str) -> bytes | None:
        """The bytes of an object; `None` if it is not there."""
        with self._explained(name):
            try:
                return bytes(self._files.cat_file(self._path(name)))
            except FileNotFoundError:
                return None

    def read_all(self, names: list[str]) -> Iterator[tuple[str, bytes]]:
        """Many objects, in batches that are fetched at the same time where the place allows it. Skips missing ones."""
        for start in range(0, len(names), 256):
            batch = {self._path(name): name for name in names[start : start + 256]}
            with self._explained(names[start]):
                found: dict[str, Any] = self._files.cat(list(batch), on_error="return")
            for path, data in found.items():
                if isinstance(data, bytes):
                    yield batch[path], data
                elif not isinstance(data, FileNotFoundError):
                    raise EngineError(f"{without_secrets(self.place)}/{batch[path]}: cannot be read ({data})")

    def names(self, below: str) -> list[str]:
        """The names of all objects below a name, sorted; without half-written ones."""
        with self._explained(below):
            start = self._path(below)
            self._files.invalidate_cache()
            found = self._files.find(start)
        return sorted(path[len(self._root) + 1 :] for path in found if not path.rsplit("/", 1)[-1].startswith("."))

    def folders(self, below: str) -> list[str]:
        """The names of what lies directly below a name, without what is deeper; sorted."""
        with self._explained(below):
            self._files.invalidate_cache()
            try:
                found = self._files.ls(self._path(below), detail=False)
            except FileNotFoundError:
                return []
        names = (path.rstrip("/").rsplit("/", 1)[-1] for path in found)
        return sorted(name for name in names if name and not name.startswith("."))

    def remove(self, names: list[str]) -> None:
        """Remove objects; a missing one is no error."""
        for name in names:
            with self._explained(name), suppress(FileNotFoundError):
                self._files.rm_file(self._path(name))

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = error.strerror or str(error)
            raise EngineError(f"{without_secrets(self.place)}/{name}: cannot be read or written ({why})") from error


def _file_system(place: str) -> tuple[Any, str]:
    import fsspec  # type: ignore[import-untyped]  # takes a tenth of a second

    try:
        # Listings are not cached: others write to the same place.
        options = {} if "://" not in place else {"use_listings_cache": False, "skip_instance_cache": True}
        files, root = fsspec.core.url_to_fs(place if options else str(Path(place).absolute()), **options)
    except (ImportError, ValueError) as error:
        raise UsageError(f"{without_secrets(place)}: cannot be opened ({error})") from None
    return files, root.rstrip("/")


def _create_file(path: Path, data: bytes) -> bool:
    """Written beside its place and linked there: a link fails if the name is taken, and is never half an object."""
    if path.exists():
        return False
    beside = _written_beside(path, data)
    try:
        os.link(beside, path)
    except FileExistsError:
        return False
    finally:
        beside.unlink(missing_ok=True)
    return True


def _written_beside(path: Path, data: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    with beside.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return beside
