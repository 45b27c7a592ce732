"""Forms, harmless lines and variables written before the rules that found them."""

import random
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from secret_corpus.harmless import filled, lines_of
from secret_corpus.made_up import Planted, plant
from secret_corpus.planted import secret_from

LINES = 1_000


@cache
def _read(name: str) -> Any:
    return yaml.safe_load((Path(__file__).parent / name).read_text(encoding="utf-8"))


def unseen(group: str) -> list[Planted]:
    """The forms of a group, `plain` or `hard`."""
    return [plant(name, text, *map(secret_from, secrets)) for name, text, *secrets in _read("unseen_forms.yaml")[group]]


def everyday_lines() -> list[str]:
    """A thousand lines of the kinds in which those secrets stand, without one: by hand, then from forms."""
    chance = random.Random(15)
    written, forms = lines_of("everyday.txt"), lines_of("everyday_forms.txt")
    return written + [filled(forms[number % len(forms)], chance) for number in range(LINES - len(written))]


def variables(group: str, *, name: str = "variables.yaml") -> dict[str, str]:
    """Environment variables: those that hold a secret, or those that hold none."""
    return {variable: secret_from(value) for variable, value in _read(name)[group].items()}
