"""The coding agents as plain data. What each of them does is in the module of its name."""

from upskill.core.nouns.harness import HarnessInfo


def agent_info(name: str, title: str, *, module: str, program: str, package: str) -> HarnessInfo:
    """A coding agent as a harness: its `module` has `HARNESS`, npm installs its `program` from a `package`."""
    return HarnessInfo(
        name=name,
        module=module,
        description=f"the coding agent {title}, in a sandbox",
        arms={"baseline": "without the skill", "offered": "skill offered", "with_skill": "skill forced"},
        previous="old version offered",
        with_tools=True,
        program=program,
        package=package,
    )


CODEX = agent_info("codex", "Codex", module="upskill.agents.codex", program="codex", package="@openai/codex")
CLAUDE_CODE = agent_info(
    "claude-code",
    "Claude Code",
    module="upskill.agents.claude_code",
    program="claude",
    package="@anthropic-ai/claude-code",
)
OPENCODE = agent_info(
    "opencode", "opencode", module="upskill.agents.opencode", program="opencode", package="opencode-ai"
)
QWEN_CODE = agent_info(
    "qwen-code", "Qwen Code", module="upskill.agents.qwen_code", program="qwen", package="@qwen-code/qwen-code"
)
