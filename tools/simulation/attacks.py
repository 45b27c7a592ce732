"""What people do around an evaluation: commands typed until one says `helps`, about a skill without any effect.

Answers are drawn at random; what follows from them is decided by `core.statistics`. `benchmarks/attacks.py` makes
tables of them.
"""

import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial

from tools.simulation.populations import Rates, generator
from upskill.core.nouns.look import Look, LookTerms, SeenPair
from upskill.core.nouns.trigger import PromptTally, TriggerPrompt
from upskill.core.statistics import DroppedPair, Judgement, Level, Pair, Pairing, Sequential, holds_among, judge
from upskill.core.statistics.looks import NextLook, look_terms, recorded_look, tallies_of
from upskill.core.statistics.pairs import Losses
from upskill.core.statistics.sequential import GuardedSequential
from upskill.core.statistics.triggering import score_triggering
from upskill.core.statistics.verdict import only_if_both
from upskill.report.facts import ENOUGH, lowest_rate

POPULATIONS = ("B55", "half", "het", "skew")
"""Cases without any lift in the mean."""
BREAKAGE = ("break", "break05")
"""Rare breakage: most cases gain a little, few are broken."""
MOST_TRIES = 3
"""How often one command runs a pair that could not be scored."""


# ---------------------------------------------------------------- a person at the command line


@dataclass(frozen=True, kw_only=True, slots=True)
class Flaws:
    """What is wrong with a student, its server or its judge."""

    copies: bool = False
    """Every repeat of an answer is the first one again."""
    lost: float = 0.0
    """The share of failing answers with the skill that is lost, and asked for again at once."""
    errored: float = 0.0
    """The share of failing answers with the skill that is lost for good: its trial is not scored."""
    flattery: float = 0.0
    """The share of failing answers with the skill that a judge passes."""


