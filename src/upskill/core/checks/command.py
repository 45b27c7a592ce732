"""`command`: a program that runs in a fresh sandbox, on a copy of what the answer left.

The sandbox is new, so nothing the student started or replaced is in it. The files of the case come first, then those of
the answer, then the check's own, which win over any of the same name. What the artifact does to the command (a crash, a
time-out, too much memory or output) fails the answer; a sandbox or a program that is not there measures nothing.
"""

import math
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from fnmatch import fnmatchcase

from upskill.core.checks.answer_files import AnswerFiles, answer_files_of
from upskill.core.checks.kind import CheckOutcome, Need, ObjectKind, Submission, type_name, unknown_keys
from upskill.core.nouns import Files
from upskill.core.nouns.answer_schemas import FILES, TEXTS, object_of
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import folders_of, read_files
from upskill.core.shell_commands import simple_commands
from upskill.sandbox import CommandResult, FileRefused, Limits, Sandbox, SandboxGone, SandboxSpec

SECONDS = 30.0
MOST_SECONDS = 600
MOST_LIMITS = {
    "memory_mb": 8_192,
    "processes": 1_024,
    "address_space_mb": 262_144,
    "cpu_seconds": 2_400,
    "open_files": 4_096,
    "file_mb": 2_048,
    "workspace_mb": 4_096,
    "tmp_mb": 4_096,
    "home_mb": 1_024,
    "output_bytes": 16_777_216,
}
"""The most that a case may ask for: it may come from a stranger or from a model."""
MOST_OUTPUT_SHOWN = 600
_READS_INPUT = re.compile(r"stdin|\binput\(|fileinput|\bread\b|\bcat\s*(?:-\s*)?(?:[|>)\"'\\]|$)")
"""Signs of a command that reads its standard input, which holds the text of the answer; few do."""
_PYTHON = re.compile(r"(?:\S*/)?python[\d.]*(?P<options>(?: -[WX] \S+| -(?![cm])\S+)*)(?: |$)")
_PYTEST = re.compile(r"(?:\S*/)?(?:pytest|py\.test)(?: |$)")
NOT_ISOLATED = (
    "Python runs without -I, so it imports a `json.py` or `sitecustomize.py` that the model left instead of its own, "
    "which can pass the check: write `python3 -I -B`, and load the model's modules by their paths"
)
BY_PYTEST = (
    "pytest runs a `conftest.py` and reads a `pytest.ini` that the model left, which can pass the check: write a "
    "program that starts the model's code as a process and compares what it prints, and run it with `python3 -I -B`"
)
Opener = Callable[[SandboxSpec], Sandbox]
_FOUND: set[tuple[Opener, str]] = set()
"""Programs that were found: every sandbox of one opener has the same system, and asking again costs a process."""
_RESOLVE = 'command -v -- "$1" >/dev/null'


class ProgramMissing(Exception):
    """A program that a check runs is not in the sandbox: nothing was measured."""


