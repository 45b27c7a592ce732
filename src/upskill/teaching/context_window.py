"""How a teacher's context window is shared out. Tokens are estimated, so a part of every window stays unused."""

from upskill.domain import estimate_tokens
from upskill.models.question import MOST_OUTPUT_TOKENS
from upskill.teaching.material import Material

ASSUMED_WINDOW = 64_000
"""Tokens of a context window whose size is unknown."""
PROMPT_TOKENS = 2_500
"""Our own text around the material, with the schema of the answer."""
LEAST_MATERIAL = 256
_USED = 0.8


def answer_tokens(window: int | None) -> int:
    """The most tokens of an answer: never more than a third of the window."""
    return MOST_OUTPUT_TOKENS if window is None else max(256, min(MOST_OUTPUT_TOKENS, window // 3))


def material_budget(window: int | None) -> int:
    """The most tokens of material in one question."""
    whole = window or ASSUMED_WINDOW
    return max(LEAST_MATERIAL, int((whole - answer_tokens(whole) - PROMPT_TOKENS) * _USED))


def material_tokens(material: Material) -> int:
    """The estimated tokens of a whole material."""
    texts = [material.task, *material.examples, *(f"{one.name}\n{one.text}" for one in material.documents)]
    if material.digest is not None:
        texts.append(material.digest.text)
    if (skill := material.skill) is not None:
        texts += [skill.description, skill.body, *skill.files]
    return sum(estimate_tokens(text) for text in texts)


def fits(material: Material, window: int | None) -> bool:
    """Whether the whole material fits into one question."""
    return material_tokens(material) <= material_budget(window)
