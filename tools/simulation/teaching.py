"""Whole loops of teaching on a simulated student, through the code of the product.

A scripted teacher answers in JSON, its edits are applied, the drafts are measured on learn cases by the real schedules,
and the best is proven on held-out ones. `benchmarks/teaching_loops.py` makes tables of them.
"""

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tools.simulation.populations import generator
from tools.simulation.student import SimulatedMeasure, Store, make_cases
from upskill.core.models import Question, Reply
from upskill.core.nouns import Case
from upskill.generation.draft import Draft
from upskill.generation.material import Assignment
from upskill.generation.proof import Proof, prove
from upskill.generation.refine import Effort, RefineResult, refine

CASES = (make_cases(10, "learn"), make_cases(32, "held-out"), make_cases(4, "negative"))
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


NULLS: dict[str, Draw] = {name: generator(name).draw for name in ("B55", "half", "het", "skew")}
"""No lift over all the cases that could be drawn: the same rates, or gains and losses that even out."""


def gain(lift: float) -> Draw:
    """A true lift, larger where there is more room."""
    return generator(f"gain{round(100 * lift):02}").draw


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

    refined: RefineResult
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
        """Something good is said of the skill: it helps, on new cases or on these, or it is cheaper."""
        return any(student.verdict in ("helps", "cheaper") for student in self.proof.students)


def draw_rates(rng: random.Random, draw: Draw) -> Rates:
    """Chances for every case; on the negative ones nothing changes, and nearly all of them pass."""
    learn, held_out, negative = CASES
    rates = {case.id: draw(rng) for case in (*learn, *held_out)}
    return rates | {case.id: generator("sat").draw(rng) for case in negative}


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
    refined = refine(DRAFT, cases=learn, measure=measure, assignment=Assignment(ask=teacher), effort=effort)
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
    refined = refine(DRAFT, cases=learn, measure=measure, assignment=Assignment(ask=teacher), effort=effort)
    best = refined.best.draft if refined.best.number > 1 else refined.attempts[-1].draft
    proof = prove(
        best,
        held_out=held_out,
        negative=negative,
        measure=measure,
        against=DRAFT,
        earlier=(False,) * (uses - 1),
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
    best = refine(
        DRAFT, cases=learn, measure=measure, assignment=Assignment(ask=teacher), effort=effort, revisions=revisions
    ).best.draft
    gained = sum(rate("", best, case) - rate("", DRAFT, case) for case in held_out) / len(held_out)
    return gained, measure.trials - 2 * len(learn), len(teacher.questions)


def at_most(loops: int, share: float) -> int:
    """A share of the loops and three standard errors: what chance alone may add."""
    return math.floor(loops * share + 3 * math.sqrt(loops * share * (1 - share)))
