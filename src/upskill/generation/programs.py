"""Programs of a skill: accepted only where they use commands that passed in the recorded work, and ran here.

A program that cannot be run, for lack of a sandbox, a tool or a network, stays text: a student can still read it.
"""

import ast
import math
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from upskill.core.nouns import Files
from upskill.sandbox import CommandResult, FileRefused, Limits, Sandbox, SandboxGone, SandboxSpec, SandboxUnavailable
from upskill.traces.trace import TraceDigest

SECONDS = 20.0
MOST_CHARACTERS = 20_000
_SHELLS = {"sh": "/bin/sh", "bash": "bash"}
_PLAIN_COMMANDS = (
    "[ : basename break cat cd continue cp cut date dirname echo exit export false grep head local ls mkdir mktemp "
    "printf pwd read readonly return sed set shift sleep sort tail tee test touch tr true uniq unset wc"
)
_PLAIN = frozenset(_PLAIN_COMMANDS.split())
"""Commands that need no proof: every system has them, and they change only what their arguments name."""
_KEYWORDS = frozenset({"if", "then", "else", "elif", "while", "until", "do", "!", "{", "(", "time", "exec", "command"})
_SKIPPED = frozenset({"fi", "done", "esac", "}", ")", "for", "case", "function", ";;"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=.*")
_HEREDOC = re.compile(r"<<-?\s*(['\"]?)([A-Za-z_]\w*)\1.*?\n.*?^\s*\2\s*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"'[^']*'|\"(?:[^\"\\$`]|\\.|\$(?!\())*\"", re.DOTALL)
_FUNCTION = re.compile(r"^\s*(?:function\s+)?([A-Za-z_][\w-]*)\s*\(\)", re.MULTILINE)

ProgramStatus = Literal["ran", "text", "broken"]
"""It ran and ended with exit code 0; it stays text; or its own language cannot read it, and it is dropped."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A program as a teacher gave it, and how to try it once."""

    path: str
    text: str
    arguments: tuple[str, ...] = ()
    inputs: Files | None = None
    """Files that lie beside it when it is tried; they are no part of the skill."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ProgramOutcome:
    """Whether a program ran, and why not."""

    program: Program
    status: ProgramStatus
    why: str


class RunProgram(Protocol):
    """Runs a command in a sandbox that holds these files; `None` where it could not be run."""

    def __call__(
        self, files: Files, argv: Sequence[str], /, *, executable: Collection[str]
    ) -> CommandResult | None: ...


def sandboxed(open_sandbox: Callable[[SandboxSpec], Sandbox], *, seconds: float = SECONDS) -> RunProgram:
    """Runs programs, each in a fresh sandbox. A failure of the sandbox itself counts as not run."""

    def run(files: Files, argv: Sequence[str], /, *, executable: Collection[str]) -> CommandResult | None:
        try:
            with open_sandbox(SandboxSpec(limits=Limits(cpu_seconds=math.ceil(seconds) * 2))) as sandbox:
                sandbox.put(files, executable=executable)
                ran = sandbox.run(argv, seconds=seconds)
        except (SandboxGone, SandboxUnavailable, FileRefused):
            return None
        return None if ran.ended == "gone" else ran

    return run


def proven_commands(digest: TraceDigest | None) -> tuple[str, ...]:
    """The commands that passed in the recorded work, in order, each once."""
    found: list[str] = []
    for finding in digest.kept if digest is not None else ():
        if finding.kind not in ("proof", "fix"):
            continue
        if finding.kind == "proof" and (named := re.match(r"`(.+?)` passed", finding.title)):
            found.append(named[1])
        for part in finding.parts:
            if part.label == "passed" and part.text.startswith("$ "):
                found.append(part.text[2:].split("\n")[0].strip())
    return tuple(dict.fromkeys(found))


def try_programs(
    programs: Sequence[Program], *, proven: Sequence[str], files: Files, run: RunProgram | None
) -> tuple[ProgramOutcome, ...]:
    """The outcome of each program. `files` are the other files of the skill, which a program may read."""
    laid: dict[str, bytes] = {**files, **{program.path: program.text.encode() for program in programs}}
    return tuple(_try(program, proven, laid, run) for program in programs)


def _try(program: Program, proven: Sequence[str], laid: Mapping[str, bytes], run: RunProgram | None) -> ProgramOutcome:
    def outcome(status: ProgramStatus, why: str) -> ProgramOutcome:
        return ProgramOutcome(program=program, status=status, why=f"{program.path}: {why}")

    language = _language(program)
    if len(program.text) > MOST_CHARACTERS:
        return outcome("text", f"has more than {MOST_CHARACTERS:,} characters")
    if language == "python" and (problem := _python_problem(program.text)):
        return outcome("broken", problem)
    if language is None:
        return outcome("text", "is in no language that can be checked here (sh, bash, Python)")
    heads = {head for command in proven for head in command_heads(command) or ()}
    used = {"python"} if language == "python" else command_heads(program.text)
    if used is None:
        return outcome("text", "cannot be taken apart into commands")
    if language == "python":
        heads |= {"python"} if heads & {"python3", "uv", "pytest"} else set()
    if unproven := sorted(used - heads - _PLAIN):
        return outcome("text", f"uses what the recorded work did not prove: {', '.join(unproven)[:200]}")
    if run is None:
        return outcome("text", "there is no sandbox to try it in")
    shell = _SHELLS.get(language, "")
    if shell:
        read = run(laid, [shell, "-n", program.path], executable=())
        if read is not None and read.ended == "exit" and read.exit_code not in (0, 126, 127):
            return outcome("broken", f"is no {language}: {_last_line(read)}")
    argv = [shell or "python3", program.path, *program.arguments]
    ran = run({**laid, **(program.inputs or {})}, argv, executable={program.path})
    if ran is None:
        return outcome("text", "could not be run here")
    if ran.ended != "exit" or ran.exit_code != 0:
        end = f"ended with exit code {ran.exit_code}" if ran.ended == "exit" else f"was stopped ({ran.ended})"
        return outcome("text", f"{end} when it was tried: {_last_line(ran)}")
    return outcome("ran", "ran and ended with exit code 0")


def command_heads(script: str) -> frozenset[str] | None:
    """The programs that a shell script starts, without its own functions; `None` where that cannot be told."""
    if "`" in script or "eval " in script:
        return None
    defined = set(_FUNCTION.findall(script))
    text = _HEREDOC.sub("\n", script).replace("\\\n", " ")
    text = "\n".join(re.sub(r"(^|\s)#.*", "", line) for line in text.split("\n"))
    text = _FUNCTION.sub("", _QUOTED.sub("Q", text))
    if "'" in text or ('"' in text and "$(" not in text):
        return None
    heads: set[str] = set()
    for piece in re.split(r"[\n;|&]+|\$\(|(?<![\w$])\(|\)", text.replace("[[", "[").replace("2>&1", " ")):
        words = piece.replace('"', " ").split()
        while words and (words[0] in _KEYWORDS or _ASSIGNMENT.fullmatch(words[0])):
            words = words[1:]
        if not words or words[0] in _SKIPPED or words[0].startswith((">", "<", "$", "-", "Q")):
            if words and words[0].startswith(("$", "Q")):
                return None  # which program that is, only running it shows
            continue
        head = words[0].rsplit("/", 1)[-1]
        if head not in defined:
            heads.add(head)
    return frozenset(heads)


def _language(program: Program) -> str | None:
    first = program.text.split("\n", 1)[0]
    if program.path.endswith(".py"):
        return "python"
    if program.path.endswith(".bash") or (first.startswith("#!") and first.rstrip().endswith("bash")):
        return "bash"
    if program.path.endswith(".sh"):
        return "sh"
    return None


def _python_problem(text: str) -> str | None:
    try:
        ast.parse(text)
    except SyntaxError as error:
        return f"is no Python: {error.msg}, line {error.lineno}"
    except (ValueError, RecursionError, MemoryError):
        return "is no Python that can be read"
    return None


def _last_line(ran: CommandResult) -> str:
    said = (ran.stderr or ran.stdout)[-2_000:].decode("utf-8", "replace").strip().split("\n")[-1]
    return "".join(character for character in said if character.isprintable())[:200] or "it said nothing"
