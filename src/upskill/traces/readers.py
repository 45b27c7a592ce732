"""Which reader reads which format. The names are those of `detecting`."""

from collections.abc import Mapping

from upskill.traces import (
    claude_code,
    claude_export,
    claude_stream,
    codex,
    codex_exec,
    cursor,
    gemini_cli,
    opencode,
    pi,
)
from upskill.traces.source import Reader

READERS: Mapping[str, Reader] = {
    "claude-code": claude_code.read,
    "claude-export": claude_export.read,
    "claude-stream": claude_stream.read,
    "codex": codex.read,
    "codex-exec": codex_exec.read,
    "cursor-export": cursor.read_export,
    "cursor-stream": cursor.read_stream,
    "gemini-cli": gemini_cli.read,
    "opencode": opencode.read_export,
    "opencode-run": opencode.read_run,
    "pi": pi.read,
}
