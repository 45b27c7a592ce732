"""The final text of an answer, without the model's thinking."""

import re
from typing import TYPE_CHECKING

from upskill.domain.text import whole_characters

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput

_TAGS = "think|thinking|thought|reasoning"
_CLOSED = re.compile(rf"\A\s*<({_TAGS})>.*?</\1>", re.DOTALL)
_UNCLOSED = re.compile(rf"\A\s*<({_TAGS})>.*\Z", re.DOTALL)
_ONLY_END = re.compile(rf"\A.*?</({_TAGS})>", re.DOTALL)


def final_text(output: "ModelOutput") -> str:
    """What checks look at. Text that is still thinking when the answer is cut is no answer."""
    text = strip_thinking(output.choices[0].message.text) if output.choices else ""
    # Half a character cannot be stored: what is graded is what is kept.
    return whole_characters(text)


def strip_thinking(text: str) -> str:
    """Servers without a reasoning parser leave the thinking in the text, at its beginning."""
    while (match := _CLOSED.match(text)) is not None:
        text = text[match.end() :]
    if _UNCLOSED.match(text):
        return ""
    # Templates that open the thinking in the prompt leave only its end in the answer.
    if (match := _ONLY_END.match(text)) is not None and f"<{match[1]}>" not in match[0]:
        text = text[match.end() :]
    return text.strip()
