"""Keeps the archives of skills while the next skills are read: a bucket, or a disk, takes its time for each."""

from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from upskill.storage.skill_archive import archive_digest
from upskill.storage.sweep_folder import SweepFolder, input_name

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
