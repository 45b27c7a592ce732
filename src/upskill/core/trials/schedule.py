"""The schedule of a student's trials: the turns of a design, stage by stage, until it has asked enough.

A stage is a list of turns that may be asked in any order. The next one begins when every turn of it has come to its
end, errored ones after further tries. So what a design decides from is fixed by the plan, whatever came back first.
"""

from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence

from upskill.core import statistics
from upskill.core.nouns import NOT_RUN, Arm, Errored, PlannedTrial, Trial, TrialPlan, Turn
from upskill.core.nouns.look import DesignEnd, LookTerms
from upskill.core.statistics import DroppedPair, GateFindings, Level, Pair, Pairing, pair_up
from upskill.core.statistics.looks import removed_pairs
from upskill.core.trials.trial_run import Schedule as EngineSchedule

MOST_TRIES = 3
"""How often a turn with an errored trial is run, at most; it is run again at the end of its stage."""
NOT_WORTH_ANOTHER_TRY = NOT_RUN | {"check"}
"""Faults that another try would not mend."""

AfterPair = Callable[[Pair | DroppedPair, bool], None]
"""Gets every pair that ended, and whether the schedule is over with it."""
Stages = Iterator[Sequence[Turn]]


def ignore_pair(pair: Pair | DroppedPair, over: bool) -> None:
    """Does nothing."""


class Schedule:
    """Gives out the turns of one student, and asks its design for the next stage when one has come to its end."""

    def __init__(
        self,
        plan: TrialPlan,
        *,
        terms: LookTerms = statistics.FIRST_LOOK,
        after_pair: AfterPair = ignore_pair,
        turns: Sequence[Turn] | None = None,
    ) -> None:
        """`terms` say how strictly all looks of the design are tested; `turns` are run in place of the plan's."""
        self.end: DesignEnd | None = None
        """Why nothing more is asked; `None` until then."""
        self._plan = plan
        self.terms = terms
        self._after_pair = after_pair
        self._compared = frozenset(plan.arms[:2])
        self._pairs: dict[tuple[str, int], Pair] = {}
        self._drops: list[DroppedPair] = []
        self._stages: Stages = iter([turns]) if turns is not None else _DESIGNS[plan.design](self)
        self._queue: deque[Turn] = deque()
        self._again: deque[Turn] = deque()
        self._tries: Counter[tuple[str, int]] = Counter()
        self._open: set[tuple[str, int]] = set()
        """Turns of this stage that have not come to their end."""
        self._begin_stage()

    @property
    def plan(self) -> TrialPlan:
        """What is asked at most."""
        return self._plan

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """Every scored pair."""
        return tuple(self._pairs.values())

    @property
    def pairing(self) -> Pairing:
        """The pairs that the lift rests on."""
        return Pairing(
            arm=self._plan.measured,
            against=self._plan.against or "baseline",
            pairs=tuple(pair for pair in self.pairs if self._rests_on(pair.repeat)),
            drops=tuple(drop for drop in self._drops if self._rests_on(drop.repeat)),
        )

    @property
    def level(self) -> Level:
        """How strictly that is tested. A design that looks once has the whole error for it."""
        two = self._plan.design == "two looks" and self.end != "copies"
        return Level(error=self.terms.level, looks=2 if two else 1)

    @property
    def gate(self) -> GateFindings | None:
        """The cases that a new version broke; `None` where the design does not ask for them."""
        if self._plan.design != "gate":
            return None
        return statistics.gate_findings(
            self.pairs,
            cases=[case.id for case in self._plan.cases],
            rounds=gate_rounds(self._plan),
            enough_copies=_enough_copies(self._plan),
        )

    @property
    def has_begun_all(self) -> bool:
        """Whether every turn of this stage was begun, so that only errored ones are left of it."""
        return not self._queue

    def take(self) -> Turn | None:
        """The next turn; `None` while the stage is not over, and after the last one."""
        if self._queue:
            return self._queue.popleft()
        return self._again.popleft() if self._again else None

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """Take what came of a turn; one with an errored trial is queued again, in all arms, close together."""
        compared = [trial for arm, trial in trials.items() if arm in self._compared]
        if _called_off(*compared):
            return  # a person or a cap ended it: there is no pair, none was dropped, and nothing comes after it
        pair = self._note_pair(turn, trials)
        if not self._is_worth_another_try(turn, compared):
            self._open.discard(turn.key)
        if not self._open and self.end is None:
            self._begin_stage()
        if pair is not None:
            self._after_pair(pair, self.end is not None)

    def counts(self, trial: Trial) -> bool:
        """Whether the lift rests on this trial; others only showed the design how to go on."""
        return self._rests_on(trial.repeat)

    def _rests_on(self, repeat: int) -> bool:
        if self._plan.design == "gate":
            return repeat <= gate_rounds(self._plan)
        return repeat == 1 if self.end == "copies" else True

    def _note_pair(self, turn: Turn, trials: Mapping[Arm, Trial]) -> Pair | DroppedPair | None:
        if self._plan.against is None:
            return None
        pair = pair_up(trials[self._plan.measured], trials[self._plan.against], family=turn.case.family)
        if isinstance(pair, Pair):
            self._pairs[turn.key] = pair
        else:
            self._drops.append(pair)
        return pair

    def _is_worth_another_try(self, turn: Turn, compared: Sequence[Trial]) -> bool:
        """Queues a turn again. What is run beside the pair decides nothing: an error there sends nothing round."""
        faults = {trial.outcome.fault for trial in compared if isinstance(trial.outcome, Errored)}
        self._tries[turn.key] += 1
        if not faults or faults & NOT_WORTH_ANOTHER_TRY or self._tries[turn.key] >= MOST_TRIES:
            return False
        self._again.append(turn)
        return True

    def _begin_stage(self) -> None:
        while not self._queue:
            stage = next(self._stages, None)
            if stage is None:
                self.end = self.end or "plan finished"
                return
            self._queue.extend(stage)
        self._open = {turn.key for turn in self._queue}


