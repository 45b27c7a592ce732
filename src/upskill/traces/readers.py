"""The recorders whose recordings can be read, one line each, in the order in which they are asked."""

from upskill.traces import (
    aider,
    atif,
    chat_messages,
    claude_code,
    claude_output,
    cline,
    codex,
    cursor,
    gemini_cli,
    hf_sts,
    inspect_log,
    openai_responses,
    opencode,
    openhands,
    pi,
    plain_text,
    sharegpt,
    spans,
    swe_agent,
)
from upskill.traces.source import Reader

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        atif.READER,
        opencode.EXPORT,
        swe_agent.MINI_READER,
        swe_agent.READER,
        inspect_log.READER,
        codex.ROLLOUT,
        codex.EXEC,
        gemini_cli.READER,
        hf_sts.READER,
        pi.READER,
        cursor.STREAM,
        claude_output.STREAM,
        claude_code.READER,
        opencode.RUN,
        spans.OPENINFERENCE,
        spans.OTEL,
        openhands.READER,
        sharegpt.READER,
        cline.READER,
        openai_responses.READER,
        chat_messages.READER,
        aider.READER,
        cursor.EXPORT,
        claude_output.EXPORT,
        plain_text.READER,
    )
}
"""By name. The first that recognises a recording reads it: whoever is easily mistaken for another comes before it."""


def title_of(recorder: str) -> str:
    """The name of a recorder as people know it."""
    return READERS[recorder].title if recorder in READERS else recorder
