"""The coding agents as plain data. What each of them does is in the module of its name."""

from upskill.core.nouns.harness import HarnessInfo


def _agent(name: str, title: str, *, program: str, package: str) -> HarnessInfo:
    return HarnessInfo(
        name=name,
        module=f"upskill.agents.{name.replace('-', '_')}",
        description=f"the coding agent {title}, in a sandbox",
        arms={"baseline": "without the skill", "offered": "skill offered", "with_skill": "skill forced"},
        previous="old version offered",
        with_tools=True,
        program=program,
        package=package,
    )


CODEX = _agent("codex", "Codex", program="codex", package="@openai/codex")
CLAUDE_CODE = _agent("claude-code", "Claude Code", program="claude", package="@anthropic-ai/claude-code")
OPENCODE = _agent("opencode", "opencode", program="opencode", package="opencode-ai")
QWEN_CODE = _agent("qwen-code", "Qwen Code", program="qwen", package="@qwen-code/qwen-code")
