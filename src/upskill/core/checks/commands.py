"""`commands` and `files_read`: what a model ran, and what it read."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from itertools import islice

from upskill.core.checks.kind import (
    CheckOutcome,
    Submission,
    TrajectoryKind,
    listed,
    shown,
    string_problems,
    strings_of,
    trajectory_of,
    unseen_calls,
    where,
)
from upskill.core.checks.regex import Regex, first_match
from upskill.core.nouns.answer import ToolCall, Trajectory
from upskill.core.nouns.case import Json
from upskill.core.shell_commands import SimpleCommand, simple_commands
from upskill.sandbox import WORKSPACE

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


MOST_FILES_SHOWN = 8
MOST_LISTS = 2
MOST_WORDS = 1_000
"""Lists in braces of one word, and what it may mean with them."""

_PRINTS = frozenset(
    {
        *("cat", "head", "tail", "less", "more", "nl", "tac", "bat", "sed", "awk", "gawk", "grep", "egrep"),
        *("fgrep", "rg", "ag", "cut", "sort", "uniq", "jq", "yq", "xxd", "od", "hexdump", "strings", "diff"),
        *("cmp", "comm", "paste", "fold", "fmt", "pr", "rev", "column", "base64"),
    }
)
"""Programs that show what is in the files that they are given."""
_AFTER_PATTERN = frozenset({"sed", "awk", "gawk", "grep", "egrep", "fgrep", "rg", "ag", "jq", "yq"})
"""Their first argument is no file, unless an option brings the pattern."""
_PATTERN_OPTION = re.compile(r"-[a-zA-Z]*[ef]|--(?:regexp|file|expression)(?:=.*)?")
_NAMES_ONLY = frozenset(
    {
        *("echo", "printf", "ls", "dir", "mkdir", "touch", "rm", "rmdir", "test", "[", "[[", "stat", "chmod"),
        *("chown", "cd", "pushd", "popd", "find", "tree", "pwd", "which", "basename", "dirname", "realpath"),
        *("export", "tee", "true", ":"),
    }
)
"""Programs that may name a file without reading it."""
_BRACES = re.compile(r"\{([^{},]*(?:,[^{},]*)+)\}")
_GLOB = re.compile(r"[*?\[]")


class FilesRead(TrajectoryKind):
    """Passes when each file of `read` was read, and none of `not_read` was."""

    name = "files_read"
    keys = ("read", "not_read")
    short_for = "read"
    too_weak = "`not_read` alone asks for nothing; add `read`, or a check of the result"
    rules = (
        "A name is a path in the working folder, or an absolute path; `*` also matches folders.",
        "`read` sees file tools, and commands that print files (`cat`, `head`, `sed`, `grep`, `jq`, `< file` …).",
        "`not_read` sees any command with the file among its arguments, except those that only name it (`ls`, `rm`, "
        "`echo` …).",
        "A file that a program opens by itself, that a variable names, or that a search through folders finds, is not "
        "seen.",
    )

    def problems(self, spec: Json) -> list[str]:
        wanted = self.as_object(spec)
        problems = self.unknown_keys(wanted)
        for key in self.keys:
            if key in wanted:
                problems += string_problems(wanted[key], kind=f"files_read: {key}", many=True)
        if not problems and not wanted:
            problems.append("`files_read` is empty, so it checks nothing")
        return problems

    def asked(self, wanted: Mapping[str, Json]) -> list[str]:
        return [
            *(f"reads {listed(strings_of(wanted[key]))}" for key in ("read",) if key in wanted),
            *(f"does not read {listed(strings_of(wanted[key]))}" for key in ("not_read",) if key in wanted),
        ]

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Says which file was read and by what."""
        wanted, trajectory = self.as_object(spec), trajectory_of(submission)
        known = sorted({*submission.case.files, *submission.answer.files})
        reads = [(path, call) for call in trajectory.calls if call.is_shown for path in _read_by(call, known)]
        wrong = [
            f"{shown(pattern)} was not read; {_seen(path for path, _ in reads)}"
            for pattern in strings_of(wanted.get("read", []))
            if not any(_fits(path, pattern) for path, _ in reads)
        ]
        if forbidden := strings_of(wanted.get("not_read", [])):
            named = [(path, call) for call in trajectory.calls for path in _named_by(call, known)]
            found = [
                f"{shown(path)} was read: {where(call)}"
                for pattern in forbidden
                for path, call in named
                if _fits(path, pattern)
            ]
            unseen = None if found else unseen_calls(trajectory)
            wrong += [*dict.fromkeys(found), *([unseen] if unseen else [])]
        return CheckOutcome(False, "; ".join(wrong)) if wrong else CheckOutcome(True, _seen(path for path, _ in reads))


