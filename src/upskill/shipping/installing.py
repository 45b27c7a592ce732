"""Where coding agents look for skills: which folder is the right one for each agent. Values only, reads no folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

SHARED_FOLDER = ".agents/skills"
ANY_AGENT = "agents"
"""Whatever agent reads the shared folder."""
NEEDED_NODE = "22.20"
"""The Node.js that `skills` from npm needs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class HomeFolder:
    """A folder of a user: below what an environment variable names, else below the home folder."""

    base: str
    inside: str = "."
    variable: str | None = None
    """Takes the place of `base` where it is set."""

    def path(self, home: Path, environment: Mapping[str, str]) -> Path:
        """Where the folder is."""
        named = environment.get(self.variable, "") if self.variable else ""
        return (Path(named) if named else home / self.base) / self.inside


@dataclass(frozen=True, kw_only=True, slots=True)
class Agent:
    """A coding agent that `upskill install` knows, with its folders of skills."""

    name: str
    """As in `--for`."""
    title: str
    project: str
    """The folder of skills in a project."""
    user: HomeFolder
    """The folder of skills for all projects of a user."""
    own_folder: HomeFolder | None = None
    """A folder that is there where the agent was used."""
    program: str | None = None


_CLAUDE = HomeFolder(variable="CLAUDE_CONFIG_DIR", base=".claude")
_SHARED = HomeFolder(base=".agents", inside="skills")
AGENTS = {
    one.name: one
    for one in (
        Agent(
            name="claude-code",
            title="Claude Code",
            project=".claude/skills",
            user=replace(_CLAUDE, inside="skills"),
            own_folder=_CLAUDE,
            program="claude",
        ),
        Agent(
            name="codex",
            title="Codex",
            project=SHARED_FOLDER,
            user=_SHARED,
            own_folder=HomeFolder(variable="CODEX_HOME", base=".codex"),
            program="codex",
        ),
        Agent(
            name="opencode",
            title="opencode",
            project=SHARED_FOLDER,
            user=HomeFolder(variable="XDG_CONFIG_HOME", base=".config", inside="opencode/skills"),
            own_folder=HomeFolder(variable="XDG_CONFIG_HOME", base=".config", inside="opencode"),
            program="opencode",
        ),
        Agent(name=ANY_AGENT, title="agents that read .agents/skills", project=SHARED_FOLDER, user=_SHARED),
    )
}
"""Those that `upskill install` writes for, by name."""

_SHARED_READERS = """
amp antigravity antigravity-cli cline cursor deepagents dexto droid firebender fx gemini-cli github-copilot kilo
kimi-code-cli loaf pi promptscript replit sarvam-code universal warp zed
"""
_OWN_FOLDERS = """
adal aider-desk astrbot augment autohand-code bob codearts-agent codebuddy codemaker codestudio command-code continue
cortex crush devin eve forgecode goose grok hermes-agent iflow-cli inference-sh jazz junie kimchi kiro-cli kode lingma
mcpjam minimax-code mistral-vibe moxby mux neovate ona openclaw openhands pochi posit-assistant qoder qoder-cn qwen-code
reasonix roo rovodev tabnine-cli terramind tinycloud trae trae-cn windsurf zcode zencoder zenflow
"""
READ_THE_SHARED_FOLDER = frozenset(_SHARED_READERS.split())
"""Other agents that read the shared folder of a project, by the names that `skills` from npm has for them."""
OTHER_AGENTS = READ_THE_SHARED_FOLDER | frozenset(_OWN_FOLDERS.split())
"""Every other agent that `skills` 1.7.4 from npm installs for."""


def skills_add_line(folder: str, agent: str = "NAME", *, user: bool = False) -> str:
    """The command that installs a folder for another agent."""
    return f"npx skills add {folder} -a {agent}{' -g' if user else ''}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """One folder of skills, and the agents that it is written for."""

    agents: tuple[str, ...]
    folder: Path


def targets_for(
    agents: Sequence[str], *, user: bool, project: Path, home: Path, environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """The folders of these agents, each once."""
    by_folder: dict[Path, list[str]] = {}
    for name in dict.fromkeys(agents):
        agent = AGENTS[name]
        folder = agent.user.path(home, environment) if user else project / agent.project
        by_folder.setdefault(project / folder, []).append(name)
    return tuple(Target(agents=tuple(names), folder=folder) for folder, names in by_folder.items())
