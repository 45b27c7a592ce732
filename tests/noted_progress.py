"""A progress that remembers the lines it was given."""

from upskill.core.progress import Progress


class NotedLines(Progress):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def note(self, line: str) -> None:
        self.lines.append(line)

    def step(self, what: str, done: int, of: int | None) -> None:
        self.lines.append(what)
