"""A program named `upskill` for shell scripts: it asks the process of the tests, which forks the command for it."""

import json
import socket
import sys
import threading
from pathlib import Path
from typing import Self

from forking import Forker

_PROGRAM = """#!{python} -SE
import json, os, socket, sys
asked = json.dumps(dict(words=sys.argv[1:], cwd=os.getcwd(), environment=dict(os.environ)))
with socket.socket(socket.AF_UNIX) as server:
    server.connect({address!r})
    server.sendall(asked.encode())
    server.shutdown(socket.SHUT_WR)
    done = json.load(server.makefile())
sys.stdout.write(done["stdout"])
sys.stderr.write(done["stderr"])
sys.exit(done["code"])
"""


class ForkedUpskill:
    """Serves until the block ends. `folder` goes first into `PATH`."""

    def __init__(self, forker: Forker, folder: Path) -> None:
        self._forker = forker
        self.folder = folder
        folder.mkdir()
        self._address = str(folder / "socket")

    def __enter__(self) -> Self:
        program = self.folder / "upskill"
        program.write_text(_PROGRAM.format(python=sys.executable, address=self._address), encoding="utf-8")
        program.chmod(0o755)
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(self._address)
        self._server.listen()
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                asker, _ = self._server.accept()
            except OSError:  # closed
                return
            with asker:
                asked = json.load(asker.makefile())
                done = self._forker.run_with(asked["environment"], *asked["words"], cwd=Path(asked["cwd"]))
                said = {"stdout": done.stdout, "stderr": done.stderr, "code": done.returncode}
                asker.sendall(json.dumps(said).encode())
