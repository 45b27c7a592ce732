"""aider's chat history: Markdown in which a mark at the start of a line says who speaks. Many chats in one file."""

import re
from collections.abc import Iterator
from typing import Literal

from upskill.domain.trace import Trace
from upskill.traces.conversation import Conversation
from upskill.traces.recording import Reader, Recording

RECORDER = "aider"
START = "# aider chat started at"
TYPED, PRINTED = "#### ", "> "
END = "  "
"""aider ends its own lines with two spaces; headings and quotations that a model writes have none."""
ASKING = ("/ask", "/code", "/architect", "/context")
"""Commands whose text goes to the model: a person's words."""
MODEL = re.compile(r"(?:Main model|Model): (\S+)")
LONGEST = 1_000_000
"""Characters of one message; more is a fault of the file."""

Speaker = Literal["person", "harness", "agent"]


def read(recording: Recording) -> Iterator[Trace]:
    """One trace per chat."""
    chat = _Chat(recording)
    marked: bool | None = None
    for line in recording.lines():
        if line.startswith(START):
            yield chat.trace()
            chat = _Chat(recording)
            continue
        if marked is None and line.startswith((TYPED, PRINTED)):
            marked = line.endswith(END)  # some editors take spaces at the end of a line away
        speaker: Speaker = "agent"
        if not marked or line.endswith(END):
            speaker = "person" if line.startswith(TYPED) else "harness" if line.startswith(PRINTED) else "agent"
        chat.add(speaker, line)
    yield chat.trace()


class _Chat:
    def __init__(self, recording: Recording) -> None:
        self._conversation = Conversation(recording)
        self._speaker: Speaker = "agent"
        self._lines: list[str] = []
        self._length = 0

    def add(self, speaker: Speaker, line: str) -> None:
        if speaker != self._speaker:
            self._end_message()
            self._speaker = speaker
        self._length += len(line)
        if self._length <= LONGEST:
            mark = {"person": TYPED, "harness": PRINTED, "agent": ""}[speaker]
            self._lines.append(line.removeprefix(mark).rstrip() if mark else line)

    def trace(self) -> Trace:
        self._end_message()
        return self._conversation.trace(RECORDER)

    def _end_message(self) -> None:
        text = "\n".join(self._lines).strip()
        self._lines, self._length = [], 0
        if self._speaker == "agent":
            self._conversation.agent(text)
        elif self._speaker == "harness":
            self._conversation.harness(text)
            if model := MODEL.search(text):
                self._conversation.add_details(model=model.group(1))
        else:
            self._add_person(text)

    def _add_person(self, text: str) -> None:
        command, _, asked = text.partition(" ")
        if not command.startswith("/"):
            self._conversation.person(text)
        elif command in ASKING and asked.strip():
            self._conversation.person(asked)
        elif text:
            self._conversation.commands += 1


READER = Reader(
    name=RECORDER, title="aider", read=read, in_text=lambda lines: any(line.startswith(START) for line in lines)
)
