"""Slimming, simulated: the command's own search, subjects and proof on answers of students whose rates are known.

    python -m benchmarks.slim_lines            60 skills of each kind, fifteen minutes; writes benchmarks/results/
    python -m benchmarks.slim_lines --fast     8 of each; prints only

The exit code is 1 if a figure is beyond its limit.
"""

import argparse
import math
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import Pool
from pathlib import Path

from upskill.core.nouns import Case, Check
from upskill.slim.proof import Passes, half_rounds, judge_proof
from upskill.slim.search import CaseSearch, find_lines, weigh_together
from upskill.slim.units import Document, subjects_of

PAGE = Path(__file__).parent / "results" / "slim.md"
LINES, NEEDED, CASES, HELD_OUT = 40, 12, 40, 40
MOST_CALLS, MOST_LOST, MOST_KEPT, MOST_FALSE = 600, 0.5, 3.0, 6.0
"""Limits at .9/.1; the last is in percent: 5, and two standard errors of the simulated proofs."""
FULL, FAST = 60, 8
PROOFS = 2_000
STORED = 5
ALWAYS = 0.99
NONE, PAIR = 0.1, 0.2
"""How many cases need no line, or two. The others need one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """A student, and what practice cases cover."""

    name: str
    passes: float
    without: float
    covered: int = NEEDED
    """Needed lines that practice cases exercise."""
    shared: bool = False
    """Whether the other needed lines name the subjects of those: practice cases on them do without."""


KINDS = (
    Kind(name=".9/.1", passes=0.9, without=0.1),
    Kind(name=".8/.3", passes=0.8, without=0.3),
    Kind(name=".95/.02", passes=0.95, without=0.02),
    Kind(name=".9/.1, half of the needed lines covered", passes=0.9, without=0.1, covered=NEEDED // 2),
    Kind(name=".9/.1, half covered, subjects shared", passes=0.9, without=0.1, covered=NEEDED // 2, shared=True),
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Slimmed:
    """What came of one skill."""

    calls: int
    lost: int
    kept: int
    untested: int
    proof_calls: int
    verdict: str


class World:
    """A skill of 40 lines on 12 topics, and cases that need some of them."""

    def __init__(self, kind: Kind, seed: int) -> None:
        self.kind, self.drawn = kind, random.Random(f"{kind.name}/{seed}")
        places = self.drawn.sample(range(LINES), LINES)
        self.needed = places[:NEEDED]
        topics = {place: number % NEEDED for number, place in enumerate(places)}
        if kind.shared:
            topics |= {place: number % kind.covered for number, place in enumerate(places)}
        lines = [f"- With `subject{topics[place]}` mind detail{place} of it.\n" for place in range(LINES)]
        self.document = Document("".join(lines))
        assert len(self.document.cuttable) == LINES
        self.topic_of = topics
        self.practice = list(self._cases("practice", CASES, kind.covered))
        self.held_out = list(self._cases("held-out", HELD_OUT, NEEDED))

    def _cases(self, use: str, number: int, covered: int) -> Iterator[tuple[Case, int]]:
        for place in range(number):
            own = [place % covered]
            draw = self.drawn.random()
            if draw < PAIR:
                own.append(self.drawn.choice([one for one in range(covered) if one not in own]))
            named = " and ".join(f"subject{self.topic_of[self.needed[one]]}" for one in own)
            needs = 0 if draw > 1 - NONE else sum(1 << self.needed[one] for one in own)
            check = Check(kind="contains", spec=f"answer{place}")
            yield Case(id=f"{use}-{place}", prompt=f"What holds for {named}?", checks=(check,)), needs

    def rate(self, needs: int, version: int) -> float:
        return self.kind.passes if needs & ~version == 0 else self.kind.without

    def answer(self, needs: int, version: int) -> bool:
        return self.drawn.random() < self.rate(needs, version)


def slim(kind: Kind, seed: int) -> Slimmed:
    """Search, cut and prove one skill."""
    world = World(kind, seed)
    needs = {case.id: lines for case, lines in world.practice}
    units = [world.document.units[number] for number in world.document.cuttable]
    searches = [CaseSearch(case_id, LINES) for case_id in needs]
    while open_ := weigh_together(searches):
        for search in open_:
            version = search.next_version()
            search.add(version, world.answer(needs[search.case_id], version))
    lines = find_lines(searches, subjects_of([case for case, _ in world.practice], units))
    stays = [line.is_needed or not line.tested_by for line in lines]
    version = sum(1 << place for place, kept in enumerate(stays) if kept)
    verdict, proof_calls = prove(world, version)
    return Slimmed(
        calls=sum(len(search.asked) for search in searches),
        lost=sum(not stays[place] for place in world.needed),
        kept=sum(kept for place, kept in enumerate(stays) if place not in world.needed),
        untested=sum(not line.is_needed and not line.tested_by for line in lines),
        proof_calls=proof_calls,
        verdict=verdict,
    )


def prove(world: World, version: int) -> tuple[str, int]:
    """The verdict on held-out cases, with stored answers of the full skill, and the calls it took."""
    everything = (1 << LINES) - 1
    full: Passes = {case.id: [world.answer(lines, everything) for _ in range(STORED)] for case, lines in world.held_out}
    return judged(full, {case.id: world.rate(lines, version) for case, lines in world.held_out}, world.drawn)


def judged(full: Passes, rates: Mapping[str, float], drawn: random.Random) -> tuple[str, int]:
    """The verdict on a text that passes at these rates, and its answers."""
    slim_: Passes = {case_id: [] for case_id in full}
    calls = 0
    verdict = "undecided"
    for some in half_rounds(list(full), seed=0):
        for case_id in some:
            slim_[case_id].append(drawn.random() < rates[case_id])
        calls += len(some)
        proof = judge_proof(slim_, full, dict.fromkeys(full), model="m")
        verdict = "undecided" if proof is None else proof.verdict
        if verdict != "undecided":
            break
    return verdict, calls


def proofs(loss: float, *, number: int) -> float:
    """In how many percent of proofs a text is accepted that loses so much in the mean: all in a fifth of the cases."""
    accepted = 0
    for seed in range(number):
        drawn = random.Random(f"{loss}/{seed}")
        rates = {f"c{place}": 0.9 - (5 * loss if drawn.random() < 1 / 5 else 0) for place in range(HELD_OUT)}
        full: Passes = {case_id: [drawn.random() < 0.9 for _ in range(STORED)] for case_id in rates}
        accepted += judged(full, rates, drawn)[0] == "non-inferior"
    return 100 * accepted / number


def proofs_all_or_nothing(cases: int, *, number: int) -> float:
    """In how many percent of proofs a text is accepted with which a tenth of the cases fails always."""
    accepted = 0
    for seed in range(number):
        drawn = random.Random(f"all or nothing/{cases}/{seed}")
        rates = {f"c{place}": 0.0 if drawn.random() < 1 / 10 else ALWAYS for place in range(cases)}
        full: Passes = {case_id: [drawn.random() < ALWAYS for _ in range(STORED)] for case_id in rates}
        accepted += judged(full, rates, drawn)[0] == "non-inferior"
    return 100 * accepted / number


def _run(job: tuple[int, int]) -> Slimmed:
    return slim(KINDS[job[0]], job[1])


def _row(kind: Kind, found: Sequence[Slimmed]) -> str:
    def mean(name: str) -> float:
        return math.fsum(getattr(one, name) for one in found) / len(found)

    verdicts = [f"{100 * sum(one.verdict == verdict for one in found) / len(found):.0f}" for verdict in VERDICTS]
    figures = [f"{mean('calls'):.0f}", *(f"{mean(name):.2f}" for name in ("lost", "kept", "untested"))]
    return f"| {' | '.join([kind.name, *figures, *verdicts, f'{mean(PROOF_CALLS):.0f}'])} |"


PROOF_CALLS = "proof_calls"
VERDICTS = ("non-inferior", "inferior", "undecided")
HEAD = """# Slimming a skill, simulated

