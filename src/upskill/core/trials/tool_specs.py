"""The tools of a student in the harness `agent`, in our own neutral words. The same in every arm."""

from dataclasses import dataclass

from upskill.core.trials.trajectory import KnownTool


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSpec:
    """A tool as the student sees it. All its parameters are text, and all are needed."""

    name: str
    description: str
    parameters: tuple[tuple[str, str], ...]

    def as_json(self) -> object:
        """Plain values, for the identity of a trial."""
        return [self.name, self.description, [list(parameter) for parameter in self.parameters]]


SHELL = ToolSpec(
    name="shell",
    description="Run a command line in the working folder, and get its output and exit code.",
    parameters=(("command", "The command line."),),
)
READ_FILE = ToolSpec(
    name="read_file",
    description="Read a text file.",
    parameters=(("path", "The path of the file; relative paths begin in the working folder."),),
)
WRITE_FILE = ToolSpec(
    name="write_file",
    description="Write a text file; folders that are missing are made, and what was there is replaced.",
    parameters=(
        ("path", "The path of the file; relative paths begin in the working folder."),
        ("content", "The whole content."),
    ),
)
TOOLS = (SHELL, READ_FILE, WRITE_FILE)
KNOWN_TOOLS = {
    SHELL.name: KnownTool(kind="shell", argument="command"),
    READ_FILE.name: KnownTool(kind="read_file", argument="path"),
    WRITE_FILE.name: KnownTool(kind="write_file", argument="path"),
}
"""What they are for, and the argument by which a check knows a call."""
