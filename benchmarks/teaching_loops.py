"""Whole loops of teaching on a simulated student: what is claimed of skills that do not help, and of those that do.

    python -m benchmarks.teaching_loops            every table, some minutes; writes docs/explanation/teaching-tables.md
    python -m benchmarks.teaching_loops --fast     fewer loops, under a minute; writes nothing

Every loop goes through the code of the product: a scripted teacher answers in JSON, its edits are applied, the drafts
are measured on learn cases by the real courses, and the best is proven on held-out ones.
"""

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.simulated_student import SimulatedMeasure, Store, make_cases
from upskill.domain import Case, Draft
from upskill.models import Question, Reply
from upskill.workflows.proof import Proof
from upskill.workflows.prove import prove
from upskill.workflows.refine import Effort, Refined, refine

SEED = "1"
PAGE = Path(__file__).parent.parent / "docs" / "explanation" / "teaching-tables.md"
CASES = (make_cases(10, "learn"), make_cases(16, "held-out"), make_cases(4, "negative"))
"""As `generate` writes them."""

DRAFT = Draft(
    name="merge-tables",
    description="Merges tables. Use when two tables are to become one.",
    body="# Merging tables\n\n- Read both headers first.\n- Join on the shared column.\n- Keep the left one's order.\n",
)

Rates = Mapping[str, tuple[float, float]]
"""By case, the chance to pass it without the skill, or with the old version, and with what is tested."""
Draw = Callable[[random.Random], tuple[float, float]]
"""Draws the two chances of a case."""


def _same(rate: float) -> tuple[float, float]:
    return rate, rate


NULLS: dict[str, Draw] = {
    "B55": lambda rng: _same(rng.betavariate(0.5, 0.5)),
    "half": lambda rng: (0.5, 0.5),
    "het": lambda rng: (0.25, 0.75) if rng.random() < 0.5 else (0.75, 0.25),
    "skew": lambda rng: (0.40, 0.55) if rng.random() < 0.8 else (0.80, 0.20),
}
"""No lift over all the cases that could be drawn: the same rates, or gains and losses that even out."""


def gain(lift: float) -> Draw:
    """A true lift, larger where there is more room."""

    def draw(rng: random.Random) -> tuple[float, float]:
        base = rng.betavariate(0.5, 0.5)
        return base, base + (1 - base) * 2 * lift

    return draw


class ScriptedTeacher:
    """Always has one more line to insert, and says so in valid JSON. It never knows whether that helps."""

    def __init__(self) -> None:
        self.questions: list[Question] = []

    def __call__(self, questions: Sequence[Question], /) -> tuple[Reply, ...]:
        """One edit per question, never the same twice."""
        replies = []
        for question in questions:
            self.questions.append(question)
            edit = {
                "file": "SKILL.md",
                "action": "insert",
                "quote": "- Read both headers first.",
                "heading": None,
                "text": f"- Rule {len(self.questions)}: look twice.",
                "why": "the student looked once",
            }
            replies.append(Reply(text=json.dumps({"cause": "haste", "edits": [edit]})))
        return tuple(replies)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loop:
    """One whole loop, from a draft to what is claimed of it."""

    refined: Refined
    proof: Proof
    trials: int
    questions: tuple[Question, ...]

    @property
    def looks_better(self) -> bool:
        """What a tool without a gate would report: the best draft passed more learn cases than no skill did."""
        evaluation = self.refined.best.evaluation
        without = None if evaluation is None else evaluation.students[0].arm("baseline")
        return without is not None and self.refined.best.passes > without.passed

    @property
    def claims(self) -> bool:
        """Something good is said of the skill: it helps, on cases like these or on these, or it is cheaper."""
        return any(student.verdict in ("helps", "cheaper") for student in self.proof.students)


def draw_rates(rng: random.Random, draw: Draw) -> Rates:
    """Chances for every case; on the negative ones nothing changes, and nearly all of them pass."""
    learn, held_out, negative = CASES
    rates = {case.id: draw(rng) for case in (*learn, *held_out)}
    return rates | {case.id: _same(rng.betavariate(8, 0.5)) for case in negative}


def new_skill_loop(rng: random.Random, draw: Draw, *, effort: Effort = "low", memorised: float = 0.0) -> Loop:
    """Draft, revise, prove against no skill. With `memorised`, revisions gain on the learn cases, and there only."""
    learn, held_out, negative = CASES
    rates = draw_rates(rng, draw)

    def rate(_: str, draft: Draft | None, case: Case) -> float:
        without, with_skill = rates[case.id]
        if draft is None:
            return without
        gained = memorised * draft.body.count("look twice") if case.id.startswith("learn") else 0.0
        return min(1.0, with_skill + gained)

    measure = SimulatedMeasure(rate, rng)
    teacher = ScriptedTeacher()
    refined = refine(DRAFT, cases=learn, measure=measure, ask=teacher, effort=effort)
    proof = prove(refined.best.draft, held_out=held_out, negative=negative, measure=measure)
    return Loop(refined=refined, proof=proof, trials=measure.trials, questions=tuple(teacher.questions))


