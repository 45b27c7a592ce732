"""A teacher and a student on two loopback servers, and a folder in which `upskill generate` is typed."""

import json
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import made_teacher
from forking import Done, Forker
from made_teacher import THINGS
from provider import Behaviour, Provider, ReceivedRequest


class Place:
    """Two servers and a folder to type in."""

    def __init__(self, forker: Forker) -> None:
        self._forker = forker
        self.teach: Callable[[ReceivedRequest], Behaviour] = made_teacher.teacher()
        self.learn: Callable[[ReceivedRequest], Behaviour] = made_teacher.student
        self.teacher = Provider(lambda asked: self.teach(asked))
        self.student = Provider(lambda asked: self.learn(asked))
        self.here = Path()

    def begin(self, here: Path) -> None:
        """Every test types in a folder of its own, and nobody remembers what was asked before."""
        here.mkdir()
        self.here = here
        self.teach, self.learn = made_teacher.teacher(THINGS[:12], known_at_first=4, negatives=2), made_teacher.student
        self.teacher.requests.clear()
        self.student.requests.clear()

    def generate(self, *words: str, **variables: str) -> Done:
        """Types the command, for both servers, without cached answers. The last words win."""
        both = ("--model", "any", "--base-url", self.teacher.url)
        students = ("--eval-model", "any", "--eval-base-url", self.student.url)
        return self.alone(*both, *students, *words, UPSKILL_STORE="false", **variables)

    def alone(self, *words: str, **variables: str) -> Done:
        """Types the command as it is."""
        return self._forker.run("generate", *words, cwd=self.here, **self._variables(variables))

    def run(self, *words: str, **variables: str) -> Done:
        return self._forker.run(*words, cwd=self.here, **self._variables(variables))

    def _variables(self, more: dict[str, str]) -> dict[str, str]:
        return {"UPSKILL_LEDGER": str(self.here.parent / "looks.jsonl"), **more}

    def interrupt(self, after: int) -> None:
        """Ctrl-C once the student was asked so often."""

        def press() -> None:
            while len(self.student.requests) < after or self._forker.child is None:
                time.sleep(0.02)
            os.kill(self._forker.child, signal.SIGINT)

        threading.Thread(target=press, daemon=True).start()

    @property
    def asked(self) -> int:
        return len(self.teacher.requests) + len(self.student.requests)

    def kinds(self) -> list[str]:
        return [made_teacher.kind_of(asked.prompt) for asked in self.teacher.requests]

    @property
    def skill(self) -> Path:
        (folder,) = (self.here / "skills").iterdir()
        return folder

    @property
    def meta(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((self.skill / "skill_meta.json").read_text())
        return found
