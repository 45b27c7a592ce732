"""A teacher and a student on loopback that know an invented tool: what they say depends on what they are asked.

The teacher's draft leaves facts out; its revision puts them in. The student knows only what the skill says.
"""

import json
import re
from collections.abc import Sequence
from typing import Any

from provider import Behave, Behaviour, ReceivedRequest

THINGS = (
    "config file", "default port", "log file", "token variable", "start command", "stop command", "lock file",
    "backup folder", "service user", "health page", "poll interval", "cache folder", "manual page", "socket file",
    "retry limit", "time zone", "mail alias", "queue name", "disk label", "host group", "build flag", "release tag",
    "audit file", "metric name", "proxy port", "theme file", "upload limit", "index file", "report name", "node name",
)  # fmt: skip
FACTS = {thing: f"{thing.split()[0][:4]}-{7 * number + 11}x" for number, thing in enumerate(THINGS)}
TASK = "answer questions about quarn, a tide gauge"


def question_about(thing: str, wording: str = "direct") -> str:
    words = {
        "direct": f"What is the {thing} of quarn?",
        "paraphrased": f"Somebody asks you to name quarn's {thing}. Name it.",
        "contextual": f"I am setting up quarn on a new pier and got stuck: which {thing} does it use?",
    }
    return words[wording]


def case_about(thing: str, wording: str) -> dict[str, Any]:
    return {
        "id": f"{thing} {wording}",
        "input": question_about(thing, wording),
        "checks": [{"contains": FACTS[thing]}],
        "reference": f"It is {FACTS[thing]}.",
        "wrong": ["It is quarn.yaml.", "It is 8080."],
        "wording": wording,
        "topic": thing,
    }


def fact_about(thing: str, place: str) -> dict[str, Any]:
    """An entry of a plan of facts."""
    name = thing.replace(" ", "-")
    said = {"text": f"The {thing} is {FACTS[thing]}.", "answer": FACTS[thing]}
    return {"id": name, **said, "kind": "fact", "place": place, "family": name}


def negative_case(number: int) -> dict[str, Any]:
    """A task that has nothing to do with the skill."""
    total = 40 + number + 17
    return {
        "id": f"sum {number}",
        "input": f"How much is {40 + number} plus 17? Answer with the number.",
        "checks": [{"contains": str(total)}],
        "reference": f"{total}",
        "wrong": [f"{total + 1}", "forty"],
        "wording": "direct",
        "topic": "sums",
        "negative": True,
    }


def line_for(thing: str) -> str:
    """A fact as the skill says it."""
    return f"- The {thing} is {FACTS[thing]}"


def draft(things: Sequence[str], *, name: str = "quarn") -> dict[str, Any]:
    """A skill that knows some of the facts."""
    return {
        "name": name,
        "description": "Facts about quarn, a tide gauge. Use for any question about quarn.",
        "sections": [{"heading": "Facts", "text": "\n".join(map(line_for, things)), "sources": []}],
        "references": [],
    }


def revision(things: Sequence[str]) -> dict[str, Any]:
    """Edits that put facts in."""
    lines = "\n".join(map(line_for, things))
    edit = {"file": "SKILL.md", "action": "insert", "quote": None, "heading": "Facts", "text": lines, "why": "missing"}
    return {"cause": "the skill does not say it", "edits": [edit]}


def kind_of(text: str) -> str:
    """What a teacher is asked for, by the form of the answer."""
    for kind in ("facts", "presentations", "cases", "edits", "sections", "changes", "lessons"):
        if re.search(rf'"properties":\s*{{[^{{}}]*"{kind}"', text) or f'"{kind}":{{"type":"array"' in text:
            return kind
    return "unknown"


def teacher(things: Sequence[str] = THINGS, *, known_at_first: int = 5, negatives: int = 4) -> Behave:
    """Writes cases about `things`, a draft that knows the first few, and a revision that knows them all."""

    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(text=json.dumps(teachers_answer(asked.prompt, things, known_at_first, negatives)))

    return behave


def teachers_answer(prompt: str, things: Sequence[str], known_at_first: int, negatives: int) -> dict[str, Any]:
    match kind_of(prompt):
        case "facts":
            return {"facts": [fact_about(thing, _place_in(prompt)) for thing in things]}
        case "cases":
            asked = dict(re.findall(r"^- `([\w-]+)`, rung `(\w+)`", prompt, re.MULTILINE))
            planned = [
                {**case_about(thing, "direct"), "fact": name, "rung": asked[name]}
                for thing in things
                if (name := thing.replace(" ", "-")) in asked
            ]
            wanted = planned or [case_about(thing, "direct") for thing in things]
            return {"cases": [*wanted, *(negative_case(number) for number in range(negatives))]}
        case "presentations":
            known = [thing for thing in things if line_for(thing) in prompt]
            rows = {"heading": "Table", "text": "\n".join(map(line_for, known))}
            return {"presentations": [{"form": "table", "sections": [rows]}]}
        case "edits":
            return revision([thing for thing in things if line_for(thing) not in prompt])
        case "changes":
            missing = "\n".join(line_for(thing) for thing in things)
            return {"changes": [{"action": "replace", "heading": "Facts", "text": missing, "sources": []}]}
        case "sections":
            return draft(things[:known_at_first])
        case "lessons":
            place = re.search(r"such as `([^`]+)`", prompt)
            told = [line_for(thing).removeprefix("- ") for thing in things[:known_at_first]]
            return {"lessons": [{"kind": "fact", "text": text, "sources": [place[1]]} for text in told if place]}
    return {}


def _place_in(prompt: str) -> str:
    """A place of the material that is shown; empty where there is none."""
    document = re.search(r"^## (document .+|SKILL\.md)$", prompt, re.MULTILINE)
    step = re.search(r"\bstep \d+", prompt[prompt.find("## Recorded work") :]) if "## Recorded work" in prompt else None
    return f"{document[1]} lines 1 to 5" if document else step[0] if step else ""


def student(asked: ReceivedRequest) -> Behaviour:
    """Says what the skill says, or finds it in a passage, and nothing of its own; it can add."""
    if (sum_ := re.search(r"How much is (\d+) plus (\d+)", asked.prompt)) is not None:
        return Behaviour(text=str(int(sum_[1]) + int(sum_[2])))
    thing = next((thing for thing in THINGS if thing in asked.prompt), None)
    known = thing is not None and (line_for(thing) in asked.system or "<passage>" in asked.system)
    return Behaviour(text=f"It is {FACTS[thing]}." if known and thing is not None else "I do not know.")
