"""Whole loops of teaching on a simulated student: what is claimed of skills that do not help, and of those that do.

    python -m benchmarks.teaching_loops            every table, some minutes; writes benchmarks/results/teaching.md
    python -m benchmarks.teaching_loops --fast     fewer loops, under a minute; writes nothing

Every loop goes through the code of the product: a scripted teacher answers in JSON, its edits are applied, the drafts
are measured on learn cases by the real schedules, and the best is proven on held-out ones (`tools/simulation`).
"""

import argparse
import math
import random
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.simulation.teaching import (
    NULLS,
    Loop,
    at_most,
    gain,
    line_of_uses,
    new_skill_loop,
    revision_loop,
    true_gain,
)
from tools.simulation.wordy import wordy_loop

from upskill.errors import UpskillError
from upskill.generation.refine import Effort

SEED = "1"
PAGE = Path(__file__).parent / "results" / "teaching.md"


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the page."""

    what: str
    cases: str
    loops: int
    found: int
    """Loops in which it happened."""
    least: int | None = None
    most: int | None = None
    trials: float | None = None
    wide: int | None = None
    """Of these, those that spoke of new cases, and not of these very cases."""

    @property
    def holds(self) -> bool:
        """Whether the figure is where it must be."""
        return (self.least is None or self.found >= self.least) and (self.most is None or self.found <= self.most)

    def __str__(self) -> str:
        wanted = f"≤ {self.most}" if self.most is not None else "" if self.least is None else f"≥ {self.least}"
        trials = "" if self.trials is None else f"{self.trials:.0f}"
        mark = "" if self.holds else " **outside**"
        wide = "" if self.wide is None else f" ({self.wide} on new cases)"
        return f"| {self.what} | {self.cases} | {self.loops} | {self.found}{wide}{mark} | {wanted} | {trials} |"


def null_rows(loops: int, seed: str) -> list[Row]:
    """Skills that do not help: how often something good is said of them."""
    rows = []
    most = 18 if loops == 200 else at_most(loops, 0.05)
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/null/{name}")
        done = [new_skill_loop(rng, draw) for _ in range(loops)]
        looked = sum(loop.looks_better for loop in done)
        rows.append(_row("useless new skill: better than none on practice cases", name, done, looked))
        rows.append(_row("the same after the held-out test: called helpful or cheaper", name, done, most=most))
    rng = random.Random(f"{seed}/memorised")
    done = [new_skill_loop(rng, NULLS["half"], memorised=0.15) for _ in range(loops)]
    rows.append(_row("revisions that memorise the practice cases: called helpful", "half", done, most=most))
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/high/{name}")
        done = [new_skill_loop(rng, draw, effort="high") for _ in range(loops // 4)]
        rows.append(
            _row(
                "useless new skill, `--effort high`: called helpful or cheaper",
                name,
                done,
                most=at_most(loops // 4, 0.05),
            )
        )
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/revision/{name}")
        done = [revision_loop(rng, draw) for _ in range(loops)]
        taken = sum(loop.proof.proven for loop in done)
        rows.append(_row("useless revision: replaces the old one", name, done, taken, most=at_most(loops, 0.025)))
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/students/{name}")
        done = [revision_loop(rng, draw, students=("a", "b", "c")) for _ in range(loops // 4)]
        taken = sum(loop.proof.proven for loop in done)
        rows.append(
            _row(
                "useless revision, three models: replaces the old one",
                name,
                done,
                taken,
                most=at_most(loops // 4, 0.025),
            )
        )
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/uses/{name}")
        taken = sum(line_of_uses(rng, draw) is not None for _ in range(loops))
        rows.append(
            Row(
                what="five useless revisions, same held-out cases: any replaces the old one",
                cases=name,
                loops=loops,
                found=taken,
                most=at_most(loops, 0.05),
            )
        )
    return rows


def true_rows(loops: int, seed: str) -> list[Row]:
    """Revisions that are better, and one that is better but for one case."""
    rows = []
    for lift, uses, least in ((0.35, 1, 0.9), (0.20, 1, 0.35), (0.35, 2, 0.75), (0.35, 5, 0.6)):
        rng = random.Random(f"{seed}/gain/{lift}/{uses}")
        done = [revision_loop(rng, gain(lift), uses=uses) for _ in range(loops)]
        nth = {1: "first", 2: "second", 5: "fifth"}[uses]
        taken = sum(loop.proof.proven for loop in done)
        rows.append(
            _row(
                f"revision, truly {100 * lift:+.0f} points, {nth} use: replaces the old one",
                "gain",
                done,
                taken,
                least=math.ceil(least * loops),
            )
        )
    rng = random.Random(f"{seed}/new")
    done = [new_skill_loop(rng, gain(0.35)) for _ in range(loops)]
    rows.append(_row("new skill, truly +35 points: proven", "gain", done, least=math.ceil(0.9 * loops)))
    rng = random.Random(f"{seed}/broken")
    done = [revision_loop(rng, gain(0.45), broken=True) for _ in range(loops)]
    what = "revision, truly +45 points, but one case broken (.95 to 0):"
    shown = sum(loop.proof.students[0].is_shown for loop in done)
    rows.append(_row(f"{what} better overall", "gain", done, shown, least=loops // 2))
    taken = sum(loop.proof.proven for loop in done)
    rows.append(_row(f"{what} replaces the old one", "gain", done, taken, most=at_most(loops, 0.05)))
    return rows


def overflow_row(loops: int, seed: str) -> Row:
    """A teacher that writes too much for students with small windows: loops that leave no draft."""
    lost = 0
    for number in range(loops):
        try:
            loop = wordy_loop(random.Random(f"{seed}/wordy/{number}"))
        except UpskillError:
            lost += 1
        else:
            lost += not loop.refined.best.draft.body.strip()
    what = "wordy teacher, models with windows of 512 to 8,192 tokens: no draft fits"
    return Row(what=what, cases="", loops=loops, found=lost, most=0)


def _row(
    what: str,
    cases: str,
    done: list[Loop],
    found: int | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
) -> Row:
    wide = sum(loop.proof.students[0].claim == "new cases" for loop in done if loop.claims)
    return Row(
        what=what,
        cases=cases,
        loops=len(done),
        found=sum(loop.claims for loop in done) if found is None else found,
        wide=wide if found is None else None,
        least=least,
        most=most,
        trials=sum(loop.trials for loop in done) / len(done),
    )


def effort_lines(loops: int, seed: str) -> list[str]:
    """Revisions one after the other against a search, under the same budget of trials."""
    lines = [
        "| effort | revisions | loops | true lift on held-out cases, points | answers after the draft | questions |",
        "|---|---|---|---|---|---|",
    ]
    designs: tuple[tuple[Effort, int], ...] = (("low", 3), ("high", 3), ("low", 10), ("high", 10))
    for effort, revisions in designs:
        rng = random.Random(f"{seed}/effort")
        done = [true_gain(rng, effort=effort, revisions=revisions) for _ in range(loops)]
        gains = [100 * gained for gained, _, _ in done]
        mean = sum(gains) / loops
        error = math.sqrt(sum((one - mean) ** 2 for one in gains) / (loops - 1) / loops)
        trials, questions = sum(one[1] for one in done) / loops, sum(one[2] for one in done) / loops
        gain_of_them = f"{mean:+.1f} ± {1.96 * error:.1f}"
        lines.append(f"| {effort} | {revisions} | {loops} | {gain_of_them} | {trials:.1f} | {questions:.1f} |")
    return lines


def page(rows: Sequence[Row], efforts: Sequence[str], *, seconds: float) -> str:
    """The page, with every row."""
    nulls = [row for row in rows if row.what.startswith("the same after the held-out test")]
    total = f"{sum(row.found for row in nulls)} of {sum(row.loops for row in nulls)}"
    lines = [
        "<!-- Written by `make full`; do not edit. -->",
        "",
        "# The tables behind teaching",
        "",
        "Complete loops of `upskill generate` on a simulated model: a scripted teacher, up to 3 revisions on 10 "
        "practice cases, one test on 32 held-out cases, the guard with 4 unrelated ones. Only the model's answers are "
        "simulated. [How a skill is proven](../../docs/explanation/how-a-skill-is-made.md) explains the loop; "
        "[the tables behind the statistics](statistics.md) define the populations.",
        "",
        f"Useless new skills called helpful: **{total}** loops. Seed {SEED}, {seconds:.0f} s.",
        "",
        "| what | cases | loops | happened | required | answers a loop |",
        "|---|---|---|---|---|---|",
        *map(str, rows),
        "",
        "A teacher whose edits help, harm or do nothing, a third each at random: the true lift of the draft that was "
        "best on practice cases.",
        "",
        *efforts,
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Run the tables; 1 if a figure is outside."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    options = parser.parse_args()
    started = time.monotonic()
    loops = 40 if options.fast else 200
    rows = [*null_rows(loops, SEED), *true_rows(loops, SEED), overflow_row(loops, SEED)]
    efforts = effort_lines(loops, SEED)
    text = page(rows, efforts, seconds=time.monotonic() - started)
    print(text)
    if not options.fast:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
