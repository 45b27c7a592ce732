"""What people do around an evaluation: commands typed until one says `helps`, about a skill without any effect.

Answers are drawn at random; the product's own looks, schedule and conclusion do the rest. `benchmarks/attacks.py` makes
tables of them.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from tools.simulation.evaluation import Answer, Answers, Simulated, evaluate
from tools.simulation.populations import Rates, generator
from upskill.core.nouns import Arm, Scored, Trial
from upskill.core.nouns.look import NOTHING, Look, LookTerms, SeenPair
from upskill.core.nouns.plan import Design
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt
from upskill.core.statistics import Level, holds_among
from upskill.core.statistics.looks import NextLook, look_terms
from upskill.core.statistics.pairs import pair_trials
from upskill.core.statistics.triggering import score_triggering
from upskill.core.statistics.verdict import Judgement

POPULATIONS = ("B55", "half", "het", "skew")
"""Cases without any lift in the mean."""


@dataclass(kw_only=True)
class Person:
    """One person with one skill and a ledger; each command returns what `upskill eval` concludes."""

    rng: random.Random
    rates: Sequence[Rates]
    """Pass rates of each case, without the skill and with whatever version of it."""
    looks: list[Look] = field(default_factory=list)
    _known: dict[tuple[int, int, Arm, int], Answer] = field(default_factory=dict)
    """Answers that are remembered, by version (0 without the skill), case, arm and repeat."""
    _bought: int = 0
    _loosened: frozenset[int] = frozenset()
    """Cases whose checks pass whatever is answered."""

    def evaluate(
        self,
        *,
        cases: Sequence[int] | None = None,
        version: int = 1,
        repeats: int | None = None,
        fresh: bool = False,
        kind: str = "kind",
        wording: str = "",
        killed_after: int | None = None,
    ) -> Simulated:
        """`upskill eval`. `killed_after` so many cases the process is killed: the person has seen their answers."""
        chosen = tuple(range(len(self.rates)) if cases is None else cases)
        design: Design = "two looks" if repeats is None else "fixed"
        coming = self._coming(chosen, version, "baseline", design, repeats or 3, kind, wording, fresh=fresh)
        if fresh:
            self._known.clear()
        look, terms = self._open(coming, version)
        if killed_after is not None:
            for case in chosen[:killed_after]:
                for arm in ("baseline", "with_skill"):
                    self._answer(version, case, arm, 1)
            return evaluate(self._answers(version), cases=chosen[:killed_after], design="fixed", repeats=1)
        found = evaluate(self._answers(version), cases=chosen, design=design, repeats=repeats, terms=terms)
        self._close(look, coming, found.trials, found, version)
        return found

    def alone(self, *, version: int = 1) -> list[bool]:
        """`upskill eval --no-baseline`: what passes with the skill."""
        coming = self._coming(range(len(self.rates)), version, NOTHING, "fixed", 1, "kind", "", fresh=False)
        look, _ = self._open(coming, version)
        passes = [self._answer(version, case, "with_skill", 1).passed for case in range(len(self.rates))]
        pairs = {
            case: [SeenPair(self._instance(version, case, "with_skill", 1), "", passes[case], True)]
            for case in range(len(self.rates))
        }
        self.looks[-1] = self._closed(look, coming, pairs)
        return passes

    def loosen(self, cases: Sequence[int]) -> None:
        """Edit the checks of some cases so that they pass whatever is answered, also what was answered before."""
        self._loosened |= set(cases)

    def differences(self, version: int = 1) -> list[float]:
        """What each case won in the mean over its remembered pairs."""
        won: list[list[int]] = [[] for _ in self.rates]
        for (known, case, arm, repeat), answer in self._known.items():
            if known == version and arm == "with_skill" and (0, case, "baseline", repeat) in self._known:
                won[case].append(answer.passed - self._known[0, case, "baseline", repeat].passed)
        return [sum(one) / len(one) if one else 0.0 for one in won]

    @property
    def bought(self) -> int:
        """Answers that were bought so far."""
        return self._bought

    def _answers(self, version: int) -> Answers:
        return lambda case, arm, repeat: self._answer(version, case, arm, repeat)

    def _answer(self, version: int, case: int, arm: Arm, repeat: int) -> Answer:
        key = (version if arm == "with_skill" else 0), case, arm, repeat
        if key not in self._known:
            self._bought += 1
            passed = self.rng.random() < self.rates[case][arm == "with_skill"]
            self._known[key] = Answer(passed=passed, text=f"{self._bought}")
        answer = self._known[key]
        return replace(answer, passed=True) if case in self._loosened else answer

    def _instance(self, version: int, case: int, arm: Arm, repeat: int) -> str:
        key = (version if arm == "with_skill" else 0), case, arm, repeat
        return f"{key}/{self._known[key].text}"

    def _coming(
        self,
        cases: Sequence[int],
        version: int,
        against: str,
        design: Design,
        repeats: int,
        kind: str,
        wording: str,
        *,
        fresh: bool,
    ) -> NextLook:
        return NextLook(
            student="student",
            model="model",
            kind=kind,
            served="served",
            skill="skill",
            version=f"{version}",
            sketch=("line",),
            against=against,
            design=design,
            repeats=repeats,
            cases={f"{case}": (f"{case}{wording}", "loose" if case in self._loosened else "checks") for case in cases},
            remembered=not fresh,
        )

    def _open(self, coming: NextLook, version: int) -> tuple[Look, LookTerms]:
        keys = {int(case) for case in coming.cases}
        present = {self._instance(*key) for key in self._known if key[1] in keys and key[0] in (0, version)}
        terms = look_terms(self.looks, coming, present=present)
        at = f"2026-01-01T00:{len(self.looks) // 60:02}:{len(self.looks) % 60:02}+00:00"
        look = coming.opened(id=terms.id or f"{len(self.looks)}", at=terms.at or at, run="run", level=terms.level)
        self.looks = [one for one in self.looks if one.id != look.id] + [look]
        return look, terms

    def _close(self, look: Look, coming: NextLook, trials: Sequence[Trial], found: Simulated, version: int) -> None:
        pairs: dict[int, list[SeenPair]] = {}
        scored = {(one.case_id, one.arm, one.repeat): one for one in trials if isinstance(one.outcome, Scored)}
        for (case_id, arm, repeat), one in scored.items():
            other = scored.get((case_id, "baseline", repeat))
            if arm == "with_skill" and other is not None:
                case = int(case_id[4:])
                mine = self._instance(version, case, "with_skill", repeat)
                theirs = self._instance(version, case, "baseline", repeat)
                pairs.setdefault(case, []).append(SeenPair(mine, theirs, one.passed, other.passed))
        report = found.report
        self.looks[-1] = replace(self._closed(look, coming, pairs), verdict=report.verdict, claim=report.claim)

    def _closed(self, look: Look, coming: NextLook, pairs: dict[int, list[SeenPair]]) -> Look:
        seen = {coming.cases[f"{case}"][0]: tuple(some) for case, some in pairs.items()}
        cases = tuple(replace(case, pairs=seen.get(case.key, ())) for case in look.cases)
        return replace(look, cases=cases, ended_at=look.at, end="plan finished")


# ---------------------------------------------------------------- the attacks

Play = Callable[[random.Random, str], Iterator[bool]]
"""Types commands one after the other, and says of each whether it claimed that new cases are helped."""


def _person(rng: random.Random, population: str, cases: int = 20) -> Person:
    return Person(rng=rng, rates=generator(population).cases(rng, cases))


def one_look(rng: random.Random, population: str, *, cases: int = 20, repeats: int | None = None) -> Iterator[bool]:
    yield _person(rng, population, cases).evaluate(repeats=repeats).helps


def fresh(rng: random.Random, population: str, *, times: int) -> Iterator[bool]:
    person = _person(rng, population)
    for _ in range(times):
        yield person.evaluate(fresh=True).helps


def more_repeats(rng: random.Random, population: str, *, repeats: Sequence[int | None]) -> Iterator[bool]:
    person = _person(rng, population)
    for number in repeats:
        yield person.evaluate(repeats=number).helps


def more_cases(rng: random.Random, population: str, *, counts: Sequence[int]) -> Iterator[bool]:
    person = _person(rng, population, counts[-1])
    for number in counts:
        yield person.evaluate(cases=range(number)).helps


def delete_worst(rng: random.Random, population: str, *, deleted: int) -> Iterator[bool]:
    person = _person(rng, population)
    yield person.evaluate().helps
    won = person.differences()
    keep = sorted(sorted(range(20), key=lambda case: (won[case], rng.random()))[deleted:])
    yield person.evaluate(cases=keep).helps


def skill_alone_then_delete(rng: random.Random, population: str) -> Iterator[bool]:
    """`eval --no-baseline`, delete the cases that failed, `eval --runs 1`."""
    person = _person(rng, population, 24)
    passes = person.alone()
    yield person.evaluate(cases=[case for case, passed in enumerate(passes) if passed], repeats=1).helps


def peek_kill_delete(rng: random.Random, population: str) -> Iterator[bool]:
    """Watch the live lift, kill the command, delete the cases that lost, and type it again."""
    person = _person(rng, population, 24)
    person.evaluate(killed_after=24)
    won = person.differences()
    yield person.evaluate(cases=[case for case in range(24) if won[case] >= 0]).helps


def peek_kill_until_it_looks_good(rng: random.Random, population: str, *, times: int) -> Iterator[bool]:
    """Start with fresh answers, kill the command where the first cases look bad, and start again."""
    person = _person(rng, population)
    for _ in range(times):
        if person.evaluate(fresh=True, killed_after=8).report.lifts[0].mean > 0.2:
            yield person.evaluate(fresh=True).helps
        else:
            yield False


def edits(rng: random.Random, population: str, *, times: int, cases: int = 20) -> Iterator[bool]:
    person = _person(rng, population, cases)
    for version in range(1, times + 1):
        yield person.evaluate(version=version).helps


def builds(rng: random.Random, population: str, *, times: int) -> Iterator[bool]:
    """The same command in a pipeline that keeps the ledger of looks, and no answers."""
    person = _person(rng, population)
    for _ in range(times):
        yield person.evaluate(fresh=True).helps


def restarts(rng: random.Random, population: str, *, times: int, by: str) -> Iterator[bool]:
    """Ask as if nothing had been asked: with another setting, with a sentence added to every prompt, or other cases."""
    person = _person(rng, population, 20 * times if by == "cases" else 20)
    for nth in range(times):
        cases = range(20 * nth, 20 * nth + 20) if by == "cases" else range(20)
        kind, wording = f"kind {nth if by == 'setting' else 0}", f" {nth}" if by == "wording" and nth else ""
        yield person.evaluate(fresh=True, cases=cases, kind=kind, wording=wording).helps


def loosen_checks(rng: random.Random, population: str) -> Iterator[bool]:
    """Pass what failed with the skill and not without it, type again, and ask again when nothing is claimed."""
    person = _person(rng, population)
    yield person.evaluate().helps
    person.loosen([case for case, won in enumerate(person.differences()) if won < 0])
    yield person.evaluate().helps
    yield person.evaluate(fresh=True).helps


def best_of(rng: random.Random, population: str, *, students: int) -> Iterator[bool]:
    for _ in range(students):
        person = _person(rng, population)
        found = person.evaluate()
        arm, against = found.report.compared
        counted = [one for one in found.trials if found.report.end != "copies" or one.repeat == 1]
        pairing = pair_trials(counted, arm=arm, against=against)
        judgement = Judgement(verdict=found.report.verdict or "invalid", sentence="", lift=found.report.lifts[0])
        level = Level(looks=1 if found.report.end == "copies" else 2)
        yield bool(holds_among(judgement, pairing, level, models=students))


def descriptions(rng: random.Random, population: str, *, times: int, prompts: int = 12) -> Iterator[bool]:
    """`trigger` with one description after the other on the same prompts; each is exactly as good as is too little."""
    asked = [TriggerPrompt(id=f"p{nth}", prompt="-", should_load=nth < prompts) for nth in range(2 * prompts)]
    spread = {"alike": 1_000.0, "mixed": 0.5}[population]
    person = Person(rng=rng, rates=[(0.5, 0.5)] * len(asked))
    coming = person._coming(range(len(asked)), 1, NOTHING, "fixed", 1, "kind", "", fresh=False)
    looks: list[Look] = []
    for nth in range(times):
        mine = replace(coming, version=f"{nth}", asked="loads", against="baseline")
        terms = look_terms(looks, mine)
        rates = [rng.betavariate(spread * mean, spread * (1 - mean)) for mean in (0.75, 0.25) for _ in range(prompts)]
        tallies = [
            PromptTally(prompt=prompt, answers=3, loads=sum(rng.random() < rate for _ in range(3)))
            for prompt, rate in zip(asked, rates, strict=True)
        ]
        score = score_triggering(tallies, student="student", harness="chat", level=terms.level)
        well = score.verdict == "triggers well"
        at = f"2026-01-01T00:00:{nth:02}+00:00"
        look = mine.opened(id=f"{nth}", at=at, run="run", level=terms.level)
        claim = "new cases" if well else None
        looks.append(replace(look, ended_at=at, verdict="helps" if well else "undecided", claim=claim))
        yield well


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """One way to use the commands."""

    what: str
    play: Play
    populations: tuple[str, ...] = POPULATIONS
    share: float = 1.0
    """Of the persons that a table asks for: where each types fifty commands, fewer will do."""


ATTACKS: tuple[Attack, ...] = (
    *(Attack(what=f"one look, {cases} cases", play=partial(one_look, cases=cases)) for cases in (8, 12, 20, 50)),
    Attack(what="`--fresh` ten times", play=partial(fresh, times=10)),
    Attack(what="`auto`, then `--runs 5`, 10, 20", play=partial(more_repeats, repeats=(None, 5, 10, 20)), share=0.3),
    Attack(what="`--runs 1`, 2, 3, 5, 10", play=partial(more_repeats, repeats=(1, 2, 3, 5, 10)), share=0.3),
    Attack(what="20, then 40, then 80 cases", play=partial(more_cases, counts=(20, 40, 80)), share=0.5),
    *(
        Attack(what=f"delete the worst {deleted} of 20 cases, type again", play=partial(delete_worst, deleted=deleted))
        for deleted in (1, 2, 4)
    ),
    Attack(what="`--no-baseline`, delete what failed, `--runs 1`", play=skill_alone_then_delete),
    Attack(what="watch, kill, delete what lost, type again", play=peek_kill_delete),
    Attack(what="watch and kill until it looks good, ten times", play=partial(peek_kill_until_it_looks_good, times=10)),
    Attack(what="10 edits, same cases", play=partial(edits, times=10), share=0.5),
    Attack(what="5 first looks by another setting", play=partial(restarts, times=5, by="setting")),
    Attack(what="5 first looks by another wording", play=partial(restarts, times=5, by="wording")),
    Attack(what="10 looks, each on other cases", play=partial(restarts, times=10, by="cases"), share=0.3),
    Attack(what="loosen checks, type again, then `--fresh`", play=loosen_checks),
    Attack(what="best of 5 models", play=partial(best_of, students=5), share=0.5),
    Attack(
        what="10 descriptions on the same prompts", play=partial(descriptions, times=10), populations=("alike", "mixed")
    ),
    Attack(what="50 builds of an unchanged skill", play=partial(builds, times=50), share=0.1),
    Attack(what="50 edits that change nothing", play=partial(edits, times=50), share=0.1),
)


def count_false(attack: Attack, population: str, *, persons: int, seed: str) -> int:
    """How many persons were told a false `helps` of new cases by one of their commands."""
    rng = random.Random(seed)
    return sum(any(attack.play(rng, population)) for _ in range(persons))
