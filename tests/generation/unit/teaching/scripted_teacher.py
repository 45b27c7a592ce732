"""A teacher made of replies, for what asks one. It keeps what it was asked."""

from collections.abc import Callable, Sequence

from upskill.core.models import Question, Reply


class Teacher:
    """Gives its replies in order, the last one for ever; or what a function says to each question."""

    def __init__(self, *replies: str | Reply | Callable[[Question], str]) -> None:
        self._replies = list(replies)
        self.asked: list[Question] = []

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]:
        return tuple(self._reply(question) for question in questions)

    def _reply(self, question: Question) -> Reply:
        reply = self._replies[min(len(self.asked), len(self._replies) - 1)]
        self.asked.append(question)
        if isinstance(reply, Reply):
            return reply
        return Reply(text=reply if isinstance(reply, str) else reply(question))
