"""Answers that answer nothing. A case that one of them passes cannot tell who knows from who does not."""

from collections.abc import Iterator
from typing import NamedTuple

from upskill.domain import Answer, Case

_REFUSALS = (
    "I'm sorry, but I can't help with that.",
    "Sorry, I cannot assist with this request.",
    "I don't know.",
    "I do not know the answer; unfortunately, this goes beyond what I was trained on.",
    "I am not able to answer this question. Could you give me more details?",
    "Unfortunately, I do not have enough information to do this. Please provide more context and I will try again.",
    "As an AI language model, I do not have access to this information, so I cannot give you a definite answer. "
    "I recommend that you check the official documentation.",
    "I apologize for the inconvenience, but I'm unable to complete this task. "
    "Please let me know if there is anything else I can help you with.",
    "No, I won't do this: it would not be appropriate.",
    "Es tut mir leid, aber dabei kann ich Ihnen leider nicht helfen.",
    "Je suis désolé, mais je ne peux pas vous aider avec cela.",
    "申し訳ありませんが、その質問にはお答えできません。",
)


EMPTY = "the empty answer"
ECHO = "the echoed prompt"
REFUSAL = "a polite refusal"
REFUSAL_ABOUT = "a polite refusal that repeats the prompt"


class NonAnswer(NamedTuple):
    """An answer that must not pass, and what it is called."""

    name: str
    answer: Answer


def non_answers(case: Case) -> Iterator[NonAnswer]:
    """The empty answer, the echoed prompt, and polite refusals, some of which speak of what was asked."""
    yield NonAnswer(EMPTY, Answer())
    yield NonAnswer(ECHO, Answer(text=case.prompt))
    for text in _REFUSALS:
        yield NonAnswer(REFUSAL, Answer(text=text))
    for text in _refusals_about(case.prompt):
        yield NonAnswer(REFUSAL_ABOUT, Answer(text=text))


def _refusals_about(prompt: str) -> Iterator[str]:
    """A student that does not know often says what it was asked for."""
    asked = " ".join(prompt.split())
    yield f"I'm sorry, but I can't help with the request \"{asked}\"."
    yield f"You are asking: {asked}\n\nI do not have reliable information about this, so I would rather not guess."
