"""The simple commands of a shell command line, enough to recognise a rerun and to know a check from a look around.

Knows no traces. Not a parser of any shell: what it cannot split it takes as words.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_LONGEST = 4_000
_DEEPEST = 3

_WRAPPERS = {
    *("sudo", "time", "env", "nohup", "exec", "command", "xvfb-run", "stdbuf", "unbuffer", "builtin", "npx"),
    *("do", "then", "else", "if", "while", "!", "{"),
}
_WRAPPERS_WITH_NUMBER = {"timeout", "nice", "ionice", "gtimeout"}
_RUNNERS = {("uv", "run"), ("poetry", "run"), ("pipenv", "run"), ("hatch", "run"), ("bundle", "exec"), ("pnpm", "exec")}
_SHELLS = {"bash", "sh", "zsh", "dash", "fish"}
_SILENT = {
    *("cd", "pushd", "popd", "export", "unset", "source", ".", "set", "ulimit", "umask", "sleep", "true", "echo"),
    *("printf", "pwd", "wait", "clear", "history", "alias", "shopt", "trap", "exit"),
    *("for", "done", "fi", "}", "case", "esac"),
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
    words: list[str] = []
    before = ""
    tokens = list(_tokens(_HEREDOC.sub(r"\3", command)))
    for position, token in enumerate([*tokens, ";"]):
        if token not in _OPERATORS:
            words.append(token)
            continue
        # What reads the output of another command only looks at it; `yes |` alone is not what a line is about.
        if words and not (before == "|" and found and found[-1].program != "yes"):
            masked = token in {"|", "||"} or (token == ";" and position < len(tokens))
            found.extend(_simple(words, masked=masked, depth=depth))
        words, before = [], token
    return found


_OPERATORS = {";", "&&", "||", "|", "(", ")"}


def _simple(words: list[str], *, masked: bool, depth: int) -> list[SimpleCommand]:
    words = _unwrapped(words)
    if not words:
        return []
    program = _program(words[0])
    if program in _SHELLS and depth < _DEEPEST:
        inner = _inline_script(words)
        if inner is not None:
            return _take_apart(inner, depth=depth + 1)
    if program == "python" and len(words) > 2 and words[1] == "-m":
        words, program = words[2:], _program(words[2])
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


def _unwrapped(words: list[str]) -> list[str]:
    while words:
        if re.fullmatch(r"[A-Za-z_]\w*=.*", words[0], re.DOTALL) or words[0] in _WRAPPERS:
            words = words[1:]
        elif words[0] in _WRAPPERS_WITH_NUMBER:
            words = words[1:]
            while words and re.fullmatch(r"-\S*|\d+[smhd]?", words[0]):
                words = words[1:]
        elif tuple(words[:2]) in _RUNNERS and len(words) > 2:
            words = words[2:]
        else:
            return words
    return words


def _program(word: str) -> str:
    """The name of a program without folder, version and ending: `/usr/bin/python3.11` is `python`."""
    name = word.replace("\\", "/").rsplit("/", 1)[-1].removesuffix(".exe")
    return re.sub(r"^(python|pip|pypy|node|gcc|g\+\+|clang|clang\+\+)-?\d[\d.]*$", r"\1", name) or word


def _about(word: str) -> str:
    """A word as it is compared: without the part of a test within its file, a version and the folder's own dot."""
    word = re.sub(r"::.*|:\d+(?::\d+)?$", "", word, flags=re.DOTALL)
    word = re.split(r"[=<>~!]=|@(?=[\d^~])|\[", word, maxsplit=1)[0]
    return word.removeprefix("./").rstrip("/")


def _inline_script(words: list[str]) -> str | None:
    for index, word in enumerate(words[1:], start=1):
        if re.fullmatch(r"-\w*c", word):
            return words[index + 1] if index + 1 < len(words) else None
        if not word.startswith("-"):
            return None
    return None


_HEREDOC = re.compile(r"<<-?\s*(['\"]?)(\w+)\1([^\n]*)\n.*?(?:\n[ \t]*\2[ \t]*(?=\n|$|\))|\Z)", re.DOTALL)


_TOKEN = re.compile(
    r"""(?xs)
      (?P<skipped>[ \t\r]+ | \\\n | \#[^\n]* | (?:\d*[<>]|&>)[<>&|\ ]*[^\ \t\n;|&()]*)
    | (?P<operator>&& | \|[|&]? | [;&()\n])
    | (?P<word>(?:[^\ \t\r\n;|&()<>'"\\] | \\.? | '[^']*'? | "(?:[^"\\]|\\.?)*"?)+)
    """
)
_QUOTED = re.compile(r"""(?s)'([^']*)'?|"((?:[^"\\]|\\.?)*)"?|\\(.)""")


def _tokens(command: str) -> Iterator[str]:
    """Words without their quotes, and operators. Redirections are left out. An open quote ends with the text."""
    for match in _TOKEN.finditer(command):
        if operator := match["operator"]:
            yield {"&": ";", "\n": ";", "|&": "|"}.get(operator, operator)
        elif match["word"]:
            yield _QUOTED.sub(_unquoted, match["word"])


def _unquoted(match: re.Match[str]) -> str:
    single, double, escaped = match.groups()
    if double is not None:
        return re.sub(r'\\(["\\$`])', r"\1", double)
    return (single or "") if escaped is None else escaped.strip("\n")
