"""Writes the table of the runs in `gallery/measured` into `gallery/README.md`: `python -m tools.gallery_page`."""

import json
from typing import Any

from tools.gallery import GALLERY
from tools.page_parts import with_part

PAGE = GALLERY / "README.md"
MEASURED = "<!-- Written by `python -m tools.gallery_page`; do not edit. -->"
RUNS = GALLERY / "measured"


def page() -> str:
    """The page, with a row for each run."""
    lines = [
        "| skill | cases | without the skill | with it | passage alone | lift in points | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for path in sorted(RUNS.glob("*/*/run.json")):
        lines.append(_row(path.parent.parent.name, json.loads(path.read_text(encoding="utf-8"))["results"]))
    return with_part(PAGE.read_text(encoding="utf-8"), MEASURED, "\n".join(lines))


def _row(skill: str, result: dict[str, Any]) -> str:
    """Pass rates, the lift with its interval for new cases, what the passage alone reaches, and the verdict."""
    (student,) = result["students"]
    lift = next(one for one in student["lifts"] if one["arm"] == "with_skill")
    low, high = lift["cases_like_these"]
    rates = {arm: f"{100 * found['pass_rate']:.0f}%" for arm, found in student["arms"].items()}
    return (
        f"| {skill} | {lift['cases']} | {rates['baseline']} | {rates['with_skill']} | {rates['ceiling']} "
        f"| {_points(lift['mean'])} ({100 * lift['confidence']:g}% CI {_points(low)} to {_points(high)}) "
        f"| {student['verdict']} |"
    )


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "−")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
