"""The looks at a skill, as rows for people and for programs."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from upskill.domain.case import Json
from upskill.domain.look import Look
from upskill.reporting import wording
from upskill.reporting.listings import show_rows

if TYPE_CHECKING:
    from rich.console import Console

COLUMNS = ("when", "model", "skill", "version", "cases", "level", "verdict", "lift")


def look_rows(looks: Iterable[Look]) -> list[dict[str, Json]]:
    """Oldest first. `cases_added` and `cases_removed` count from the look before at the same model."""
    before: dict[str, frozenset[str]] = {}
    rows: list[dict[str, Json]] = []
    for look in looks:
        earlier = before.get(look.student_key, look.keys)
        before[look.student_key] = look.keys
        lifts = look.report.get("lifts") or [{}]
        rows.append(
            {
                "at": look.at,
                "run": look.run,
                "model": look.student,
                "student_key": look.student_key,
                "skill": look.skill,
                "digest": look.version,
                "against": look.against,
                "design": look.design,
                "repeats": look.repeats,
                "cases": len(look.cases),
                "cases_added": len(look.keys - earlier),
                "cases_removed": len(earlier - look.keys),
                "pairs": sum(len(case.pairs) for case in look.cases),
                "lost": {"with_skill": look.lost, "against": look.lost_against},
                "level": look.level,
                "verdict": look.verdict,
                "claim": look.claim,
                "sentence": look.sentence,
                "end": look.end,
                "lift": lifts[0].get("mean"),
            }
        )
    return rows


def show_looks(looks: Sequence[Look], console: "Console") -> None:
    """A line per look."""
    show_rows([_row(row) for row in look_rows(looks)], COLUMNS, console, folded=("model", "skill", "verdict"))


def _row(row: dict[str, Json]) -> dict[str, object]:
    changed = [f"{sign}{row[name]}" for sign, name in (("+", "cases_added"), ("-", "cases_removed")) if row[name]]
    level, lift = row["level"], row["lift"]
    narrow = " (on these cases)" if row["claim"] == "these cases" else ""
    return {
        "when": str(row["at"])[:16].replace("T", " "),
        "model": row["model"],
        "skill": row["skill"],
        "version": str(row["digest"])[:12],
        "cases": str(row["cases"]) + (f" ({', '.join(changed)})" if changed else ""),
        "level": f"{level * 100:.2g}%" if isinstance(level, float) else "",
        "verdict": f"{row['verdict']}{narrow}",
        "lift": wording.points(lift) if isinstance(lift, int | float) else "-",
    }
