"""Five skills that are asked together, and a student that answers by known rates, whatever order requests come in."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from provider import Behaviour, ReceivedRequest

NAMES = ("alpha", "bravo", "charlie", "delta", "echo")
ALONE = 0.8
EFFECTS: Mapping[tuple[str, str], float] = {
    ("alpha", "bravo"): -0.48,  # bravo shadows alpha
    ("charlie", "delta"): -0.4,  # these two contradict each other
    ("delta", "charlie"): -0.4,
}
"""What the second skill of each pair changes in the pass rate of the first; 0 for all others."""


def make_library(here: Path, *, cases: int, names: tuple[str, ...] = NAMES) -> list[str]:
    """The folders of the skills, each with so many held-out cases."""
    for name in names:
        folder = here / name
        folder.mkdir()
        text = f"---\nname: {name}\ndescription: Knows codes of parcels and the {name} rules.\n---\nThe {name} code.\n"
        (folder / "SKILL.md").write_text(text)
        asked = [
            {"id": f"{name}-{n}", "input": f"The {name} code of item {n}?", "expected": {"contains": f"{name}{n}"}}
            for n in range(cases)
        ]
        (folder / "skill_meta.json").write_text(json.dumps({"cases": asked}))
    return list(names)


def student(seed: str) -> Callable[[ReceivedRequest], Behaviour]:
    """A student whose luck is a matter of the request and the seed alone."""

    def answer(asked: ReceivedRequest) -> Behaviour:
        [(name, number)] = re.findall(r"The (\w+) code of item (\d+)\?", asked.prompt)
        given = set(re.findall(r'<skill name="(\w+)"', asked.system))
        assert name in given
        chance = ALONE + sum(EFFECTS.get((name, other), 0.0) for other in given)
        drawn = hashlib.sha256(f"{seed}/{name}/{number}/{sorted(given)}".encode()).digest()
        luck = int.from_bytes(drawn[:6], "big") / 2**48
        return Behaviour(text=f"{name}{number}" if luck < chance else "no idea")

    return answer
