"""Writes what was measured into `gallery/README.md`, from the runs in `gallery/measured`.

python -m tools.gallery_page            write it
python -m tools.gallery_page --check    exit code 1 if the page says otherwise
"""

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tools.gallery import GALLERY, read_part, write_part

PAGE = GALLERY / "README.md"
RUNS = GALLERY / "measured"


def measured() -> str:
    """A row for each run: rates, lift with its interval for new cases, what the passage alone reaches, the verdict."""
    lines = [
        "| skill | cases | without the skill | with it | passage alone | lift in points, 95% CI | verdict |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, result in _results():
        (student,) = result["students"]
        lift = next(one for one in student["lifts"] if one["arm"] == "with_skill")
        low, high = lift["cases_like_these"] or lift["these_cases"]
        rates = {arm: f"{100 * found['pass_rate']:.0f}%" for arm, found in student["arms"].items()}
        lines.append(
            f"| {name} | {lift['cases']} | {rates['baseline']} | {rates['with_skill']} | {rates.get('ceiling', '')} "
            f"| {_points(lift['mean'])} ({_points(low)} to {_points(high)}) | {student['verdict']} |"
        )
    for path in sorted(GALLERY.glob("*/evidence.json")):
        if not (RUNS / path.parent.name).is_dir():  # its run was not kept
            (found,) = json.loads(path.read_text(encoding="utf-8"))["results"]
            low, high = found["cases_like_these"]
            lines.append(
                f"| {path.parent.name} | {len(found['cases'])} | {100 * found['rate_against']:.0f}% "
                f"| {100 * found['rate']:.0f}% |  "
                f"| {_points(found['lift'])} ({_points(low)} to {_points(high)}) | {found['verdict']} |"
            )
    return "\n".join([*lines[:2], *sorted(lines[2:])])


def _results() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(RUNS.glob("*/*/run.json")):
        yield path.parent.parent.name, json.loads(path.read_text(encoding="utf-8"))["results"]


def _points(share: float) -> str:
    return f"{100 * share:+.0f}".replace("-", "−")


def main(words: Sequence[str] | None = None, *, page: Path = PAGE) -> int:
    """Write, or check."""
    parser = argparse.ArgumentParser(prog="python -m tools.gallery_page")
    parser.add_argument("--check", action="store_true")
    flags = parser.parse_args(words)
    if not flags.check:
        write_part(page, "measured", measured())
        return 0
    if read_part(page, "measured").strip() == measured().strip():
        return 0
    print("gallery/README.md does not say what the runs in gallery/measured say: run `python -m tools.gallery_page`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
