"""Which reader reads which format. The names are those of `detecting`."""

from collections.abc import Mapping

from upskill.traces import (
    aider,
    atif,
    chat_messages,
    cline,
    codex_exec,
    hf_sts,
    inspect_log,
    mini_swe_agent,
    openai_responses,
    openhands,
    plain_text,
    sharegpt,
    spans,
    swe_agent,
)
from upskill.traces.source import Reader

READERS: Mapping[str, Reader] = {
    "codex-exec": codex_exec.read,
    "hf-sts": hf_sts.read,
    "atif": atif.read,
    "inspect": inspect_log.read,
    "swe-agent": swe_agent.read,
    "mini-swe-agent": mini_swe_agent.read,
    "openhands": openhands.read,
    "cline": cline.read,
    "aider": aider.read,
    "chat": chat_messages.read,
    "openai-responses": openai_responses.read,
    "sharegpt": sharegpt.read,
    "otel-genai": spans.read,
    "openinference": spans.read,
    "text": plain_text.read,
}
