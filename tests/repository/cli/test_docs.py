"""Every command shown in the documentation works, in a copy of the repository, as a reader would type it.

`console` blocks are run, page by page. `sh` blocks hold what needs a key, a server or minutes: they say
so in their title, and their commands are parsed: a flag that does not exist fails here.
"""

import re
import shlex
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import NamedTuple

import click
import pytest

from forking import COMMAND, Forker, run_program
from provider import Behaviour, Provider, ReceivedRequest
from upskill.cli import app, commands

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "src" / "upskill" / "setup" / "example"
OUTSIDE = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "RELEASING.md", "CHANGELOG.md"]
PAGES = sorted(
    [
        *(ROOT / name for name in OUTSIDE),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "benchmarks" / "results").glob("*.md"),
    ]
)
_BLOCK = re.compile(r"^ *```(\w+)([^\n]*)\n(.*?)^ *```", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
_VARIABLE = re.compile(r"[A-Z_]+=")


class Block(NamedTuple):
    """A fenced block: its language, what stands behind it, and its lines, with continued ones joined."""

    language: str
    title: str
    lines: list[str]


def _blocks(page: Path) -> list[Block]:
    found = _BLOCK.findall(page.read_text(encoding="utf-8"))
    return [
        Block(language, title, [line.strip() for line in re.sub(r"\\\n\s*", " ", text).splitlines()])
        for language, title, text in found
    ]


def _shown(page: Path) -> list[str]:
    """The lines after a `$`."""
    return [
        line.removeprefix("$ ")
        for block in _blocks(page)
        if block.language == "console"
        for line in block.lines
        if line.startswith("$ ")
    ]


def _named(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


SHOWN = [page for page in PAGES if _shown(page)]
ONLY_PARSED = sorted(
    {
        (_named(page), line)
        for page in [*PAGES, EXAMPLE / "README.md"]
        for block in _blocks(page)
        if block.language == "sh"
        for line in block.lines
        if line.startswith("upskill ")
    }
)


class Typist:
    """Types commands, and reads what they print."""

    def __init__(self, forker: Forker, environment: dict[str, str]) -> None:
        self._forker, self._environment = forker, environment

    def type(self, command: str, *, cwd: Path) -> None:
        """One line. Fails unless it ends with exit code 0 and a result on stdout."""
        words = shlex.split(command)
        variables = {}
        while _VARIABLE.match(words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        assert words[0] == "upskill", "only our own command is shown as one to be typed here"
        if "|" in words:
            done = run_program(["bash", "-o", "pipefail", "-c", command], cwd=cwd, env=self._environment)
        else:
            done = self._forker.run_with({**self._environment, **variables}, *words[1:], cwd=cwd)
        assert done.returncode == 0, f"$ {command}\n{done.stderr}"
        assert done.stdout.strip(), f"$ {command}\nprinted nothing"


def _answer(asked: ReceivedRequest) -> Behaviour:
    return Behaviour(text="Port 7413, in tarn.kdl." if asked.has_skill else "I do not know.")


@pytest.fixture(scope="module")
def typist(forker: Forker, tmp_path_factory: pytest.TempPathFactory) -> Typist:
    """For all pages, with an empty home and no key."""
    environment = {
        "PATH": f"{Path(COMMAND).parent}:/usr/bin:/bin",
        "HOME": str(tmp_path_factory.mktemp("home")),
        "LANG": "C.UTF-8",
        "UPSKILL_STORE": "false",
        "UPSKILL_REPORT": "false",  # drawing takes seconds; commands that ask for a report are given one
    }
    return Typist(forker, environment)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    for name in ("examples", "docs", "gallery/recorded"):
        shutil.copytree(ROOT / name, tmp_path / name)
    shutil.copy(ROOT / "upskill.toml", tmp_path)
    return tmp_path


@pytest.mark.parametrize("page", SHOWN, ids=_named)
def test_the_commands_of_a_page_run_as_shown(page: Path, copy: Path, typist: Typist) -> None:
    here = copy
    commands = _shown(page)
    asks = any("localhost:8080" in command for command in commands)
    with Provider(_answer, port=8080) if asks else nullcontext():
        for command in commands:
            if command.startswith("cd "):
                here = here / command.removeprefix("cd ")
            else:
                typist.type(command, cwd=here)


@pytest.mark.parametrize(("page", "line"), ONLY_PARSED)
def test_a_command_that_is_not_run_has_only_flags_that_exist(page: str, line: str) -> None:
    words = shlex.split(line.partition(" |")[0], comments=True)[1:]
    command: click.Command = app
    context = click.Context(app, info_name="upskill")
    while isinstance(command, click.Group):
        inner = command.get_command(context, words[0])
        assert inner is not None, f"{page}: there is no command {words[0]}"
        command, words = inner, words[1:]
        context = click.Context(command, parent=context)
    command.make_parser(context).parse_args(list(words))


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_a_command_that_is_not_run_stands_in_a_block_that_says_why(page: Path) -> None:
    typed = re.compile(rf"(\$ )?upskill ({'|'.join(commands())})\b")
    for block in _blocks(page):
        lines = [line for line in block.lines if typed.match(line)]
        if block.language == "sh":
            assert 'title="' in block.title or not lines, f"say why these are not run: {lines}"
        elif block.language != "console":
            assert not lines, f"put these into a `console` block, or into a `sh` block with a title: {lines}"


def test_the_program_of_the_python_page_runs(copy: Path, tmp_path: Path) -> None:
    done = run_program([sys.executable, "examples/python/evaluate.py"], cwd=copy)
    assert done.returncode == 0, done.stderr
    assert "helps: " in done.stdout


@pytest.mark.parametrize("page", PAGES, ids=_named)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    links = [link for link in _LINK.findall(page.read_text(encoding="utf-8")) if "://" not in link]
    assert [link for link in links if not (page.parent / link).exists()] == []