def _read_by(call: ToolCall, known: list[str]) -> Iterator[str]:
    """The files that a call shows to the model."""
    if call.kind == "read_file":
        yield _path(call.arguments, "")
    elif call.kind == "shell":
        for command in commands_of(call):
            yield from _printed_by(command, known)


def _named_by(call: ToolCall, known: list[str]) -> Iterator[str]:
    """The files that a call may have read."""
    yield from _read_by(call, known)
    if call.kind == "shell":
        for command in commands_of(call):
            if command.words and posixpath.basename(command.words[0]) not in _NAMES_ONLY:
                values = [word.partition("=")[2] for word in command.words if "=" in word]
                yield from _operands(command, (*command.words, *filter(None, values)), known)


def _printed_by(command: SimpleCommand, known: list[str]) -> Iterator[str]:
    yield from (_path(path, command.folder) for path in command.reads)
    program = posixpath.basename(command.words[0]) if command.words else ""
    if program not in _PRINTS:
        return
    words = [word for word in command.words[1:] if not word.startswith("-") or word == "-"]
    options = [word for word in command.words[1:] if word.startswith("-")]
    if program in _AFTER_PATTERN and not any(_PATTERN_OPTION.fullmatch(option) for option in options):
        words = words[1:]
    yield from _operands(command, words, known)


def _operands(command: SimpleCommand, words: Iterable[str], known: list[str]) -> Iterator[str]:
    """The paths that words may mean; a pattern stands for the known files that it matches."""
    for word in (one for written in words for one in _alternatives(written)):
        path = _path(word, command.folder)
        yield path
        if _GLOB.search(word):
            yield from (file for file in known if file.count("/") == path.count("/") and fnmatchcase(file, path))


def _alternatives(word: str) -> list[str]:
    """What a word with lists in braces means: `{a,b}.txt` is two files."""
    words = [word]
    for _ in range(MOST_LISTS):
        found = [(one, _BRACES.search(one)) for one in words]
        alternatives = (
            one if braces is None else one[: braces.start()] + part + one[braces.end() :]
            for one, braces in found
            for part in ([""] if braces is None else braces[1].split(","))
        )
        words = list(islice(alternatives, MOST_WORDS))
    return words


def _path(path: str, folder: str) -> str:
    """Relative to the working folder, or absolute where it leads out of it."""
    whole = posixpath.normpath(posixpath.join(WORKSPACE, folder, path))
    return posixpath.relpath(whole, WORKSPACE) if whole == WORKSPACE or whole.startswith(f"{WORKSPACE}/") else whole


def _fits(path: str, pattern: str) -> bool:
    return fnmatchcase(path, _path(pattern, ""))


def _seen(paths: Iterable[str]) -> str:
    found = list(dict.fromkeys(paths))
    if not found:
        return "no file was seen to be read"
    more = f" and {len(found) - MOST_FILES_SHOWN} more" if len(found) > MOST_FILES_SHOWN else ""
    return f"read {', '.join(map(shown, found[:MOST_FILES_SHOWN]))}{more}"
