"""What the skill changed for one case and one model, and in which order people should see it. Arithmetic only."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args

from upskill.domain.text import count

Change = Literal["hurt", "helped", "differs", "mixed", "failed", "passed", "errored"]
"""In the order of the page. Differs: hurt or helped, of a model without a verdict, where that shows nothing. Mixed:
repeats differ, and as many passed as before. Failed and passed: every time, with the skill or without it. Errored: no
repeat was scored on both sides."""
CHANGES: tuple[Change, ...] = get_args(Change)
PASSED, FAILED, ERRORED = 1, 0, 2
"""How a trial ended."""
Ends = Mapping[int, Mapping[int, int]]
"""By arm and repeat: how each trial that counts ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedRow:
    """One case and one model."""

    student: int
    case: int
    change: Change
    difference: float
    """The pass rate after minus the pass rate before, over the repeats scored on both sides."""
    repeat: int
    """The repeat that shows it best."""


def changed_row(student: int, case: int, ends: Ends, compared: tuple[int, int] | None) -> ChangedRow:
    """Compare the repeats that were scored on both sides; without a comparison, only how they ended."""
    before, after = compared or (next(iter(ends), 0),) * 2
    first, second = ends.get(before, {}), ends.get(after, {})
    pairs = {
        repeat: (first[repeat], second[repeat])
        for repeat in sorted(first)
        if repeat in second and ERRORED not in (first[repeat], second[repeat])
    }
    if not pairs:
        repeats = [repeat for mine in ends.values() for repeat in mine]
        return ChangedRow(student=student, case=case, change="errored", difference=0.0, repeat=min(repeats, default=1))
    difference = sum(end - start for start, end in pairs.values()) / len(pairs)
    change = _change(difference, list(pairs.values()))
    telling = {"hurt": (PASSED, FAILED), "helped": (FAILED, PASSED)}.get(change)
    repeat = next((repeat for repeat, pair in pairs.items() if pair == telling), next(iter(pairs)))
    return ChangedRow(student=student, case=case, change=change, difference=difference, repeat=repeat)


def _change(difference: float, pairs: Sequence[tuple[int, int]]) -> Change:
    if difference:
        return "helped" if difference > 0 else "hurt"
    ends = {end for pair in pairs for end in pair}
    return "mixed" if len(ends) > 1 else "passed" if ends == {PASSED} else "failed"


def without_verdict(row: ChangedRow) -> ChangedRow:
    """The row of a model whose answers do not show what the skill does: it says only that the two sides differ."""
    return replace(row, change="differs") if row.difference else row


def in_order(rows: Iterable[ChangedRow]) -> list[ChangedRow]:
    """Hurt and helped first, the largest difference first among them; then the rest, cases in their own order."""
    return sorted(rows, key=lambda row: (CHANGES.index(row.change), -abs(row.difference), row.case, row.student))


def counted(rows: Sequence[ChangedRow], *, compared: bool, better: str = "helped", worse: str = "hurt") -> str:
    """`Helped 8, hurt 1, same 3`: how many of the rows are of each kind."""
    number = {change: sum(row.change == change for row in rows) for change in CHANGES}
    same = number["mixed"] + number["failed"] + number["passed"]
    judged = [f"{better} {number['helped']:,}", f"{worse} {number['hurt']:,}"]
    if number["differs"]:
        differ = f"{number['differs']:,} differ (no verdict)"
        judged = [differ] if not (number["helped"] or number["hurt"]) else [*judged, differ]
    said = (
        [*judged, f"same {same:,}"]
        if compared
        else [f"passed {number['passed']:,}", f"failed {number['failed']:,}", f"mixed {number['mixed']:,}"]
    )
    said += [f"errored {number['errored']:,}"] if number["errored"] else []
    said_all = ", ".join(said)
    return said_all[:1].upper() + said_all[1:]


def scope(cases: int, models: int) -> str:
    """Of what those are."""
    return count(cases, "case") + (f" × {count(models, 'model')}" if models > 1 else "")
