"""Traces made by hand, for tests: a few words per step."""

from dataclasses import dataclass, field

from upskill.traces.trace import Call, Observation, Step, Subtrace, Trace


@dataclass
class Made:
    """A trace while it is being made."""

    folder: str | None = "/home/dev/project"
    steps: list[Step] = field(default_factory=list)
    subtraces: list[Subtrace] = field(default_factory=list)
    calls: int = 0

    def person(self, text: str) -> "Made":
        self.steps.append(Step(number=len(self.steps) + 1, source="person", text=text))
        return self

    def agent(self, text: str) -> "Made":
        self.steps.append(Step(number=len(self.steps) + 1, source="agent", text=text))
        return self

    def call(
        self,
        name: str,
        arguments: str,
        output: str = "",
        *,
        failed: bool | None = False,
        looks_failed: bool = False,
        text: str = "",
    ) -> "Made":
        """One call with what it brought."""
        self.calls += 1
        call_id = f"c{self.calls}"
        self.steps.append(
            Step(
                number=len(self.steps) + 1,
                source="agent",
                text=text,
                calls=(Call(id=call_id, name=name, arguments=arguments),),
                observations=(Observation(call_id=call_id, content=output, failed=failed, looks_failed=looks_failed),),
            )
        )
        return self

    def bash(
        self, command: str, output: str = "", *, failed: bool | None = False, looks_failed: bool = False
    ) -> "Made":
        return self.call("Bash", command, output, failed=failed, looks_failed=looks_failed)

    def edit(self, path: str, old: str, new: str) -> "Made":
        """An edit that went through."""
        import json

        arguments = json.dumps({"file_path": path, "old_string": old, "new_string": new})
        return self.call("Edit", arguments, "updated")

    def below(self, child: "Made") -> "Made":
        """A subagent under the call made last."""
        self.subtraces.append(Subtrace(call_id=f"c{self.calls}", trace=child.trace()))
        return self

    def trace(self, *, success: bool | None = None) -> Trace:
        return Trace(
            recorder="claude-code",
            steps=tuple(self.steps),
            subtraces=tuple(self.subtraces),
            folder=self.folder,
            success=success,
        )