class Command(ObjectKind):
    """Passes when the command ends by itself with the exit code that is wanted."""

    name = "command"
    keys = ("run", "files", "take", "block", "exit_code", "seconds", "limits", "programs")
    short_for = "run"
    too_weak = "the command always succeeds; look for `|| true`, `;`, a pipe or a caught error"
    schema = object_of(("run", "files"), run=TEXTS, files=FILES, programs=TEXTS)
    guidance = (
        '`{"command": {"run": ["python3", "-I", "-B", "check.py"], "files": [{"path": "check.py", "text": '
        '"…"}], "programs": []}}`: a program ends with exit code 0 in a fresh folder without network that '
        "holds the files of the case, over them the student's, over them the check's own; the text of the "
        "answer is on standard input. Run what the student wrote as a process of its own and compare what it prints "
        "with values that are not in `input`."
    )
    rules = (
        "Only the exit code decides: 0 passes.",
        f"It has {SECONDS:.0f} seconds; a crash or a time-out fails the answer.",
        "`python3` is the system's, with its standard library only, and may be older than 3.11: no `tomllib`, use a "
        "`toml` check.",
        "The usual shell tools are there; name any other program in `programs`.",
    )

    def problems(self, spec: Json) -> list[str]:
        """A command, or an object with `run` and how it is to be run."""
        if not isinstance(spec, str | list | dict):
            return [f"`command` must be a command or an object with `run`, not {type_name(spec)}"]
        spec = self.as_object(spec)
        problems = self.unknown_keys(spec)
        if not _is_command(spec.get("run")):
            problems.append('`command`: `run` must be a shell command, or a list such as ["python3", "-I", "check.py"]')
        if "files" in spec:
            read_files(spec["files"], problems, where="`command`: `files`")
        if "block" in spec:
            problems += self.path_problems(spec, "block")
        for key in ("take", "programs"):
            listed = spec.get(key, [])
            if not isinstance(listed, list) or not all(isinstance(item, str) and item.strip() for item in listed):
                problems.append(f"`command`: `{key}` must be a list of texts")
        if not _is_whole(spec.get("exit_code", 0), least=0, most=255):
            problems.append("`command`: `exit_code` must be a number from 0 to 255")
        seconds = spec.get("seconds", SECONDS)
        if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds <= MOST_SECONDS:
            problems.append(f"`command`: `seconds` must be more than 0 and at most {MOST_SECONDS}")
        return problems + _limit_problems(spec.get("limits", {}))

    def describe(self, spec: Json) -> str:
        """The command as a shell reads it, and what it needs beside the answer."""
        wanted = self.as_object(spec)
        line, own = _line(wanted.get("run")), wanted.get("files")
        beside = f", with its own {', '.join(own)}" if isinstance(own, dict) and own else ""
        return f"{line}\nexits with {wanted.get('exit_code', 0)}{beside}"

    def doubts(self, spec: Json) -> list[str]:
        """Where Python or pytest would run files of the model by their names."""
        wanted = self.as_object(spec)
        forms = [form for one in simple_commands(_line(wanted.get("run"))) for form in one.forms]
        pythons = [python["options"] for form in forms if (python := _PYTHON.match(form))]
        found = {
            NOT_ISOLATED: any(re.search(r" -[A-Za-z]*I", options) is None for options in pythons)
            and _is_taken("json.py", wanted.get("take")),
            BY_PYTEST: any(map(_PYTEST.match, forms)) and _is_taken("conftest.py", wanted.get("take")),
        }
        return [doubt for doubt, applies in found.items() if applies]

    def needs(self, spec: Json) -> frozenset[Need]:
        """A sandbox; and files, unless the only block of a text or the text itself is all it looks at."""
        text_will_do = isinstance(spec, dict) and ("block" in spec or spec.get("take") == [])
        return frozenset({"sandbox"}) if text_will_do else frozenset({"sandbox", "files"})

    def reads_words(self, spec: Json) -> bool:
        """Where files are not all it looks at, or it may read its standard input."""
        return "files" not in self.needs(spec) or _READS_INPUT.search(str(spec)) is not None

    def with_time_limit(self, spec: Json, most_seconds: float) -> Json:
        wanted = self.as_object(spec)
        given = wanted.get("seconds", SECONDS)
        seconds = float(given) if isinstance(given, int | float) else SECONDS
        return {**wanted, "seconds": min(seconds, most_seconds)}

    def check(self, spec: Json, submission: Submission) -> CheckOutcome:
        """Run it once. The text of the answer is on its standard input."""
        if submission.context.open_sandbox is None:
            raise RuntimeError("a `command` check needs a sandbox, and there is none")
        wanted = self.as_object(spec)
        argv = _argv(wanted["run"])
        seconds = float(str(wanted.get("seconds", SECONDS)))
        answer_files = answer_files_of(submission)
        files, executable = _sandbox_files(wanted, answer_files)
        if "/" in argv[0] and not argv[0].startswith("/") and argv[0].removeprefix("./") not in files:
            return CheckOutcome(False, answer_files.missing(argv[0].removeprefix("./")))
        with submission.context.open_sandbox(SandboxSpec(limits=_limits(wanted, seconds))) as sandbox:
            # Before any file of the student is inside, so that only programs of the system are found.
            _require_programs(sandbox, _programs(wanted, argv), opener=submission.context.open_sandbox)
            try:
                sandbox.put(files, executable=executable)
            except FileRefused as refusal:
                if not answer_files.own:
                    raise
                return CheckOutcome(False, f"the files of the answer do not fit into the sandbox: {refusal}")
            ran = sandbox.run(argv, seconds=seconds, stdin=submission.answer.text.encode("utf-8", "replace"))
        return _outcome(ran, code=int(str(wanted.get("exit_code", 0))), seconds=seconds)


def _is_command(value: Json) -> bool:
    words = value if isinstance(value, list) else [value]
    return bool(words and str(words[0]).strip()) and all(isinstance(word, str) and "\0" not in word for word in words)


