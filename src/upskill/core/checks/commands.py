"""`commands`: a pattern that a command of the model must match, or that none may match."""

from collections.abc import Iterator, Mapping

from upskill.core.checks.kind import CheckOutcome, Submission, shown, string_problems, strings_of
from upskill.core.checks.regex import Regex, first_match
from upskill.core.checks.shell_commands import SimpleCommand, simple_commands
from upskill.core.checks.trajectory import TrajectoryKind, trajectory_of, unseen_calls, where
from upskill.core.nouns.answer import ToolCall, Trajectory
from upskill.core.nouns.case import Json

MOST_SHOWN = 5


class Commands(TrajectoryKind):
    """Passes when each pattern of `ran` matches the beginning of a command, and no pattern of `not_ran` any part."""

    name = "commands"
    keys = ("ran", "not_ran")
    short_for = "ran"
    too_weak = "`not_ran` alone asks for nothing; add `ran`, or a check of the result"
    rules = (
        "A command line is split where a shell begins another command; each is matched by itself, as written and "
        "without quotes.",
        "`ran` matches from the beginning of a command, so `echo pytest` is not `pytest`; `not_ran` matches anywhere.",
        "A command is also matched without its folder and without words that only start it, such as `sudo`, "
        "`timeout 9`, `uv run`, `bash -c`, `python -m`.",
        "A command in a line that was run counts, also if an earlier one failed; variables are not replaced.",
        "A script that the model wrote into a file, and an alias, are not looked into: `bash run.sh` is what was run.",
    )

    def problems(self, spec: Json) -> list[str]:
        wanted = self.as_object(spec)
        problems = self.unknown_keys(wanted)
        for key in self.keys:
            if key not in wanted:
                continue
            kind = f"commands: {key}"
            if found := string_problems(wanted[key], kind=kind, many=True):
                problems += found
                continue
            for pattern in strings_of(wanted[key]):
                problems += [
                    problem.replace("`regex`", f"`{kind}`").replace("an empty answer", "an empty command")
                    for problem in Regex().problems(pattern)
                ]
        if not problems and not wanted:
            problems.append("`commands` is empty, so it checks nothing")
        return problems

    def asked(self, wanted: Mapping[str, Json]) -> list[str]:
        return [
            *(f"runs a command that begins with the pattern {one}" for one in strings_of(wanted.get("ran", []))),
            *(f"runs no command that matches the pattern {one}" for one in strings_of(wanted.get("not_ran", []))),
        ]

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Says which command matched, or what was run instead. A pattern that takes too long raises."""
        wanted, trajectory = self.as_object(spec), trajectory_of(submission)
        shells = [call for call in trajectory.calls if call.kind == "shell"]
        commands = [(call, command) for call in shells for command in commands_of(call)]
        wrong, right = [], []
        for pattern in strings_of(wanted.get("ran", [])):
            ran = (form for call, command in commands if call.is_shown for form in command.forms)
            if (found := first_match(pattern, ran, from_start=True)) is None:
                wrong.append(f"no command begins with {shown(pattern)}; {_ran(commands)}")
            else:
                right.append(f"ran {shown(found)}")
        for pattern in strings_of(wanted.get("not_ran", [])):
            places: dict[str, ToolCall] = {}
            for call, command in commands:
                places.update((form, places.get(form, call)) for form in (*command.forms, *command.input))
            if (found := first_match(pattern, places)) is not None:
                wrong.append(f"{shown(pattern)} matches {shown(found)}, {where(places[found])}")
            elif (unseen := unseen_calls(_only_shell(trajectory))) is not None:
                wrong.append(unseen)
            else:
                right.append(f"no command matches {shown(pattern)}")
        return CheckOutcome(not wrong, "; ".join(wrong or right))


def commands_of(call: ToolCall) -> Iterator[SimpleCommand]:
    """The simple commands of a call of a shell."""
    return iter(simple_commands(call.arguments, folder=call.folder))


def _only_shell(trajectory: Trajectory) -> Trajectory:
    calls = tuple(call for call in trajectory.calls if call.kind == "shell")
    return Trajectory(calls=calls, left_out=trajectory.left_out)


def _ran(commands: list[tuple[ToolCall, SimpleCommand]]) -> str:
    forms = [command.forms[0] for _, command in commands if command.forms]
    if not forms:
        return "no command was run"
    more = f" and {len(forms) - MOST_SHOWN} more" if len(forms) > MOST_SHOWN else ""
    return f"ran {', '.join(shown(form) for form in forms[:MOST_SHOWN])}{more}"
