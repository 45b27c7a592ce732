"""Whether agents, whose YAML readers differ, read from a frontmatter what a person sees in it."""

import re
from collections.abc import Mapping
from itertools import takewhile

from upskill_gallery.agent_skills_paths import Refused

_DESCRIPTION = re.compile(r"""(\s*)["']?description["']?\s*:(.*)""")
_NUMBER = re.compile(r"-?\d+(\.\d+)?")


def require_text_values(text: str, metadata: Mapping[str, object]) -> None:
    """Refuse a number without quotes: the validator reads `1.40` as text, other readers as the number 1.4."""
    for key, value in metadata.items():
        unquoted = rf"(?m)^\s+[\"']?{re.escape(key)}[\"']?\s*:\s*{re.escape(str(value))}\s*(#.*)?$"
        if _NUMBER.fullmatch(str(value)) and re.search(unquoted, text):
            raise Refused(f"metadata: {key} is a number in YAML, and the specification asks for strings: quote {value}")


def require_whole_description(text: str, description: str) -> None:
    """Refuse a frontmatter of which agents do not read the whole description: it is cut at `---` or at ` #`."""
    lines = text.splitlines()
    ends = next((at for at, line in enumerate(lines[1:], 1) if "---" in line), 0)
    if lines[0].strip() != "---" or lines[ends].strip() != "---" or not ends:
        raise Refused(
            f"the frontmatter is not between two lines of ---; agents read the description as {description!r}"
        )
    keys = [(at, found) for at, line in enumerate(lines[:ends]) if (found := _DESCRIPTION.match(line))]
    if not keys:
        raise Refused("no line of the frontmatter begins with description:")
    at, key = min(keys, key=lambda one: len(one[1][1]))  # deeper ones belong to another field
    more = takewhile(lambda line: not line.strip() or line.startswith(key[1] + " "), lines[at + 1 : ends])
    value = [line.strip() for line in (key[2], *more) if line.strip() and not line.strip().startswith("#")]
    plain = not value or not value[0].startswith(('"', "'", ">", "|"))
    if plain and any(re.search(r"\s#", line) for line in value):
        raise Refused(f"agents read the description only up to its #: {description[:120]!r}")