def revision_loop(
    rng: random.Random,
    draw: Draw,
    *,
    uses: int = 1,
    broken: bool = False,
    effort: Effort = "low",
    students: tuple[str, ...] = ("student",),
    rates: Rates | None = None,
    store: Store | None = None,
) -> Loop:
    """Revise a skill that exists, and prove the revision against it. `draw` gives the rates of the old and the new one.

    `broken` makes one held-out case fail that always passed. The gate is what is measured here, so a revision goes to
    it even where the old version did as well on the learn cases.
    """
    learn, held_out, negative = CASES
    rates = dict(rates or draw_rates(rng, draw))
    if broken:
        rates[held_out[0].id] = (0.95, 0.0)

    def rate(_: str, draft: Draft | None, case: Case) -> float:
        old, new = rates[case.id]
        return new if draft is not None and "look twice" in draft.body else old

    measure = SimulatedMeasure(rate, rng, students=students, store=store)
    teacher = ScriptedTeacher()
    refined = refine(DRAFT, cases=learn, measure=measure, ask=teacher, effort=effort)
    best = refined.best.draft if refined.best.number > 1 else refined.attempts[-1].draft
    proof = prove(
        best,
        held_out=held_out,
        negative=negative,
        measure=measure,
        against=DRAFT,
        uses=uses,
        students=len(students),
    )
    return Loop(refined=refined, proof=proof, trials=measure.trials, questions=tuple(teacher.questions))


def line_of_uses(rng: random.Random, draw: Draw, *, most: int = 5) -> int | None:
    """Revisions that are no better, one after the other, all on the same held-out cases: at which use one is taken.

    The old version's trials are in the store and are the same at every use, as they would be for a person.
    """
    store: Store = {}
    rates = draw_rates(rng, draw)
    for use in range(1, most + 1):
        # Every revision is a new text: of it, nothing is in the store.
        for key in [key for key in store if key[2] is not None and "look twice" in key[2]]:
            del store[key]
        if revision_loop(rng, draw, uses=use, rates=rates, store=store).proof.proven:
            return use
    return None


def true_gain(rng: random.Random, *, effort: Effort, revisions: int) -> tuple[float, int, int]:
    """A teacher whose edits help, harm or do nothing by chance: what the best draft truly gained on held-out cases.

    Also the trials on learn cases and the questions that it took. A third of the edits help, each on a part of the
    cases, a third do harm. Nobody is told which: the trials must find out.
    """
    learn, held_out, _ = CASES
    base = {case.id: rng.betavariate(0.5, 0.5) for case in (*learn, *held_out)}
    effects: dict[tuple[int, str], float] = {}

    def effect(rule: int, case: Case) -> float:
        if (rule, case.id) not in effects:
            kind = random.Random(f"{seed}/{rule}").choice((0.3, 0.0, -0.2))
            effects[rule, case.id] = kind if random.Random(f"{seed}/{rule}/{case.id}").random() < 0.5 else 0.0
        return effects[rule, case.id]

    def rate(_: str, draft: Draft | None, case: Case) -> float:
        rules = (
            [] if draft is None else [int(line.split()[2][:-1]) for line in draft.body.splitlines() if "Rule" in line]
        )
        return min(1.0, max(0.0, base[case.id] + sum(effect(rule, case) for rule in rules)))

    seed = rng.random()
    measure, teacher = SimulatedMeasure(rate, rng), ScriptedTeacher()
    best = refine(DRAFT, cases=learn, measure=measure, ask=teacher, effort=effort, revisions=revisions).best.draft
    gained = sum(rate("", best, case) - rate("", DRAFT, case) for case in held_out) / len(held_out)
    return gained, measure.trials - 2 * len(learn), len(teacher.questions)


# ---------------------------------------------------------------- the tables


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
    """Of these, those that spoke of cases like these, and not of these very cases."""

    @property
    def holds(self) -> bool:
        """Whether the figure is where it must be."""
        return (self.least is None or self.found >= self.least) and (self.most is None or self.found <= self.most)

    def __str__(self) -> str:
        wanted = (
            f"at most {self.most}" if self.most is not None else "" if self.least is None else f"at least {self.least}"
        )
        trials = "" if self.trials is None else f"{self.trials:.0f}"
        mark = "" if self.holds else " **outside**"
        wide = "" if self.wide is None else f", {self.wide} of them beyond these very cases"
        return f"| {self.what} | {self.cases} | {self.loops} | {self.found}{wide}{mark} | {wanted} | {trials} |"


