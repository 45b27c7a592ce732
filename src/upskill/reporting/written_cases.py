"""Cases that a teacher wrote, as people read them and as JSON."""

import textwrap
from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from upskill.domain import Bought, Case, CaseUse, Skill
from upskill.domain.case import Json

WRITTEN_CASES_SCHEMA = "upskill.written_cases/1"
_USES: tuple[CaseUse, ...] = ("learn", "held-out", "negative")


def written_cases_json(
    skill: Skill,
    cases: Sequence[Case],
    *,
    path: str,
    writer: str,
    dropped: Sequence[str],
    bought: Bought,
    notes: Sequence[str] = (),
) -> dict[str, Json]:
    """The one object of `upskill cases write --json`. The cases themselves are in the file that it names."""
    return {
        "schema": WRITTEN_CASES_SCHEMA,
        "skill": {"name": skill.name, "digest": skill.digest},
        "path": path,
        "writer": writer,
        "cases": [
            {
                "id": case.id,
                "use": case.use,
                "wording": case.extra.get("wording"),
                "topic": case.extra.get("topic"),
                "checks": [check.kind for check in case.checks],
            }
            for case in cases
        ],
        "dropped": list(dropped),
        "spent": {"calls": bought.calls, "tokens": bought.tokens, "cost": bought.cost},
        "notes": list(notes),
    }


def show_written_cases(cases: Sequence[Case], console: Console) -> None:
    """A row per case: what it is for, how it is checked, and what it asks. Fits into 80 columns."""
    width = min(max((len(case.id) for case in cases), default=4), max(12, console.width // 4))
    kinds = {case.id: "+".join(dict.fromkeys(check.kind for check in case.checks)) for case in cases}
    kind_width = min(max(map(len, kinds.values()), default=6), 18)
    head = f"{'case':<{width}}  {'use':<8}  {'checks':<{kind_width}}  task"
    console.print(Text(head, style="dim"), soft_wrap=True)
    for case in sorted(cases, key=lambda case: _USES.index(case.use) if case.use in _USES else 0):
        row = (
            f"{_cut(case.id, width):<{width}}  {case.use or '':<8}  {_cut(kinds[case.id], kind_width):<{kind_width}}  "
        )
        asked = textwrap.shorten(case.prompt, max(20, console.width - len(row) - 1), placeholder="…")
        console.print(Text(row + asked), soft_wrap=True)
    found = Counter(case.use for case in cases)
    said = ", ".join(f"{found[use]} {_NAMES[use]}" for use in _USES if found[use])
    console.print(Text(f"{len(cases)} case{'' if len(cases) == 1 else 's'}, all qualified: {said}"), soft_wrap=True)


_NAMES = {"learn": "to learn from", "held-out": "held out", "negative": "negative"}


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
