"""Everything is printed in one place, where nothing that is printed can act on a terminal."""

import ast
import io
import sys
from pathlib import Path

import pytest
from rich.text import Text

import upskill
from upskill.core.nouns.text import visible
from upskill.report.console import VisibleConsole, show_table
from upskill.terminal.output import print_document, print_json, print_lines

SOURCE = Path(upskill.__file__).parent
PRINTS = {"terminal/output.py", "terminal/display.py"}
PROGRAMS_OF_THEIR_OWN = {
    *("setup/example/local_model.py", "sandbox/programs.py", "mining/reading.py"),
}
"""The last is one where `mine` starts it as a worker: its output is a pipe."""
_CALLS = {"echo", "secho", "confirm", "prompt", "print", "Console", "Live", "from_markup", "from_ansi"}


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _of(function: ast.expr) -> str:
    """What a method is called on, as it is written."""
    return ast.unparse(function.value) if isinstance(function, ast.Attribute) else ""


def _prints(node: ast.Call) -> bool:
    name, of = _name(node.func), _of(node.func)
    if name in ("write", "writelines"):
        return of in ("sys.stdout", "sys.stderr", "sys.stdout.buffer", "sys.stderr.buffer")
    on_a_console = name == "print" and of in ("console", "out", "super()")
    ours = name in ("confirm", "prompt") and of == ""
    return name in _CALLS and not on_a_console and not ours


def test_nothing_is_printed_elsewhere() -> None:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        name = path.relative_to(SOURCE).as_posix()
        if name not in PRINTS | PROGRAMS_OF_THEIR_OWN:
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            found += [f"{name}:{call.lineno}" for call in calls if _prints(call)]
    assert found == []


@pytest.mark.parametrize(
    "text", ["plain", "naïve\u00a0— 数字", "👩\u200d🚀", "עברית \u200fand English", "[red]x[/red]"]
)
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert visible(text) == text


def test_what_acts_is_shown_as_an_escape() -> None:
    assert visible("a\x1b]52\x07\r\n\x9b\u202e\ud800\U000e0041b") == (
        "a\\x1b]52\\x07\\r\\n\\x9b\\u202e\\ud800\\U000e0041b"
    )


def _printed(*objects: object) -> str:
    file = io.StringIO()
    VisibleConsole(file=file, width=40, highlight=False, emoji=False).print(*objects)
    return file.getvalue()


def test_a_console_takes_no_text_for_markup_nor_for_two_lines() -> None:
    assert _printed("[bold]x[/bold]\nnote: y") == "[bold]x[/bold]\\nnote: y\n"
    assert _printed(Text("x\x1b[2J\nnote: y")) == "x\\x1b[2J\\nnote: y\n"


def test_a_cell_of_a_table_is_one_line() -> None:
    file = io.StringIO()
    show_table(("c", "d"), [[Text("[red]e\nf"), Text("g\x1b[2J")]], VisibleConsole(file=file, width=40))
    assert [line.split() for line in file.getvalue().splitlines()] == [["c", "d"], ["[red]e\\nf", "g\\x1b[2J"]]


def test_json_and_lines_carry_nothing_that_acts(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"a": "\x9b\u202e\x1b"})
    print_lines("x\nnote: y")
    assert capsys.readouterr().out == '{\n  "a": "\\u009b\\u202e\\u001b"\n}\nx\\nnote: y\n'


def test_a_document_is_piped_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    piped = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", piped)
    print_document("a\x1b\r\nb\n")
    assert piped.buffer.getvalue() == b"a\x1b\r\nb\n"


def test_a_document_on_a_terminal_keeps_its_lines_and_acts_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.TextIOWrapper):
        def isatty(self) -> bool:
            return True

    terminal = Terminal(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", terminal)
    print_document("a\x1b\tb\r\nc\n")
    assert terminal.buffer.getvalue() == b"a\\x1b\tb\nc\n"  # type: ignore[attr-defined]
