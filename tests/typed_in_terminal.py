"""A real terminal for tests: tmux, with a window of a given size, looked at as a person looks at it."""

import re
import secrets
import shlex
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Self

from forking import COMMAND

PROMPT = "ready>"


class Terminal:
    """Use it in a `with` block. What is typed is answered by a shell."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, columns: int, rows: int) -> None:
        self._folder = folder
        self._environment = environment
        self._size = (columns, rows)
        self.columns = columns
        # Its own: the server of a terminal before it in the same folder may still be on its way out.
        self._socket = str(folder / f"tmux-{secrets.token_hex(3)}")
        self._stream = folder / "stream"

    def __enter__(self) -> Self:
        variables = [f"{name}={value}" for name, value in {**self._environment, "PS1": PROMPT}.items()]
        shell = ["env", "-i", "TERM=screen-256color", *variables, "bash", "--norc", "--noprofile"]
        columns, rows = self._size
        self._tmux(
            "-f", "/dev/null", "new-session", "-d", "-x", f"{columns}", "-y", f"{rows}", "-c", str(self._folder), *shell
        )
        self._tmux("pipe-pane", f"cat >{shlex.quote(str(self._stream))}")
        self.wait(lambda: PROMPT in self.screen())
        return self

    def __exit__(self, *_: object) -> None:
        self._tmux("kill-server")

    def _tmux(self, *words: str) -> str:
        # With a configuration of nobody, and a server of its own.
        command = ["tmux", "-S", self._socket, *words]
        variables = {"PATH": self._environment["PATH"], "LANG": "C.UTF-8", "HOME": str(self._folder)}
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=True, timeout=30).stdout

    def type(self, *words: str) -> None:
        self._tmux("send-keys", "-l", shlex.join([COMMAND, *words]) + "; echo code=$?")
        self._tmux("send-keys", "Enter")

    def press(self, key: str) -> None:
        self._tmux("send-keys", key)

    def resize(self, columns: int) -> None:
        self._tmux("resize-window", "-x", f"{columns}", "-y", f"{self._size[1]}")
        self.columns = columns

    def screen(self) -> str:
        """What is seen, with what was scrolled out at the top, line by line as the program ended them."""
        return self._tmux("capture-pane", "-p", "-S", "-500")

    def printed(self) -> str:
        """The screen below the line that was typed, which may be wrapped anywhere."""
        ends = r"\s*".join(map(re.escape, ";echocode=$?")) + r"\n"
        return re.split(ends, self.screen(), maxsplit=1)[1]

    def sent(self) -> str:
        return self._stream.read_text(encoding="utf-8", errors="replace")

    def exit_code(self) -> int | None:
        """Of the command that was typed, once it has ended."""
        found = re.search(r"^code=(\d+)", self.screen(), re.MULTILINE)
        return None if found is None else int(found[1])

    def wait(self, until: Callable[[], object], *, seconds: float = 90) -> None:
        deadline = time.monotonic() + seconds
        while not until():
            assert time.monotonic() < deadline, self.screen()
            time.sleep(0.1)
