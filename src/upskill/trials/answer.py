"""The final text of an answer, without the model's thinking."""

from typing import TYPE_CHECKING

from upskill.domain.text import whole_characters
from upskill.domain.thinking import without_thinking

if TYPE_CHECKING:
    from inspect_ai.model import ModelOutput


def final_text(output: "ModelOutput") -> str:
    """What checks look at. Text that is still thinking when the answer is cut is no answer."""
    text = without_thinking(output.choices[0].message.text) if output.choices else ""
    # Half a character cannot be stored: what is graded is what is kept.
    return whole_characters(text)
