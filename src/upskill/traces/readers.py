"""Which reader reads which format. The names are those of `detecting`."""

from collections.abc import Mapping

from upskill.traces import codex_exec
from upskill.traces.source import Reader

READERS: Mapping[str, Reader] = {
    "codex-exec": codex_exec.read,
}
