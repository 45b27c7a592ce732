"""Somebody who serves a hand-off: answers what is open, each question once, and remembers in which order."""

import _thread
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

import made_teacher
from forking import Done
from upskill.core.models.handoff import HandoffQuestion
from upskill.errors import UsageError
from upskill.generation.handoff import answer_question, handoff_status

Answer = Callable[[HandoffQuestion, str], str]


def made_answer(question: HandoffQuestion, text: str, *, things: tuple[str, ...] = made_teacher.THINGS[:8]) -> str:
    """What the made teacher says, in the form of the schema: its draft knows one fact, its revision knows them all."""
    schema = question.schema
    asked = f"{text}\n{json.dumps(schema, separators=(',', ':'))}"
    answer = made_teacher.teachers_answer(asked, things, 1, 0)
    if "cases" in answer and schema is not None:
        wanted = schema["properties"]["cases"]
        answer["cases"] = [_in_form(case, wanted["items"]["properties"]) for case in answer["cases"]]
        answer["cases"] = answer["cases"][: wanted.get("maxItems")]
    return json.dumps(answer)


def _in_form(case: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    (check,) = case["checks"]
    formed = {
        **case,
        "family": case["topic"],
        "checks": [{"contains": [check["contains"]]}],
        "reference": {"text": case["reference"]},
    }
    return {key: value for key, value in formed.items() if key in known}


class HandoffServer:
    """Serves every hand-off below a folder from a thread of its own, until the block ends."""

    def __init__(self, below: Path, answer: Answer = made_answer) -> None:
        self._below, self._answer = below, answer
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._serve)
        self.served: list[tuple[int, str]] = []
        self.errors: list[BaseException] = []

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(20)
        assert not self.errors, self.errors

    def _serve(self) -> None:
        try:
            while not self._end.wait(0.05):
                self.serve_once()
        except BaseException as error:  # noqa: BLE001 - the boundary of a thread: shown when the block ends
            self.errors.append(error)
            _thread.interrupt_main()  # whoever waits for an answer would wait for ever

    def serve_once(self) -> None:
        """Answer all that is open now."""
        for folder, question in self.open():
            self.answer(folder, question, (question.path / "question.md").read_text())

    def open(self) -> Iterator[tuple[Path, HandoffQuestion]]:
        """Every open question, with the folder of its hand-off."""
        # Unlike `rglob`, `os.walk` bears folders that vanish while it looks.
        for folder in {Path(place).parent for place, _, names in os.walk(self._below) if "handoff.json" in names}:
            try:
                waiting = handoff_status(folder).open
            except UsageError:
                continue
            for one in waiting:
                yield folder, one.question

    def answer(self, folder: Path, question: HandoffQuestion, text: str) -> None:
        """Answer one question."""
        answer_question(folder, question.number, self._answer(question, text))
        self.served.append((question.number, question.purpose))


def wait_until(true: Callable[[], bool], *, seconds: float = 30.0) -> None:
    """Wait for something that another process does."""
    until = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


Checked = list[tuple[str, str]]
"""The side and the purpose of each question, with what `upskill handoff --check` said of its answer."""


def answered_by_hand(upskill: Callable[..., Done], here: Path, answer: Answer) -> Checked:
    """Serve `handoff/asked` by `upskill handoff` as a person does: wait, check, answer, until no more is asked."""
    found: Checked = []
    wait_until(lambda: any((here / "asked").glob("*/handoff.json")))
    while (waited := upskill("handoff", "asked", "--wait", "--json")).returncode == 0:
        (asked, *_) = json.loads(waited.stdout)["open"]
        number, place = asked["number"], here / asked["question"]
        question = HandoffQuestion(number=number, purpose=asked["purpose"], side=asked["side"], path=place.parent)
        (here / "answer").write_text(answer(question, place.read_text()))
        checked = upskill("handoff", "asked", "--check", str(number), "answer")
        assert checked.returncode == 0, checked.stdout + checked.stderr
        found.append((f"{question.side}: {question.purpose}", checked.stdout))
        taken = upskill("handoff", "asked", "--answer", str(number), "answer")
        assert taken.returncode == 0, taken.stderr
    return found
