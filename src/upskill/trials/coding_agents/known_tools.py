"""What the tools of the coding agents are for, by the names that the agents give them. No two mean other things by one
name, so one table serves them all."""

from upskill.trials.trajectory import KnownTool, KnownTools

CODEX: KnownTools = {
    "exec_command": KnownTool(kind="shell", argument="cmd", folder="workdir"),
    "shell_command": KnownTool(kind="shell", argument="command", folder="workdir"),
    "shell": KnownTool(kind="shell", argument="command", folder="workdir"),
    "write_stdin": KnownTool(kind="shell", argument="chars"),
    "apply_patch": KnownTool(kind="edit_file", argument="input"),
    "view_image": KnownTool(kind="read_file", argument="path"),
    "spawn_agent": KnownTool(kind="subagent"),
}
CLAUDE_CODE: KnownTools = {
    "Bash": KnownTool(kind="shell", argument="command"),
    "Read": KnownTool(kind="read_file", argument="file_path"),
    "Write": KnownTool(kind="write_file", argument="file_path"),
    "Edit": KnownTool(kind="edit_file", argument="file_path"),
    "MultiEdit": KnownTool(kind="edit_file", argument="file_path"),
    "NotebookEdit": KnownTool(kind="edit_file", argument="notebook_path"),
    "Glob": KnownTool(kind="find_files", argument="pattern"),
    "Grep": KnownTool(kind="search_files", argument="pattern"),
    "WebFetch": KnownTool(kind="web", argument="url"),
    "WebSearch": KnownTool(kind="web", argument="query"),
    "Skill": KnownTool(kind="skill", argument="skill"),
    "Agent": KnownTool(kind="subagent"),
    "Task": KnownTool(kind="subagent"),
}
OPENCODE: KnownTools = {
    "bash": KnownTool(kind="shell", argument="command", folder="workdir"),
    "read": KnownTool(kind="read_file", argument="filePath"),
    "write": KnownTool(kind="write_file", argument="filePath"),
    "edit": KnownTool(kind="edit_file", argument="filePath"),
    "patch": KnownTool(kind="edit_file", argument="patchText"),
    "list": KnownTool(kind="find_files", argument="path"),
    "glob": KnownTool(kind="find_files", argument="pattern"),
    "grep": KnownTool(kind="search_files", argument="pattern"),
    "webfetch": KnownTool(kind="web", argument="url"),
    "websearch": KnownTool(kind="web", argument="query"),
    "skill": KnownTool(kind="skill", argument="name"),
    "task": KnownTool(kind="subagent"),
}
KNOWN_TOOLS: KnownTools = {**CODEX, **CLAUDE_CODE, **OPENCODE}
