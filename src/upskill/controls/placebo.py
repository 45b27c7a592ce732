"""A text of the length and the form of a skill about something else. Whether it helps by chance is not known here."""

import hashlib

from upskill.core.nouns import Skill
from upskill.core.skills.skills import shipped_skills


def placebo(skill: Skill) -> str:
    """Bodies of skills that ship with upskill, about as long as the body of this one, cut at the end of a line.

    The digest of the skill decides their order. A skill of the same name is not among them.
    """
    others = [other.body.strip() for other, _ in shipped_skills() if other.name != skill.name]
    others.sort(key=lambda body: hashlib.sha256(f"{skill.digest}\n{body}".encode()).digest())
    pool = [f"{line}\n" for body in others for line in (*body.splitlines(), "")]
    missing = len(skill.body.strip())
    lines: list[str] = []
    while len(pool[len(lines) % len(pool)]) < missing:
        lines.append(pool[len(lines) % len(pool)])
        missing -= len(lines[-1])
    lines.append(min(pool, key=lambda line: abs(missing - len(line.rstrip()))))
    return "".join(lines).strip() + "\n"
