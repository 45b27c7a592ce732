"""The block at the foot of a terminal, on a real pseudo-terminal whose size is changed."""

import os
import sys
from collections.abc import Iterator

import pytest

from upskill.terminal.display import Line, Screen

if sys.platform == "win32":
    pytest.skip("there is no pseudo-terminal", allow_module_level=True)

import fcntl
import struct
import termios


class Window:
    """What a terminal emulator holds: the other end."""

    def __init__(self) -> None:
        self._ours, theirs = os.openpty()
        self.stream = os.fdopen(theirs, "w", encoding="utf-8")

    def screen(self) -> Screen:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stderr", self.stream)
            return Screen()

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._ours, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def received(self) -> str:
        os.set_blocking(self._ours, False)
        try:
            return os.read(self._ours, 100_000).decode()
        except BlockingIOError:
            return ""

    def close(self) -> None:
        self.stream.close()
        os.close(self._ours)


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Iterator[Window]:
    window = Window()
    window.resize(100)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    yield window
    window.close()


def test_what_is_drawn_already_is_not_sent_again(window: Window) -> None:
    screen = window.screen()
    screen.draw([Line("one")])
    assert "one" in window.received()
    screen.draw([Line("one")])
    assert window.received() == ""


def test_a_window_that_is_being_dragged_is_left_alone_until_it_holds_still(window: Window) -> None:
    screen = window.screen()
    screen.draw([Line("x" * 90), Line("y")])
    window.received()
    for columns in (80, 60, 40):
        window.resize(columns)
        screen.draw([Line("x" * (columns - 5)), Line("y")])
        assert window.received() == ""
    screen.draw([Line("new"), Line("y")])
    sent = window.received()
    assert sent.startswith("\r\x1b[4A" + 4 * "\x1b[2K\x1b[B" + "\x1b[2K\r\x1b[4A"), (
        "90 characters take three rows of 40; all are erased before anything is drawn"
    )
    assert "new" in sent
    screen.draw([Line("newer"), Line("y")])
    assert window.received().startswith("\r\x1b[2Anewer"), (
        "nothing is erased where the width is the same: it would flicker"
    )
