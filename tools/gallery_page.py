"""Writes the table of the runs in `gallery/measured` into `gallery/README.md`: `python -m tools.gallery_page`."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from tools.gallery import GALLERY, KNOWLEDGE
from tools.page_parts import with_part

PAGE = GALLERY / "README.md"
MEASURED = "<!-- Written by `python -m tools.gallery_page`; do not edit. -->"
CONTROLLED = "<!-- Controls, written by `python -m tools.gallery_page`; do not edit. -->"
RUNS = GALLERY / "measured"
WITH_CONTROLS = GALLERY / "controls"
MODELS = {
    "smollm2": "SmolLM2 135M",
    "qwen2.5-coder-0.5b": "Qwen2.5-Coder 0.5B",
    "qwen2.5-coder-1.5b": "Qwen2.5-Coder 1.5B",
}
"""From the smallest to the largest."""
WITH_TOOLS = ", with tools"
"""Behind the level of a run in which the model had some."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """The result of one kept run."""

    skill: str
    model: str
    level: str
    cases: int
    rates: Mapping[str, float]
    arm: str
    """The one that the verdict is about."""
    lift: float
    low: float
    high: float
    confidence: float
    verdict: str
    minutes: float

    @property
    def before(self) -> float:
        """The pass rate without the skill."""
        return self.rates["baseline"]

    @property
    def after(self) -> float:
        """The pass rate with the skill, as it reaches the model in this harness."""
        return self.rates[self.arm]

    @property
    def words(self) -> str:
        """The lift and its interval for new cases."""
        ends = f"{_points(self.low)} to {_points(self.high)}"
        return f"{_points(self.lift)} ({100 * self.confidence:g}% CI {ends})"


def found() -> list[Found]:
    """The result of each run that is kept: by level, skill and size of the model."""
    runs = [_found(path.parent.parent.name, json.loads(path.read_text("utf-8"))) for path in RUNS.glob("*/*/run.json")]
    return sorted(runs, key=lambda run: (run.level == KNOWLEDGE, run.skill, run.level, list(MODELS).index(run.model)))


def _found(skill: str, record: dict[str, Any]) -> Found:
    (student,) = record["results"]["students"]
    lift = student["lifts"][0]
    low, high = lift["interval"]
    began, ended = (datetime.fromisoformat(record[name]) for name in ("started_at", "finished_at"))
    return Found(
        skill=skill,
        model=student["model"],
        level=_level(Path(record["case_source"]).stem, student["harness"]),
        cases=lift["cases"],
        rates={arm: one["pass_rate"] for arm, one in student["arms"].items()},
        arm=lift["arm"],
        lift=lift["mean"],
        low=low,
        high=high,
        confidence=lift["confidence"],
        verdict="no verdict" if student["verdict"] == "invalid" else student["verdict"],
        minutes=(ended - began).total_seconds() / 60,
    )


def _level(cases: str, harness: str) -> str:
    """The level of a case file, and whether the model had tools."""
    level = KNOWLEDGE if cases not in {"executable", "artifact"} else cases
    return level if harness == "chat" else f"{level}{WITH_TOOLS}"


def page() -> str:
    """The page, with a row for each run, and one for each run with controls."""
    lines = [
        "| skill | model | cases | without the skill | with it | passage alone | lift in points | verdict | minutes |",
        "|---|---|---|---|---|---|---|---|---|",
        *map(_row, found()),
    ]
    with_runs = with_part(PAGE.read_text(encoding="utf-8"), MEASURED, "\n".join(lines))
    return with_part(with_runs, CONTROLLED, "\n".join(_controls()))


def _controls() -> Iterator[str]:
    heads = (
        "skill",
        "model",
        "placebo − without",
        "skill − placebo",
        "skill − corrupted",
        "fail corrupted",
        "still pass",
    )
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"
    for path in sorted(WITH_CONTROLS.glob("*/*/run.json")):
        record = json.loads(path.read_text("utf-8"))
        (student,) = record["results"]["students"]
        (placebo,) = (lift for lift in student["lifts"] if lift["arm"] == "placebo")
        controls = student["controls"]
        over = [_lift(lift) for lift in (placebo, controls["over_placebo"], controls["over_corrupted"])]
        still = controls["shows_nothing"]
        named = f": {', '.join(still)}" if still else ""
        level = _level(Path(record["case_source"]).stem, student["harness"])
        skill = path.parent.parent.name if level == KNOWLEDGE else f"{path.parent.parent.name}, {level}"
        yield (
            f"| {skill} | {MODELS[student['model']]} | {' | '.join(over)} "
            f"| {controls['noticed']} of {controls['passing']} | {len(still)} of {controls['tested']}{named} |"
        )


def _lift(lift: Mapping[str, Any] | None) -> str:
    if lift is None:
        return "–"
    low, high = map(_points, lift["interval"])
    return f"{_points(lift['mean'])} ({100 * lift['confidence']:g}% CI {low} to {high})"


def _row(run: Found) -> str:
    skill = run.skill if run.level == KNOWLEDGE else f"{run.skill}, {run.level}"
    passage = f"{100 * run.rates['ceiling']:.0f}%" if "ceiling" in run.rates else "–"
    return (
        f"| {skill} | {MODELS[run.model]} | {run.cases} | {100 * run.before:.0f}% | {100 * run.after:.0f}% | {passage} "
        f"| {run.words} | {run.verdict} | {run.minutes:.0f} |"
    )


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "−")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
