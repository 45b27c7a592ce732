"""Runs coding agents that the user has installed, as students."""

from upskill.plugin import Plugin

PLUGIN = Plugin(
    harnesses={
        "codex": "upskill.agents.harnesses:CODEX",
        "claude-code": "upskill.agents.harnesses:CLAUDE_CODE",
        "opencode": "upskill.agents.harnesses:OPENCODE",
        "qwen-code": "upskill.agents.harnesses:QWEN_CODE",
    },
    offers={
        "examine a coding agent": "upskill.agents.doctor:report_agent",
    },
)