def at_most(loops: int, share: float) -> int:
    """A share of the loops and three standard errors: what chance alone may add."""
    return math.floor(loops * share + 3 * math.sqrt(loops * share * (1 - share)))


def null_rows(loops: int, seed: str) -> list[Row]:
    """Skills that do not help: how often something good is said of them."""
    rows = []
    most = 18 if loops == 200 else at_most(loops, 0.05)
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/null/{name}")
        done = [new_skill_loop(rng, draw) for _ in range(loops)]
        looked = sum(loop.looks_better for loop in done)
        rows.append(_row("a new skill that does not help: passes more learn cases than no skill", name, done, looked))
        rows.append(_row("the same, after the held-out test: called helpful or cheaper", name, done, most=most))
    rng = random.Random(f"{seed}/memorised")
    done = [new_skill_loop(rng, NULLS["half"], memorised=0.15) for _ in range(loops)]
    rows.append(_row("revisions that learn the learn cases by heart: called helpful", "half", done, most=most))
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/high/{name}")
        done = [new_skill_loop(rng, draw, effort="high") for _ in range(loops // 4)]
        rows.append(
            _row(
                "a new skill that does not help, `--effort high`: called helpful or cheaper",
                name,
                done,
                most=at_most(loops // 4, 0.05),
            )
        )
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/revision/{name}")
        done = [revision_loop(rng, draw) for _ in range(loops)]
        taken = sum(loop.proof.proven for loop in done)
        rows.append(
            _row(
                "a revision that is no better: replaces the old version", name, done, taken, most=at_most(loops, 0.025)
            )
        )
    for name, draw in NULLS.items():
        rng = random.Random(f"{seed}/students/{name}")
        done = [revision_loop(rng, draw, students=("a", "b", "c")) for _ in range(loops // 4)]
        taken = sum(loop.proof.proven for loop in done)
        rows.append(
            _row(
                "a revision that is no better, three students: replaces the old version",
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
                what="five revisions in a row that are no better, same held-out cases: any replaces the old version",
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
                f"a revision that is {100 * lift:+.0f} points better, {nth} use: replaces the old version",
                "gain",
                done,
                taken,
                least=math.ceil(least * loops),
            )
        )
    rng = random.Random(f"{seed}/new")
    done = [new_skill_loop(rng, gain(0.35)) for _ in range(loops)]
    rows.append(
        _row("a new skill that is +35 points better than none: proven", "gain", done, least=math.ceil(0.9 * loops))
    )
    rng = random.Random(f"{seed}/broken")
    done = [revision_loop(rng, gain(0.45), broken=True) for _ in range(loops)]
    what = "a revision that is +45 points better and breaks one case (.95 to 0):"
    superior = sum(loop.proof.students[0].superior for loop in done)
    rows.append(_row(f"{what} better on the whole", "gain", done, superior, least=loops // 2))
    taken = sum(loop.proof.proven for loop in done)
    rows.append(_row(f"{what} replaces the old version", "gain", done, taken, most=at_most(loops, 0.05)))
    return rows


def _row(
    what: str,
    cases: str,
    done: list[Loop],
    found: int | None = None,
    *,
    least: int | None = None,
    most: int | None = None,
) -> Row:
    wide = sum(loop.proof.students[0].claim == "cases like these" for loop in done if loop.claims)
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
        "| effort | revisions | loops | true gain on held-out cases, points | trials after the draft | questions |",
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
    nulls = [row for row in rows if row.what.startswith("the same, after the held-out test")]
    total = f"{sum(row.found for row in nulls)} of {sum(row.loops for row in nulls)}"
    lines = [
        "<!-- Written by `make full`; do not edit. -->",
        "",
        "# Tables of teaching",
        "",
        "Whole loops on a simulated student: a scripted teacher, up to 3 revisions on 10 learn cases, one test on 16 "
        "held-out cases, the guard with 4 negative ones. Everything but the student's answers is the code of the "
        "product. What the tables mean is in [how a skill is proven](how-a-skill-is-proven.md); where simulated cases "
        "come from is in [the tables behind the statistics](statistics-tables.md).",
        "",
        f"Skills that do not help, called helpful: **{total}** loops. Seed {SEED}, {seconds:.0f} s.",
        "",
        "| what | cases | loops | happened | wanted | trials a loop |",
        "|---|---|---|---|---|---|",
        *map(str, rows),
        "",
        "A teacher whose edits help, harm or do nothing by chance, a third each: what the best on learn cases gained.",
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
    rows = [*null_rows(loops, SEED), *true_rows(loops, SEED)]
    efforts = effort_lines(loops, SEED)
    text = page(rows, efforts, seconds=time.monotonic() - started)
    print(text)
    if not options.fast:
        PAGE.write_text(text, encoding="utf-8")
    return 0 if all(row.holds for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
