"""How much of a teacher's window there is for what. Tokens are estimated, so a part of every window is left unused."""

from upskill.domain import estimate_tokens
from upskill.models.question import MOST_OUTPUT_TOKENS
from upskill.teaching.material import Material

ASSUMED_WINDOW = 64_000
"""Of a teacher whose window nobody told."""
PROMPT_TOKENS = 2_500
"""What we say ourselves around the material, with the form of the answer."""
LEAST_MATERIAL = 256
_USED = 0.8


def answer_room(window: int | None) -> int:
    """Tokens for the answer: never more than a third of the window."""
    return MOST_OUTPUT_TOKENS if window is None else max(256, min(MOST_OUTPUT_TOKENS, window // 3))


def material_room(window: int | None) -> int:
    """Tokens for the material in one question."""
    whole = window or ASSUMED_WINDOW
    return max(LEAST_MATERIAL, int((whole - answer_room(whole) - PROMPT_TOKENS) * _USED))


def material_tokens(material: Material) -> int:
    """About how many tokens all of a material has."""
    texts = [material.task, *material.examples, *(f"{one.name}\n{one.text}" for one in material.documents)]
    if material.digest is not None:
        texts.append(material.digest.text)
    if (skill := material.skill) is not None:
        texts += [skill.description, skill.body, *skill.files]
    return sum(estimate_tokens(text) for text in texts)


def fits(material: Material, window: int | None) -> bool:
    """Whether a teacher can be given all of it at once."""
    return material_tokens(material) <= material_room(window)
