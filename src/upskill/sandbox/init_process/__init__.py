"""The program that is process 1 of a sandbox: runs commands and hands files in and out, on request of the host.

It runs under `python3 -I -S` with the standard library only, and imports nothing of upskill: the host hands in its
pieces joined to one file, and they spare what is slow to import. Students' processes share its user, so it is not
dumpable: nobody inside can open its descriptors or its memory. What it answers is still never evidence for a check.

Without a sandbox the same program serves, in a folder of the host and as an ordinary process: `unconfined`.
"""

import re
from functools import cache

from upskill import disk

PIECES = ("files", "commands", "channels", "main")
"""In the order in which they need each other."""
_OWN_IMPORT = re.compile(r"^from upskill\.[^\n]* import (?:\([^)]*\)|[^\n]*)\n", re.MULTILINE)


@cache
def init_program() -> bytes:
    """The pieces as one program, without their imports of each other."""
    texts = [disk.packaged(__name__, f"{piece}.py") for piece in PIECES]
    return _OWN_IMPORT.sub("", "\n\n".join(texts)).encode("utf-8")
