"""Does an output look failed? Judged by its text alone, and only where the recording itself marks nothing."""

import re

LOOKED_AT = 20_000
SIGNS = re.compile(
    r"""^(?:
        Traceback[ ]\(most[ ]recent[ ]call[ ]last\)
      | (?:[\w./+-]+:[ ])*(?:fatal|error|panic)(?:\[\w+\])?:[ ]
      | E[ ]{3,}\w+(?:Error|Exception)\b
      | \w*(?:Error|Exception):[ ]
      | (?:FAILED|FAIL)\b
      | npm[ ](?:ERR!|error)[ ]
      | make(?:\[\d+\])?:[ ]\*\*\*[ ]
      | (?:\S+:[ ])+(?:command[ ]not[ ]found|No[ ]such[ ]file[ ]or[ ]directory|Permission[ ]denied)$
      | \S+[(:]\d+(?:[,:]\d+)?\)?:[ ](?:fatal[ ])?error\b
      | (?:Process[ ]exited[ ]with[ ]code|[Ee]xit[ ]code:?)[ ][1-9]
      | ={3,}+[^\n]*?\b[1-9]\d*[ ](?:failed|errors?)\b
    )""",
    re.MULTILINE | re.VERBOSE,
)


def looks_failed(text: str) -> bool:
    """Whether the head or the tail reads like a failure."""
    if len(text) > 2 * LOOKED_AT:
        return bool(SIGNS.search(text[:LOOKED_AT]) or SIGNS.search(text[-LOOKED_AT:]))
    return bool(SIGNS.search(text))