@dataclass(kw_only=True)
class Person:
    """One person with one set of cases: answers are stored, and each command returns its judgement."""

    rng: random.Random
    cases: Sequence[Rates]
    families: Sequence[int] | None = None
    """The family of each case, where they are named."""
    flaws: Flaws = Flaws()
    student: str = "student"
    models: int = 1
    """How many models are tested, where the best of them is to be named."""
    _stored: dict[tuple[int, int, int], bool] = field(default_factory=dict)
    """By version (0 is no skill), case and repeat: whether it passed."""
    _bought: Counter[tuple[int, int, int]] = field(default_factory=Counter)
    """How often each of them was bought, so that a fresh answer is told from the one before it."""
    _orders: dict[tuple[tuple[int, ...], int], list[int]] = field(default_factory=dict)
    _looks: list[tuple[Look, Judgement]] = field(default_factory=list)
    _lost: dict[int, Counter[tuple[int, int]]] = field(default_factory=lambda: defaultdict(Counter))
    """By version, then case and repeat: answers that were lost."""
    _loosened: set[int] = field(default_factory=set)
    """Cases whose checks pass everything since they were edited."""

    def own_lift(self, keep: Sequence[int] | None = None) -> float:
        """The true lift of the cases in use, times their number."""
        kept = set(keep or range(len(self.cases))) - self._loosened
        return math.fsum(self.cases[nth][1] - self.cases[nth][0] for nth in kept)

    def evaluate(
        self,
        *,
        runs: int | None = None,
        version: int = 1,
        fresh: bool = False,
        keep: Sequence[int] | None = None,
        kind: str = "kind",
        wording: int = 0,
    ) -> Judgement:
        """`upskill eval`, with the default design or `--runs N`, on all cases or on those that were kept.

        What was answered already is not asked again; what is looked at again is tested more strictly. `kind` is the
        settings of the model, `wording` a sentence that every prompt has in addition.
        """
        chosen = tuple(range(len(self.cases)) if keep is None else keep)
        coming = self._coming(chosen, runs, version, kind, wording)
        looks = [look for look, _ in self._looks]
        if fresh:
            self._stored.clear()
        elif (known := recorded_look(looks, coming)) is not None:
            return next(judgement for look, judgement in self._looks if look is known)
        present = {self._instance(*key) for key in self._stored if key[1] in chosen}
        terms = look_terms(looks, coming, present=present)
        judgement, pairs = self._run(chosen, runs, version, terms)
        if terms.regraded:
            judgement = replace(judgement, verdict="undecided", claim=None)
        self._looks.append((self._look(coming, judgement, pairs, version, terms.level), judgement))
        return judgement

    def loosen(self, cases: Sequence[int]) -> None:
        """Edit the checks of some cases so that they pass whatever is answered, also what was answered before."""
        self._loosened.update(cases)
        self._stored |= {key: True for key in self._stored if key[1] in self._loosened}

    def _run(
        self, chosen: tuple[int, ...], runs: int | None, version: int, terms: LookTerms
    ) -> tuple[Judgement, Sequence[Pair]]:
        prior = tallies_of(terms.prior)
        if runs is not None:
            turns = list(self._turns(chosen, runs * len(chosen), version))
            pairing = Pairing(
                arm="with_skill",
                against="baseline",
                pairs=tuple(turn for turn in turns if isinstance(turn, Pair)),
                drops=tuple(turn for turn in turns if isinstance(turn, DroppedPair)),
                prior=prior,
            )
            level, decision = Level(terms.level), None
        else:
            units = None if self.families is None else len({self.families[nth] for nth in chosen})
            plan = partial(Sequential, cases=len(chosen), units=units, level=terms.level, prior=prior)
            design = GuardedSequential(plan)
            for turn in self._turns(chosen, plan().cap, version):
                if design.add(turn).stop:
                    break
            pairing, level, decision = design.pairing, design.level, design.end("cap")
        pairing = self._with_losses(pairing, version)
        judgement = judge(pairing, decision=decision, level=level)
        if terms.removed and judgement.claim is not None:
            whole = replace(pairing, prior=(*prior, *tallies_of(terms.removed)))
            judgement = only_if_both(judgement, judge(whole, level=level), removed=len(terms.removed))
        if self.models > 1 and not holds_among(judgement, pairing, level, models=self.models):
            judgement = replace(judgement, verdict="undecided", claim=None)
        return judgement, pairing.pairs

    def _with_losses(self, pairing: Pairing, version: int) -> Pairing:
        """The pairs with what was lost, in this command or in an earlier one: the store keeps that."""
        scored = frozenset((pair.case_id, pair.repeat) for pair in pairing.pairs)
        asked = scored | {(drop.case_id, drop.repeat) for drop in pairing.drops}
        lost = {(_case_id(nth), repeat): number for (nth, repeat), number in self._lost[version].items()}
        mine = {key: number for key, number in lost.items() if key in asked}
        return replace(
            pairing,
            losses=Losses(lost=sum(mine.values()), asked_in=asked, lost_in=frozenset(mine)),
            losses_against=Losses(asked_in=asked),
        )

    def coming_load(self) -> NextLook:
        """A look at whether a description makes a model load its skill, on all cases as prompts."""
        return replace(self._coming(range(len(self.cases)), 1, 1, "kind", 0), asked="loads")

    def _coming(self, chosen: Sequence[int], runs: int | None, version: int, kind: str, wording: int) -> NextLook:
        sentence = (f"sentence {wording}",) if wording else ()
        keys = {nth: f"{_case_id(nth)}{''.join(sentence)}" for nth in chosen}
        return NextLook(
            student=self.student,
            model=self.student,
            kind=kind,
            served="served",
            skill="skill",
            version=str(version),
            sketch=("line",),
            against="baseline",
            design="sequential" if runs is None else "fixed",
            repeats=1 if runs is None else runs,
            min_lift=None,
            cases={_case_id(nth): (key, "loose" if nth in self._loosened else "checks") for nth, key in keys.items()},
            words={key: (*_words(nth), *sentence) for nth, key in keys.items()},
        )

    def _look(self, coming: NextLook, judgement: Judgement, pairs: Sequence[Pair], version: int, level: float) -> Look:
        seen: dict[str, list[SeenPair]] = {key: [] for key in coming.keys}
        for pair in pairs:
            nth, repeat = int(pair.case_id.removeprefix("case")), 0 if self.flaws.copies else pair.repeat
            instances = self._instance(version, nth, repeat), self._instance(0, nth, repeat)
            passed = pair.passed, pair.passed_against
            seen[coming.cases[pair.case_id][0]].append(SeenPair(*instances, *passed, repeat=pair.repeat))
        return coming.taken(
            at=f"2026-01-01T00:00:{len(self._looks):02}+00:00",
            run="run",
            cases=tuple(replace(case, pairs=tuple(seen[case.key])) for case in coming.questions),
            level=level,
            verdict=judgement.verdict,
            claim=judgement.claim,
            sentence=judgement.sentence,
        )

    def _instance(self, version: int, nth: int, repeat: int) -> str:
        return f"{version}/{nth}/{repeat}/{self._bought[version, nth, repeat]}"

    def differences(self, version: int = 1) -> list[float]:
        """What each case won in the mean over its stored pairs."""
        won: dict[int, list[int]] = {nth: [] for nth in range(len(self.cases))}
        for (arm, nth, repeat), passed in self._stored.items():
            if arm == version:
                won[nth].append(passed - self._stored[0, nth, repeat])
        return [math.fsum(each) / max(1, len(each)) for each in won.values()]

    def _turns(self, chosen: tuple[int, ...], most: int, version: int) -> Iterator[Pair | DroppedPair]:
        """Pairs in planned order; those that could not be scored are run again at the end."""
        rounds = -(-most // len(chosen))
        waiting = [(nth, repeat) for repeat in range(rounds) for nth in self._order(chosen, repeat)][:most]
        for _ in range(MOST_TRIES):
            again = []
            for nth, repeat in waiting:
                turn = self._turn(nth, repeat, version)
                if isinstance(turn, DroppedPair):
                    again.append((nth, repeat))
                yield turn
            waiting = again

    def _order(self, chosen: tuple[int, ...], repeat: int) -> list[int]:
        """The order of a round is drawn once for each list of cases, as by a fixed seed."""
        key = (chosen, repeat)
        if key not in self._orders:
            self._orders[key] = self.rng.sample(chosen, len(chosen))
        return self._orders[key]

    def _turn(self, nth: int, repeat: int, version: int) -> Pair | DroppedPair:
        against = self._answer(0, nth, repeat)
        passed = self._answer(version, nth, repeat)
        if passed is None or against is None:
            return DroppedPair(case_id=_case_id(nth), repeat=repeat, passed=passed, passed_against=against, lost=True)
        family = None if self.families is None else self.families[nth]
        pair = _pair(nth, repeat, passed, against, family=family, copies=self.flaws.copies)
        return replace(pair, lost=True) if self._lost[version][nth, repeat] else pair

    def _answer(self, version: int, nth: int, repeat: int) -> bool | None:
        """From the store, or bought; `None` where it could not be scored."""
        key = (version, nth, 0 if self.flaws.copies else repeat)
        passed = self._stored.get(key)
        if passed is None:
            lost = partial(self._lost[version].update, [(nth, repeat)])
            passed = nth in self._loosened or self._ask(self.cases[nth][version > 0], skilled=version > 0, lost=lost)
            if passed is not None:
                self._stored[key] = passed
                self._bought[key] += 1
        return passed

    def _ask(self, rate: float, *, skilled: bool, lost: Callable[[], None]) -> bool | None:
        rng, flaws = self.rng, self.flaws
        passed = rng.random() < rate
        if passed or not skilled or flaws == Flaws():
            return passed
        while rng.random() < flaws.lost:
            lost()
            if rng.random() < rate:
                return True
        if rng.random() < flaws.errored:
            lost()
            return None
        return rng.random() < flaws.flattery


@cache
def _case_id(nth: int) -> str:
    return f"case{nth:03}"


@cache
def _words(nth: int) -> tuple[str, ...]:
    return tuple(f"{nth}/{word}" for word in range(8))


@cache
def _pair(nth: int, repeat: int, passed: bool, passed_against: bool, *, family: int | None, copies: bool) -> Pair:
    return Pair(
        case_id=_case_id(nth),
        repeat=repeat,
        passed=passed,
        passed_against=passed_against,
        family=None if family is None else f"family{family}",
        answers=(str(passed), str(passed_against)) if copies else ("", ""),
    )


# ---------------------------------------------------------------- the attacks


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What a command said of a skill, as far as it is a false `helps`."""

    wide: bool
    """Of cases like these."""
    here: bool
    """Of these cases only, which have no lift of their own either."""


Play = Callable[[random.Random, str], Iterator[Said]]
"""Types commands one after the other; what stands between them is up to the attack."""


def _say(person: Person, judgement: Judgement, keep: Sequence[int] | None = None) -> Said:
    helps = judgement.verdict == "helps"
    wide = helps and judgement.claim == "cases like these"
    return Said(wide=wide, here=helps and not wide and person.own_lift(keep) <= 1e-9)


def _person(rng: random.Random, population: str, cases: int = 20) -> Person:
    return Person(rng=rng, cases=generator(population).cases(rng, cases))


def one_run(rng: random.Random, population: str, *, cases: int = 20, runs: int | None = None) -> Iterator[Said]:
    person = _person(rng, population, cases)
    yield _say(person, person.evaluate(runs=runs))


def fresh(rng: random.Random, population: str, *, times: int) -> Iterator[Said]:
    person = _person(rng, population)
    for nth in range(times):
        yield _say(person, person.evaluate(fresh=nth > 0))


def builds(rng: random.Random, population: str, *, times: int) -> Iterator[Said]:
    """The same command in a pipeline that keeps the ledger of looks, and no store."""
    person = _person(rng, population)
    for _ in range(times):
        yield _say(person, person.evaluate())


def more_runs(rng: random.Random, population: str, *, runs: tuple[int | None, ...]) -> Iterator[Said]:
    person = _person(rng, population)
    for number in runs:
        yield _say(person, person.evaluate(runs=number))


def more_cases(rng: random.Random, population: str, *, counts: tuple[int, ...]) -> Iterator[Said]:
    person = _person(rng, population, counts[-1])
    for number in counts:
        yield _say(person, person.evaluate(keep=range(number)), range(number))


def delete_worst(rng: random.Random, population: str, *, deleted: int) -> Iterator[Said]:
    person = _person(rng, population)
    yield _say(person, person.evaluate())
    won = person.differences()
    keep = sorted(sorted(range(20), key=lambda nth: (won[nth], rng.random()))[deleted:])
    yield _say(person, person.evaluate(keep=keep), keep)


def edits(rng: random.Random, population: str, *, times: int, cases: int = 20) -> Iterator[Said]:
    person = _person(rng, population, cases)
    for version in range(1, times + 1):
        yield _say(person, person.evaluate(version=version))


def restarts(rng: random.Random, population: str, *, times: int, by: str) -> Iterator[Said]:
    """Ask as if nothing had been asked: with another setting, with a sentence added to every prompt, or other cases."""
    person = _person(rng, population, 20 * times if by == "cases" else 20)
    for nth in range(times):
        keep = range(20 * nth, 20 * nth + 20) if by == "cases" else range(20)
        kind = f"kind {nth if by == 'setting' else 0}"
        judgement = person.evaluate(fresh=True, keep=keep, kind=kind, wording=nth if by == "wording" else 0)
        yield _say(person, judgement, range(keep.stop))


def loosen_checks(rng: random.Random, population: str) -> Iterator[Said]:
    """Pass what failed with the skill and not without it, type again, and ask again when nothing is claimed."""
    person = _person(rng, population)
    yield _say(person, person.evaluate())
    person.loosen([nth for nth, won in enumerate(person.differences()) if won < 0])
    yield _say(person, person.evaluate())
    yield _say(person, person.evaluate(fresh=True))


def descriptions(rng: random.Random, population: str, *, times: int, prompts: int = 12) -> Iterator[Said]:
    """`trigger` with one description after the other on the same prompts; each is exactly as good as is too little."""
    asked = [TriggerPrompt(id=f"p{nth}", prompt="-", should_load=nth < prompts) for nth in range(2 * prompts)]
    spread = {"alike": 1_000.0, "mixed": 0.5}[population]
    coming = Person(rng=rng, cases=[(0.5, 0.5)] * len(asked)).coming_load()
    looks: list[Look] = []
    for nth in range(times):
        terms = look_terms(looks, replace(coming, version=str(nth)))
        rates = [rng.betavariate(spread * mean, spread * (1 - mean)) for mean in (0.75, 0.25) for _ in range(prompts)]
        tallies = [
            PromptTally(prompt=prompt, answers=3, loads=sum(rng.random() < rate for _ in range(3)))
            for prompt, rate in zip(asked, rates, strict=True)
        ]
        score = score_triggering(tallies, student="student", harness="chat", level=terms.level)
        well = score.verdict == "triggers well"
        taken = replace(coming, version=str(nth)).taken(
            at=f"2026-01-01T00:00:{nth:02}+00:00",
            run="run",
            cases=coming.questions,
            level=terms.level,
            verdict="helps" if well else "undecided",
            claim="cases like these" if well else None,
            sentence=score.verdict,
        )
        looks.append(taken)
        yield Said(wide=well, here=False)


def best_of(rng: random.Random, population: str, *, students: int) -> Iterator[Said]:
    for _ in range(students):
        person = replace(_person(rng, population), models=students)
        yield _say(person, person.evaluate())


def cheapest_sufficient(rng: random.Random, population: str, *, students: int) -> Iterator[Said]:
    """`--runs 5` with students that are nearly good enough; the cheapest at a sufficient pass rate is surely so."""
    spread = {"alike": 1_000.0, "mixed": 2.0}[population]
    for _ in range(students):
        rates = [rng.betavariate(spread * 0.79, spread * 0.21) for _ in range(20)]
        passed = sum([rng.random() < rate for rate in rates for _ in range(5)])
        if passed >= 100 * ENOUGH:
            yield Said(wide=lowest_rate(passed, 100, of=students) >= ENOUGH, here=False)
            return
    yield Said(wide=False, here=False)


def flawed(
    rng: random.Random, population: str, *, flaws: Flaws, runs: int | None = None, again: int = 0
) -> Iterator[Said]:
    """One command, or the same one typed again, with a server or a judge that has flaws."""
    person = Person(rng=rng, cases=generator(population).cases(rng, 20), flaws=flaws)
    for _ in range(1 + again):
        yield _say(person, person.evaluate(runs=runs))


def in_families(rng: random.Random, population: str, *, families: int) -> Iterator[Said]:
    effects = generator(population).cases(rng, families)
    family = [nth % families for nth in range(20)]
    person = Person(rng=rng, cases=[effects[nth] for nth in family], families=family)
    yield _say(person, person.evaluate())


@dataclass(frozen=True, kw_only=True, slots=True)
class Row:
    """One line of the table: what was said up to the `step`-th command of an attack."""

    what: str
    step: int
    claimed: bool = True
    """Whether a limit is claimed; else the figure is only reported."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Attack:
    """One way to use the commands, and the lines that it fills."""

    play: Play
    rows: tuple[Row, ...]
    populations: tuple[str, ...] = POPULATIONS
    share: float = 1.0
    """Of the persons that a table asks for: where each types fifty commands, fewer will do."""


def _attack(
    what: str,
    play: Play,
    *,
    step: int = 1,
    claimed: bool = True,
    populations: tuple[str, ...] = POPULATIONS,
    share: float = 1.0,
) -> Attack:
    return Attack(play=play, rows=(Row(what=what, step=step, claimed=claimed),), populations=populations, share=share)


ATTACKS: tuple[Attack, ...] = (
    Attack(
        play=partial(fresh, times=10),
        rows=(
            Row(what="one run", step=1),
            Row(what="`--fresh`, 5 runs in all", step=5),
            Row(what="`--fresh`, 10 runs in all", step=10),
        ),
    ),
    *(_attack(f"one run, {cases} cases", partial(one_run, cases=cases)) for cases in (8, 12, 50)),
    _attack("`auto`, then `--runs 5`, 10, 20", partial(more_runs, runs=(None, 5, 10, 20)), step=4),
    _attack("`--runs 1`, 2, 3, 5, 10", partial(more_runs, runs=(1, 2, 3, 5, 10)), step=5),
    _attack("20, then 40, then 80 cases", partial(more_cases, counts=(20, 40, 80)), step=3),
    *(
        _attack(f"delete the worst {count}, type again", partial(delete_worst, deleted=deleted), step=2)
        for deleted, count in ((1, "case"), (2, "2 cases"), (4, "4 cases"))
    ),
    _attack("10 edits, same cases", partial(edits, times=10), step=10),
    _attack("5 first looks by another setting", partial(restarts, times=5, by="setting"), step=5),
    _attack("5 first looks by another wording", partial(restarts, times=5, by="wording"), step=5),
    Attack(
        play=partial(restarts, times=10, by="cases"),
        rows=(Row(what="5 first looks by other cases", step=5), Row(what="10 looks, each on other cases", step=10)),
        share=0.5,
    ),
    _attack("loosen checks, type again, then `--fresh`", loosen_checks, step=3),
    _attack(
        "10 descriptions on the same prompts", partial(descriptions, times=10), step=10, populations=("alike", "mixed")
    ),
    _attack("best of 5 students", partial(best_of, students=5), step=5),
    _attack("cheapest sufficient of 5", partial(cheapest_sufficient, students=5), populations=("alike", "mixed")),
    *(
        _attack(
            f"rare breakage, {cases} cases, {f'`--runs {runs}`' if runs else '`auto`'}",
            partial(one_run, cases=cases, runs=runs),
            populations=BREAKAGE,
            claimed=cases >= 20,
        )
        for cases in (8, 20, 50)
        for runs in (None, 5)
    ),
    *(
        _attack(f"20 cases in {families} families with one effect each", partial(in_families, families=families))
        for families in (4, 5, 8, 12)
    ),
    _attack("every repeat is a copy, `--runs 5`", partial(flawed, flaws=Flaws(copies=True), runs=5)),
    _attack("every repeat is a copy, `auto`", partial(flawed, flaws=Flaws(copies=True))),
    _attack("30% of failing answers with the skill lost and retried", partial(flawed, flaws=Flaws(lost=0.3))),
    _attack("50% of failing answers with the skill lost and retried", partial(flawed, flaws=Flaws(lost=0.5))),
    _attack(
        "50% of failing answers with the skill errored, `--runs 5` typed 3 times",
        partial(flawed, flaws=Flaws(errored=0.5), runs=5, again=2),
        step=3,
    ),
    _attack(
        "a judge alone that passes 10% of failing answers with the skill",
        partial(flawed, flaws=Flaws(flattery=0.1)),
        claimed=False,  # its error is not measured where no other check decides, and the result says so
    ),
    _attack(
        "a judge alone that passes 20% of failing answers with the skill",
        partial(flawed, flaws=Flaws(flattery=0.2)),
        claimed=False,  # its error is not measured where no other check decides, and the result says so
    ),
    _attack("a CI gate, 50 builds of an unchanged skill", partial(builds, times=50), step=50, share=0.2),
    _attack("a CI gate, 50 edits that change nothing", partial(edits, times=50), step=50, share=0.2),
)


def count_false(attack: Attack, population: str, *, persons: int, seed: str) -> Counter[tuple[int, str]]:
    """By the step of a row and the claim (`wide`, `here`): how many persons were told a false `helps`."""
    found: Counter[tuple[int, str]] = Counter()
    rng = random.Random(seed)
    for _ in range(persons):
        first: dict[str, int] = {}
        for nth, said in enumerate(attack.play(rng, population), start=1):
            if said.here:
                first.setdefault("here", nth)
            if said.wide:
                first["wide"] = nth
                break  # the person has what they wanted
        for row in attack.rows:
            for claim, nth in first.items():
                found[row.step, claim] += nth <= row.step
    return found
