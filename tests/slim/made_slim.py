"""A skill on a tool that does not exist, with cases, and a student that answers from the lines that it is given."""

import json
import re
from pathlib import Path
from zlib import crc32

from provider import Behaviour, ReceivedRequest

TOPICS = ("ports", "logs", "tokens", "backups", "locks", "health")
_HEAD = "---\nname: brinectl\ndescription: Facts of brinectl. Use for any question on brinectl.\n---\n"


def fact(topic: str, number: int) -> str:
    """What the student must find in the text: it cannot be guessed."""
    return f"{topic[:3]}-{7_000 + 37 * number}"


def made_body(*, topics: int = len(TOPICS)) -> str:
    """For each topic a line that its cases need, and two on the same subject that none does."""
    parts = ["# Facts of brinectl\n"]
    for number, topic in enumerate(TOPICS[:topics]):
        parts.append(
            f"## About {topic}\n\n- The `{topic}` value of brinectl is {fact(topic, number)}.\n"
            f"- Many people find `{topic}` a pleasant part of the tool.\n- `{topic}` were added early on.\n"
        )
    parts.append("## Zebras\n\nStripes of a zebra are counted at dusk.\n")
    parts.append("## History\n\n- The `ports` team wrote this file. <!-- keep -->\n- The `logs` team read it.\n")
    return "\n".join(parts)


def made_cases(*, practice: int, held_out: int, topics: int) -> list[dict[str, object]]:
    """Cases in turn on each topic: first for practice, then held out."""
    cases: list[dict[str, object]] = []
    for number in range(practice + held_out):
        place = number % topics
        use = "learn" if number < practice else "held-out"
        cases.append(
            {
                "id": f"c{number}",
                "input": f"Question {number}: which value do {TOPICS[place]} of brinectl have?",
                "expected": {"contains": fact(TOPICS[place], place)},
                "family": "none",
                "use": use,
                "extra": {"split": use},
            }
        )
    return cases


def make_skill(
    folder: Path, *, body: str | None = None, practice: int = 34, held_out: int = 32, topics: int = len(TOPICS)
) -> Path:
    """The skill in a folder of its own, with its cases."""
    skill = folder / "brinectl"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(_HEAD + (made_body(topics=topics) if body is None else body))
    cases = made_cases(practice=practice, held_out=held_out, topics=topics)
    (skill / "skill_meta.json").write_text(json.dumps({"cases": cases}))
    return skill


def answer_from_skill(asked: ReceivedRequest) -> Behaviour:
    """The value of the topic in the question, if the line with it was given; a few answers are lost to chance."""
    number, topic = re.findall(r"Question (\d+): which value do (\w+)", asked.prompt)[0]
    found = re.search(rf"`{topic}` value of brinectl is (\S+)\.", asked.system)
    # Chance strikes practice alone, and does not depend on what else was asked before.
    lost = int(number) < 30 and crc32((asked.system + asked.prompt).encode()) % 20 == 0
    return Behaviour(text=f"It is {found[1]}." if found and not lost else "I do not know.")
