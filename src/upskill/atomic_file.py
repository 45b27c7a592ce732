"""Files that are written whole or not at all. Knows nothing of what is in them."""

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str, *, mode: int = 0o666) -> None:
    """Write beside the target, flush to disk, then rename over it: a reader never sees half a file.

    `mode` is that of the file, as far as the umask of the process allows it.
    """
    data = text.encode("utf-8")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        new = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), mode)
        with os.fdopen(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)
