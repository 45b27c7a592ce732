"""What a compressed recording may cost: how much it may unpack to, and how long reading that may take.

A few kilobytes can unpack to anything. Recordings shrink to a tenth, seldom to a hundredth; what shrinks further is
hardly a recording, and is read no further than an uncompressed file of ordinary size would be.
"""

import io
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from upskill.errors import UsageError

MEGABYTE = 1_000_000
RATIO = 100
LEAST_ALLOWED = 16 * MEGABYTE
SECONDS = 10.0
SECONDS_PER_MEGABYTE = 20.0
"""Of the file on disk, in CPU time: several times what recordings of that size take."""


class UnpackingBudget:
    """The budget of one file; its clock runs from the beginning. Raises `UsageError` where it is used up."""

    def __init__(self, path: Path, *, on_disk: int, packed: bool, largest: int) -> None:
        self._path = path
        self._packed = packed
        self.most = min(largest, max(LEAST_ALLOWED, RATIO * on_disk)) if packed else largest
        """Bytes, once unpacked."""
        self._seconds = SECONDS + SECONDS_PER_MEGABYTE * on_disk / MEGABYTE
        self._began = time.thread_time()

    def require_size(self, size: int) -> None:
        if size > self.most:
            allowed = f"more than {self.most // MEGABYTE:,} MB"
            if not self._packed:
                raise UsageError(f"{self._path}: has {allowed}", hint="split it, and name the parts")
            raise UsageError(f"{self._path}: unpacks to {allowed}, the limit for a file of its size", hint=UNPACK_IT)

    def require_time(self) -> None:
        if self._packed and time.thread_time() - self._began > self._seconds:
            limit = f"{self._seconds:.0f} s, the limit for a compressed file of its size"
            raise UsageError(f"{self._path}: takes longer to read than {limit}", hint=UNPACK_IT)


UNPACK_IT = "if you trust its source, unpack it yourself and name the files inside"


class Unpacked(io.RawIOBase):
    """A file compressed with Zstandard, unpacked as it is read. Where it is damaged it ends."""

    def __init__(self, file: BinaryIO, damaged: Callable[[], None]) -> None:
        import zstandard

        super().__init__()
        self._file = file
        # Several frames are usual, and a frame may ask for a window of gigabytes.
        unpacking = zstandard.ZstdDecompressor(max_window_size=2**27)
        self._reader = unpacking.stream_reader(file, read_size=2**16, read_across_frames=True)
        self._error = zstandard.ZstdError
        self._damaged = damaged

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            # Not `readinto`: that loses what it has unpacked when it comes to the damage.
            data = self._reader.read1(min(len(buffer), 2**17))
        except self._error:
            self._damaged()
            return 0
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()