def _is_whole(value: Json, *, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _limit_problems(limits: Json) -> list[str]:
    if not isinstance(limits, dict):
        return ['`command`: `limits` must be an object such as {"memory_mb": 1024}']
    problems = unknown_keys(limits, MOST_LIMITS, kind="command: limits")
    for key, value in limits.items():
        if key in MOST_LIMITS and not _is_whole(value, least=1, most=MOST_LIMITS[key]):
            problems.append(f"`command: limits`: `{key}` must be a whole number from 1 to {MOST_LIMITS[key]:,}")
    return problems


def _line(run: Json) -> str:
    return shlex.join(map(str, run)) if isinstance(run, list) else str(run)


def _argv(run: Json) -> list[str]:
    return [str(word) for word in run] if isinstance(run, list) else ["/bin/sh", "-c", str(run)]


def _limits(wanted: Mapping[str, Json], seconds: float) -> Limits:
    asked = wanted.get("limits")
    given = {key: int(str(value)) for key, value in asked.items()} if isinstance(asked, dict) else {}
    # The time limit is the one that was asked for; the limit on processor time must not come before it.
    given.setdefault("cpu_seconds", max(Limits().cpu_seconds, math.ceil(seconds) * 4))
    return replace(Limits(), **given)


def _sandbox_files(wanted: Mapping[str, Json], answer: AnswerFiles) -> tuple[Files, list[str]]:
    """The files of the case, of the answer and of the check, the later over the earlier, and which may be run."""
    taken = {path: data for path, data in answer.own.items() if _is_taken(path, wanted.get("take"))}
    files = _laid_over(answer.given, taken)
    block = wanted.get("block")
    if isinstance(block, str) and not answer.own and answer.fenced.only_block is not None:
        files = _laid_over(files, {block: answer.fenced.only_block.encode("utf-8", "replace")})
    files = _laid_over(files, read_files(wanted.get("files", {}), [], where=""))
    # Files have no mode here; a file that begins like a program is made executable.
    return files, [path for path, data in files.items() if data.startswith((b"#!", b"\x7fELF"))]


def _is_taken(path: str, take: Json) -> bool:
    return not isinstance(take, list) or any(fnmatchcase(path, str(pattern)) for pattern in take)


def _laid_over(below: Files, above: Files) -> dict[str, bytes]:
    """Both; a file above replaces a file or a folder of that name below, and a folder above replaces a file."""
    folders = {folder for path in above for folder in folders_of(path)}
    kept = {
        path: data
        for path, data in below.items()
        if path not in folders and not any(folder in above for folder in folders_of(path))
    }
    return {**kept, **above}


def _programs(wanted: Mapping[str, Json], argv: list[str]) -> list[str]:
    """What must be there: the programs that are listed, and the first word of the command."""
    listed = wanted.get("programs")
    programs = [str(item) for item in listed] if isinstance(listed, list) else []
    first = argv[0] if isinstance(wanted["run"], list) else _first_word(str(wanted["run"]))
    if first and not ("/" in first and not first.startswith("/")):
        programs.append(first)
    return list(dict.fromkeys(programs))


def _require_programs(sandbox: Sandbox, programs: list[str], *, opener: Opener) -> None:
    """A program that is not there would look like an answer that fails (exit 127)."""
    for program in programs:
        if (opener, program) in _FOUND:
            continue
        found = sandbox.run(["/bin/sh", "-c", _RESOLVE, "sh", program], seconds=SECONDS)
        if found.ended == "gone":
            raise SandboxGone("the sandbox ended before the check started")
        if found.exit_code != 0:
            raise ProgramMissing(f"the program {program[:60]!r} is not in the sandbox, so nothing was measured")
        _FOUND.add((opener, program))


def _first_word(command: str) -> str | None:
    """The program that a shell command begins with, where that is clear."""
    try:
        words = list(shlex.shlex(command, posix=True, punctuation_chars=True))[:1]
        plain = shlex.split(command)[:1]
    except ValueError:
        return None
    if not words or words != plain or "=" in words[0] or not words[0].replace("/", "").replace(".", "").isascii():
        return None
    return words[0] if words[0][0].isalnum() or words[0][0] in "/." else None


def _outcome(ran: CommandResult, *, code: int, seconds: float) -> CheckOutcome:
    if ran.ended == "gone":
        raise SandboxGone("the sandbox ended before the check finished")
    output = _output(ran)
    stopped = {
        "timeout": f"timeout after {seconds:g} s",
        "memory": "stopped: over the memory limit",
        "output": "stopped: over the output limit",
    }
    if ran.ended in stopped:
        return CheckOutcome(False, stopped[ran.ended] + output)
    if ran.exit_code is not None and ran.exit_code < 0:
        return CheckOutcome(False, f"killed by signal {-ran.exit_code}{output}")
    wanted = "" if ran.exit_code == code else f" instead of {code}"
    return CheckOutcome(ran.exit_code == code, f"exit {ran.exit_code}{wanted}{output}")


def _output(ran: CommandResult) -> str:
    """The ends of both streams, where errors usually are."""
    told = ""
    for name, data in (("stderr", ran.stderr), ("stdout", ran.stdout)):
        text = data[-4 * MOST_OUTPUT_SHOWN :].decode("utf-8", "replace").strip()
        if text:
            cut = "…" if len(text) > MOST_OUTPUT_SHOWN else ""
            told += f"; {name}: {cut}{_on_one_line(text[-MOST_OUTPUT_SHOWN:])}"
    return told


def _on_one_line(text: str) -> str:
    kept = "".join(character if character.isprintable() or character.isspace() else "�" for character in text)
    return " / ".join(" ".join(line.split()) for line in kept.splitlines() if line.strip())
