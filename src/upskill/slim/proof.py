"""The proof of a slim text: non-inferior to the full one within a margin, on new cases like the held-out ones.

A look after every half round, at the interval that verdicts use: losses that no case showed widen it. Answers of the
full text come from the store where the server describes what it serves.
"""

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from upskill.core.models import MeteredClient
from upskill.core.nouns import Skill
from upskill.core.progress import CountedAnswers, Progress
from upskill.core.runs.run_folders import RunFolder
from upskill.core.statistics import FEWEST_CASES, Level
from upskill.core.statistics.intervals import difference_on_new_cases, unit_of
from upskill.core.trials.measure import stored_trials
from upskill.evaluation.evaluate import ask_with_skill
from upskill.evaluation.prepare import PreparedEvaluation
from upskill.report.wording import names_by_model

MARGIN = 0.10
ROUNDS = 6
STORED_ROUNDS = 5
"""Answers of the full text that are taken from the store for each case, where it has them."""
_LOOKS = 5
"""The looks after half rounds resemble each other: together they are worth as many."""
ERROR = 0.05
"""One-sided, all looks together: each look asks for a t of about 2.3."""
Passes = dict[str, list[bool]]
"""By case: whether each answer passed."""


class Stopped(Exception):
    """No answers come any more: a cap, or a server that is down."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """The slim text against the full one, for one model."""

    model: str
    verdict: Literal["non-inferior", "inferior", "undecided"]
    difference: float
    """The pass rate of the slim text minus that of the full one."""
    interval: tuple[float, float]
    cases: int
    answers: int
    """Of the slim text."""


def short_name(model: str) -> str:
    """The model as people read it, also where a script answers."""
    return names_by_model([model])[model]


def prove(
    part: PreparedEvaluation,
    shorter: Skill,
    folder: RunFolder,
    client: MeteredClient,
    progress: Progress,
    *,
    earlier: int = 0,
) -> Proof:
    """Ask until the proof is decided, or all rounds were asked. Raises `Stopped` where no answers come.

    `earlier` proofs on the same cases have spent a part of the error.
    """
    plan = part.experiment.plan
    (student,) = plan.students
    counted = CountedAnswers(progress, 2 * ROUNDS * len(plan.cases), what=f"proving with {short_name(student.name)}")
    stored: list[tuple[str, int]] = []
    if part.experiment.served[student.name].is_known:
        wide = replace(part.experiment, plan=replace(plan, repeats=STORED_ROUNDS, design="fixed"))
        since = datetime.now(UTC) - timedelta(days=part.settings.store_days)
        known = stored_trials(wide, part.settings, student, newest_after=since)
        stored = [(trial.case_id, trial.repeat) for trial in known]
    else:
        # A model that changed behind its name would look like a text that lost something.
        part = replace(part, settings=replace(part.settings, store=False))

    def ask(turns: Sequence[tuple[str, int]], into: Passes, texts: Mapping[str, Skill]) -> int:
        trials = ask_with_skill(part, turns, folder, client=client, texts=texts, progress=counted) if turns else []
        for trial in trials:
            into[trial.case_id].append(trial.passed)
        return len(trials)

    slim: Passes = defaultdict(list)
    full: Passes = defaultdict(list)
    ask(stored, full, {})
    families = {case.id: case.family for case in plan.cases}
    proof = None
    for look, some in enumerate(half_rounds(list(families), seed=plan.seed)):
        turns = [(case_id, look // 2 + 1) for case_id in some]
        new = [turn for turn in turns if turn not in stored]
        if not ask(turns, slim, dict.fromkeys(families, shorter)) + ask(new, full, {}):
            raise Stopped
        proof = judge_proof(slim, full, families, model=student.name, earlier=earlier)
        if proof is not None and proof.verdict != "undecided":
            return proof
    if proof is None:
        raise Stopped
    return proof


def half_rounds(case_ids: Sequence[str], *, seed: int) -> Iterator[list[str]]:
    """Halves of the cases; every case is once in each round, which has an order of its own."""
    for number in range(1, ROUNDS + 1):
        order = list(case_ids)
        random.Random(f"{seed}/{number}").shuffle(order)
        yield order[: len(order) // 2]
        yield order[len(order) // 2 :]


def judge_proof(
    slim: Passes, full: Passes, families: Mapping[str, str | None], *, model: str, earlier: int = 0
) -> Proof | None:
    """What a look says, with cases of one family as one; `None` with too few of them."""
    units: dict[tuple[str, str], list[float]] = defaultdict(list)
    both = [case_id for case_id, answers in slim.items() if answers and full.get(case_id)]
    for case_id in both:
        rates = [sum(side[case_id]) / len(side[case_id]) for side in (slim, full)]
        units[unit_of(case_id, families[case_id])].append(rates[0] - rates[1])
    if len(units) < FEWEST_CASES:
        return None
    answers = sum(len(slim[case_id]) for case_id in both)
    level = Level(error=ERROR / (1 + earlier), looks=_LOOKS)
    rates = [sum(some) / len(some) for some in units.values()]
    mean, lies = difference_on_new_cases(rates, answers=answers, level=level)
    better, worse = lies.low > -MARGIN, lies.high < -MARGIN
    return Proof(
        model=model,
        verdict="non-inferior" if better else "inferior" if worse else "undecided",
        difference=mean,
        interval=(lies.low, lies.high),
        cases=len(both),
        answers=answers,
    )