Written by `python -m benchmarks.slim_lines`; do not edit. {skills} skills of each kind, seeds from 0. A skill has
{lines} lines on {needed} subjects, of which {needed} are needed; each of the {cases} practice cases and {held} held-out
cases needs one line, a tenth none, a fifth two. A student passes at the first rate with all lines that a case needs, at
the second without one of them. The search, the subjects and the proof are those of `upskill slim`; the proof has
{stored} stored answers of the full skill for each held-out case.

Limits at .9/.1: {most_calls} calls, {most_lost} needed lines lost, {most_kept:.0f} useless lines kept. Lines on
subjects of no practice case are untested, and stay. "Subjects shared": the needed lines that no practice case exercises
name the same things as lines that some do, so they are taken for tested, and cut; then only the proof stands between
the skill and the loss.

| student | calls | needed lost | useless kept | untested | % non-inferior | % inferior | % undecided | proof calls |
|---|---|---|---|---|---|---|---|---|
"""


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--fast", action="store_true")
    fast = parser.parse_args().fast
    skills = FAST if fast else FULL
    jobs = [(kind, seed) for kind in range(len(KINDS)) for seed in range(skills)]
    with Pool(2) as pool:
        found = pool.map(_run, jobs, chunksize=2)
    by_kind = [
        [one for (place, _), one in zip(jobs, found, strict=True) if place == kind] for kind in range(len(KINDS))
    ]
    accepted = {loss: proofs(loss, number=PROOFS // (10 if fast else 1)) for loss in (0.0, 0.05, 0.10, 0.15)}
    text = HEAD.format(
        skills=skills,
        lines=LINES,
        needed=NEEDED,
        cases=CASES,
        held=HELD_OUT,
        stored=STORED,
        most_calls=MOST_CALLS,
        most_lost=MOST_LOST,
        most_kept=MOST_KEPT,
    )
    text += "".join(f"{_row(kind, some)}\n" for kind, some in zip(KINDS, by_kind, strict=True))
    text += (
        f"\nA text that loses so many points on {HELD_OUT} held-out cases, all in a fifth of them, is accepted in so\n"
        f"many percent of {PROOFS:,} proofs; limit at 10 points: {MOST_FALSE:.0f}.\n\n| points lost | % accepted |\n"
        "|---|---|\n"
    )
    text += "".join(f"| {100 * loss:.0f} | {share:.1f} |\n" for loss, share in accepted.items())
    sizes = {cases: proofs_all_or_nothing(cases, number=PROOFS // (10 if fast else 1)) for cases in (30, 40, 60)}
    text += (
        f"\nA text with which a tenth of the cases fails always, while the others pass at {ALWAYS}: accepted in so\n"
        f"many percent of {PROOFS:,} proofs; limit: {MOST_FALSE:.0f}.\n\n| held-out cases | % accepted |\n|---|---|\n"
    )
    text += "".join(f"| {cases} | {share:.1f} |\n" for cases, share in sizes.items())
    print(text)
    if not fast:
        PAGE.write_text(text, encoding="utf-8")
    first = by_kind[0]
    missed = [
        f"{name}: {figure:.2f}, limit {limit}"
        for name, figure, limit in (
            ("calls", sum(one.calls for one in first) / skills, MOST_CALLS),
            ("needed lines lost", sum(one.lost for one in first) / skills, MOST_LOST),
            ("useless lines kept", sum(one.kept for one in first) / skills, MOST_KEPT),
            ("% accepted at 10 points", accepted[0.10], MOST_FALSE),
            *((f"% accepted of {cases} cases, all or nothing", share, MOST_FALSE) for cases, share in sizes.items()),
        )
        if figure > limit
    ]
    print(*missed, sep="\n", file=sys.stderr)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
