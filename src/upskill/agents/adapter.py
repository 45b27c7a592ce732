"""What the adapter of a coding agent is written with. This module is stable, for plug-ins; it knows no agent.

A plug-in names what `agent_info` returns among its `harnesses`; the module there has `HARNESS =
CodingAgent(Adapter())`, and `AgentAdapter` says what an adapter does. See docs/how-to/write-a-plug-in.md.
"""

from upskill.agents.harness import (
    AGENT_LIMITS,
    AgentAdapter,
    CodingAgent,
    Json,
    Launch,
    ToolRequest,
    node_on_path,
    package_version,
    version_of,
)
from upskill.agents.harnesses import agent_info
from upskill.agents.streams import event_lines, listed_skills, native_program, object_in, objects_in, texts_in
from upskill.core.nouns import Files, HarnessInfo
from upskill.core.trials.trajectory import KnownTool, KnownTools
from upskill.core.trials.trial_run import AgentProgram
from upskill.sandbox import Limits, Mount

__all__ = ["AGENT_LIMITS", "AgentAdapter", "AgentProgram", "CodingAgent", "Files", "HarnessInfo", "Json", "KnownTool"]
__all__ += ["KnownTools", "Launch", "Limits", "Mount", "ToolRequest", "agent_info", "event_lines", "listed_skills"]
__all__ += ["native_program", "node_on_path", "object_in", "objects_in", "package_version", "texts_in", "version_of"]