def _called_off(*compared: Trial) -> bool:
    """Whether a person or a cap ended one of these trials."""
    return any(isinstance(trial.outcome, Errored) and not trial.outcome.was_run for trial in compared)


def _fixed(schedule: Schedule) -> Stages:
    yield list(schedule.plan.turns())


def _two_looks(schedule: Schedule) -> Stages:
    first, *later = schedule.plan.rounds()
    yield first
    terms = schedule.terms
    end = statistics.end_at_first_look(schedule.pairing, error=terms.level, removed=removed_pairs(terms.removed))
    if end is not None:
        schedule.end = end
        return
    asked = 0
    for most in statistics.PROBED_CASES:
        yield later[0][asked:most]
        asked = most
        found = statistics.repeated(schedule.pairs, units=schedule.plan.units)
        if found is None:
            break
        if found == "answers" or most == statistics.PROBED_CASES[-1]:
            schedule.end = "copies"
            return
    yield [*later[0][asked:], *(turn for round in later[1:] for turn in round)]


def _gate(schedule: Schedule) -> Stages:
    rounds = list(schedule.plan.rounds())
    first = gate_rounds(schedule.plan)
    yield [turn for round in rounds[:first] for turn in round]
    suspects = statistics.suspected_cases(schedule.pairs)
    asked, enough = first, _enough_copies(schedule.plan)
    for most in (enough, statistics.GATE_REPEATS):
        suspects = statistics.open_cases(schedule.pairs, suspects, enough_copies=enough)
        yield [turn for round in rounds[asked:most] for turn in round if turn.case.id in suspects]
        asked = most


def _enough_copies(plan: TrialPlan) -> int:
    return statistics.ENOUGH_AT_ZERO if plan.is_deterministic else statistics.ENOUGH_COPIES


def gate_rounds(plan: TrialPlan) -> int:
    return 1 if plan.is_deterministic else statistics.GATE_ROUNDS


_DESIGNS: Mapping[str, Callable[[Schedule], Stages]] = {"fixed": _fixed, "two looks": _two_looks, "gate": _gate}


class ResumedSchedule:
    """A schedule of which some answers are there: they are fed to it before the engine is loaded."""

    def __init__(
        self,
        schedule: EngineSchedule,
        recall: Callable[[PlannedTrial], Trial | None],
    ) -> None:
        """`recall` knows the trials that need not be bought."""
        self._schedule = schedule
        self._next = schedule.take()
        while self._next is not None:
            known = {planned.arm: recall(planned) for planned in self._next.trials()}
            there = {arm: trial for arm, trial in known.items() if trial is not None}
            if len(there) < len(known):
                break
            schedule.ended(self._next, there)
            self._next = schedule.take()

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to be run."""
        return self._next is None

    def take(self) -> Turn | None:
        """The first unfinished turn, then those of the schedule."""
        turn, self._next = self._next, None
        return turn if turn is not None else self._schedule.take()

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        self._schedule.ended(turn, trials)
