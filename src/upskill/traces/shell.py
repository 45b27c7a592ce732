"""The simple commands of a shell command line, enough to recognise a rerun and to know a check from a look around.

Knows no traces. What cannot be split is taken as words.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from upskill.core.shell import Document, Operator, Token, Word, tokens_of
from upskill.core.shell_commands import SHELLS, program_and_arguments, script_of

_LONGEST = 4_000
_DEEPEST = 3

_SILENT = {
    *("cd", "pushd", "popd", "export", "unset", "source", ".", "set", "ulimit", "umask", "sleep", "true", "echo"),
    *("printf", "pwd", "wait", "clear", "history", "alias", "shopt", "trap", "exit"),
}
"""Steps of a command line that are never what it is about."""
_LOOKS = {
    *("ls", "cat", "head", "tail", "less", "grep", "egrep", "rg", "ag", "find", "fd", "tree", "wc", "stat", "file"),
    *("which", "type", "diff", "cmp", "test", "[", "[[", "pgrep", "ps", "du", "df", "date", "whoami", "id", "env"),
    *("sort", "uniq", "jq", "awk", "cut", "readlink", "realpath", "basename", "dirname", "nl", "xxd", "hexdump"),
}
"""Programs that only look; that they find nothing is no failure worth a lesson."""
_WITH_SUBCOMMAND = {
    *("make", "npm", "yarn", "pnpm", "bun", "deno", "cargo", "go", "git", "docker", "podman", "pip", "uv", "poetry"),
    *("kubectl", "helm", "terraform", "gradle", "gradlew", "mvn", "mvnw", "dotnet", "swift", "bazel", "conda", "apt"),
    *("apt-get", "brew", "systemctl", "cmake", "just", "task", "rake", "bundle", "composer", "mix", "stack", "cabal"),
    *("zig", "nx", "turbo", "hatch", "pipenv", "ruff", "gh", "aws", "gcloud", "az", "snap", "dnf", "yum", "apk"),
}
_ASKS = {"--version", "-V", "-version", "--help", "-h"}
_NOISE = re.compile(r"-(?:v+|q+|s|x|j\d*|i)|--(?:verbose|quiet|no-header|color|colour|tb|maxfail|silent)(?:=.*)?")

_CHECKS = re.compile(
    r"""(?x)^(?:
      (?:pytest|py\.test|unittest|tox|nox|jest|vitest|mocha|ava|karma|cypress|playwright|rspec|phpunit|ctest|bats|busted
        |pest|minitest|behave|cucumber|hspec|gtest\S*)\b
    | (?:tsc|eslint|biome|prettier|mypy|pyright|pylint|flake8|black|isort|shellcheck|hadolint|yamllint|clippy
        |golangci-lint|staticcheck|clang-tidy|cppcheck|ktlint|rubocop|phpstan|psalm|pre-commit|lint-imports|actionlint|markdownlint)\b
    | ruff\ (?:check|format) | (?:make|just|task|rake|mix|nx|turbo|gradlew?|mvnw?|dotnet|swift|bazel|stack|cabal|zig)\b
    | (?:npm|yarn|pnpm|bun|deno)\ (?:test|t|build|lint|check|typecheck|type-check|ci|e2e|verify|compile|bench
        |validate)\b\S*
    | (?:npm|yarn|pnpm|bun)\ \S*(?:test|build|lint|check)\S*
    | cargo\ (?:test|build|check|clippy|bench|nextest|fmt|run) | go\ (?:test|build|vet|run)
    | (?:cmake|ninja|meson|msbuild|xcodebuild|nvcc|gcc|g\+\+|clang|clang\+\+|cc|c\+\+|rustc|javac|kotlinc|ghc|latexmk)\b
    | (?:docker|podman)\ (?:build|compose) | terraform\ (?:validate|plan) | helm\ (?:lint|template)
    | compute-sanitizer | cuda-memcheck | valgrind | ncu | nsys
    | \S*(?:test|check|verify|validate|bench|lint|smoke|e2e|ci)[\w-]*(?:\.(?:sh|py|js|ts|mjs|rb|pl|bash))?(?:\ |$)
    )"""
)
_CHECK_SCRIPT = re.compile(r"(?:^|[/_.-])(?:tests?|check|verify|validate|bench(?:mark)?|lint|smoke|e2e)(?:[/_.-]|$)")
_CHANGES_FILES = re.compile(
    r"\bsed\s+(?:-\w+\s+)*-i|\bperl\s+-\w*i|\btee\s[^\n]*<<"
    r"|\bgit\s+(?:apply|am|cherry-pick|checkout|restore|revert|stash|merge)\b"
    r"|\bpatch\s+-|\bapply_patch\b|\*\*\* Begin Patch|(?:^|[\s;&|])(?:mv|cp|rm|ln|touch|mkdir|chmod|dd)\s"
    r"|(?:cat|echo|printf)\b[^\n|;]*>>?\s*[\w./~$\"'<]"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class SimpleCommand:
    """One simple command: `head` is the program with its subcommand, `words` what it is about, flags left out."""

    head: str
    words: frozenset[str]
    program: str
    masked: bool = False
    """Whether its exit code is lost: something runs after it whatever it does, or reads its output."""
    asks: bool = False
    """Whether it only asks a program for its version or its help."""

    @property
    def is_check(self) -> bool:
        """A test, a build, a lint: something that is run to learn whether the work is right."""
        if self.only_looks:
            return False
        if _CHECKS.match(self.head):
            return True
        return self.program in {"python", "node", "ruby", "perl", "bash", "sh", "php", "deno"} and any(
            _CHECK_SCRIPT.search(word) for word in self.words
        )

    @property
    def only_looks(self) -> bool:
        """Whether it could change or prove nothing."""
        return (
            self.asks
            or self.program in _LOOKS
            or self.head in {"git status", "git diff", "git log", "git show", "git branch"}
        )


def is_rerun(before: SimpleCommand, after: SimpleCommand) -> bool:
    """The same command again, flags and small differences aside: another option, a version, one test of the file."""
    if before.head != after.head and not _runs_through(before, after) and not _runs_through(after, before):
        return False
    if not before.words or not after.words:
        return True
    fewer, more = sorted((before.words, after.words), key=len)
    shared = sum(any(_same_or_below(word, other) for other in more) for word in fewer)
    return shared * 2 >= len(fewer)


def _runs_through(runner: SimpleCommand, program: SimpleCommand) -> bool:
    """`pnpm tsc` is `tsc`, run through another program."""
    return runner.head == f"{runner.program} {program.head}"


def _same_or_below(word: str, other: str) -> bool:
    """Equal, or one is a folder and the other a file in it."""
    return word == other or word.startswith(f"{other}/") or other.startswith(f"{word}/")


@lru_cache(maxsize=1024)
def simple_commands(command: str) -> tuple[SimpleCommand, ...]:
    """What a command line is about: its simple commands without wrappers, changes of folder and echoes."""
    return tuple(_take_apart(command[:_LONGEST], depth=0))


def changes_files(command: str) -> bool:
    """Whether a command line writes files, as far as can be told from its text."""
    return _CHANGES_FILES.search(command[:_LONGEST]) is not None


def only_looks(command: str) -> bool:
    """Whether nothing in a command line could change or prove anything."""
    return not changes_files(command) and all(simple.only_looks for simple in simple_commands(command))


def _take_apart(command: str, *, depth: int) -> list[SimpleCommand]:
    found: list[SimpleCommand] = []
    words: list[Word] = []
    nested: list[str] = []
    before = ""
    tokens = [token for token in _without_redirections(tokens_of(command).tokens) if not isinstance(token, Document)]
    for position, token in enumerate([*tokens, Operator(";")]):
        if isinstance(token, Word):
            words.append(token)
            nested += token.nested
            continue
        operator = _SAME.get(token.text, token.text)
        # What reads the output of another command only looks at it; `yes |` alone is not what a line is about.
        if words and not (before == "|" and found and found[-1].program != "yes"):
            masked = operator in {"|", "||"} or (operator == ";" and position < len(tokens))
            found.extend(_simple(words, masked=masked, depth=depth))
        for inner in nested if depth < _DEEPEST else ():
            found.extend(_take_apart(inner, depth=depth + 1))
        words, nested, before = [], [], operator
    return found


_SAME = {"&": ";", "\n": ";", ";;": ";", "|&": "|"}


def _without_redirections(tokens: Sequence[Token]) -> Iterator[Token]:
    """Without what redirects a command, and the file that it names."""
    names_file = False
    for token in tokens:
        if isinstance(token, Operator) and token.is_redirection:
            names_file = True
            continue
        if not (names_file and isinstance(token, Word)):
            yield token
        names_file = False


def _simple(written: list[Word], *, masked: bool, depth: int) -> list[SimpleCommand]:
    words = program_and_arguments(written)
    if not words:
        return []
    program = _program(words[0])
    if program in SHELLS and depth < _DEEPEST and (inner := script_of(words)) is not None:
        return _take_apart(inner, depth=depth + 1)
    if not program or program in _SILENT:
        return []
    rest = [word for word in words[1:] if not _NOISE.fullmatch(word)]
    head = program
    if program in _WITH_SUBCOMMAND:
        named = [word for word in rest if not word.startswith("-") and "=" not in word]
        if named and named[0] == "run" and len(named) > 1:
            rest.remove("run")
            named = named[1:]
        if named:
            head = f"{program} {named[0]}"
            rest.remove(named[0])
    about = frozenset(filter(None, (_about(word) for word in rest if not word.startswith("-"))))
    asks = any(word in _ASKS for word in rest) or (program in {"node", "java"} and rest in (["-v"], ["-version"]))
    return [SimpleCommand(head=head[:120], words=about, program=program, masked=masked, asks=asks)]


def _program(word: str) -> str:
    """The name of a program without folder, version and ending: `/usr/bin/python3.11` is `python`."""
    name = word.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
    return re.sub(r"^(python|pip|pypy|node|gcc|g\+\+|clang|clang\+\+)-?\d[\d.]*$", r"\1", name) or word


def _about(word: str) -> str:
    """A word as it is compared: without the part of a test within its file, a version and the folder's own dot."""
    word = re.sub(r"::.*|:\d+(?::\d+)?$", "", word, flags=re.DOTALL)
    word = re.split(r"[=<>~!]=|@(?=[\d^~])|\[", word, maxsplit=1)[0]
    return word.removeprefix("./").rstrip("/")
