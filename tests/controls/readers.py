"""Skills of twelve facts, and models of a known kind that answer what is asked of them."""

import json
import random
import re
from collections.abc import Callable, Collection
from pathlib import Path

from provider import Behave, Behaviour, ReceivedRequest

NAMES = ("birch", "cedar", "delta", "ember", "flint", "grove", "heron", "inlet", "juniper", "kelp", "larch", "moss")
FACTS = {name: str(4_000 + 37 * number) for number, name in enumerate(NAMES)}
LAYOUTS: dict[str, Callable[[str, str], str]] = {
    "list": lambda name, value: f"- The port of `{name}` is {value}.",
    "spans": lambda name, value: f"- `{name}` listens on `{value}`",
    "words": lambda name, value: f"{name.capitalize()} is special. {name} has the port {value}, as it always had.",
    "table": lambda name, value: f"| {name} | {value} |",
    "code": lambda name, value: f"start {name} --port {value}",
    "settings": lambda name, value: f'{name} = "{value}"',
}
AROUND = {
    "table": ("| name | port |\n|---|---|\n", "\n"),
    "code": ("```sh\n", "\n```\n"),
    "settings": ("```toml\n", "\n```\n"),
}


def write_skill(folder: Path, facts: dict[str, str], *, layout: str = "list", asked: dict[str, str] = FACTS) -> Path:
    """A skill that says these facts, with a case for each that is `asked`."""
    folder.mkdir(parents=True)
    before, after = AROUND.get(layout, ("", "\n"))
    lines = "\n".join(LAYOUTS[layout](name, value) for name, value in facts.items())
    head = f"---\nname: {folder.name}\ndescription: Knows the ports of services.\n---\n# Ports\n\n"
    (folder / "SKILL.md").write_text(f"{head}{before}{lines}{after}", encoding="utf-8")
    cases = [
        {"id": name, "input": f"Which port does {name} have?", "expected": {"contains": value}}
        for name, value in asked.items()
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": cases}), encoding="utf-8")
    return folder


def reader(by_heart: Collection[str] = ()) -> Behave:
    """Reads the number that stands behind a name, wherever it is said; some names it knows without reading."""

    def behave(asked: ReceivedRequest) -> Behaviour:
        name = re.findall(r"\w+", asked.prompt)[3]
        if name in by_heart:
            return Behaviour(text=FACTS[name])
        found = re.search(rf"\b{name}\b[^\n.]*?\b(\d{{4}})\b", asked.system)
        return Behaviour(text=found[1] if found else "no idea")

    return behave


def guesser(share: float, *, seed: int, facts: dict[str, str] = FACTS) -> Behave:
    """Ignores what it is given: it knows an answer with this chance, each time anew."""
    draw = random.Random(seed)

    def behave(asked: ReceivedRequest) -> Behaviour:
        name = re.findall(r"\w+", asked.prompt)[3]
        return Behaviour(text=facts[name] if draw.random() < share else f"no idea {asked.number}")

    return behave
