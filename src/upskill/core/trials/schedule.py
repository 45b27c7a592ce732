"""The schedule of a student's trials: every turn of the plan, or as many as it takes until a decision falls."""

from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from upskill.core.nouns import NOT_RUN, Arm, Errored, PlannedTrial, Trial, TrialPlan, Turn
from upskill.core.statistics import (
    FEWEST_CASES,
    CaseTally,
    Decision,
    DroppedPair,
    GuardedSequential,
    Level,
    Pair,
    Pairing,
    Sequential,
    pair_up,
)
from upskill.core.statistics.intervals import FIRST_LEVEL
from upskill.core.statistics.pairs import are_copies
from upskill.core.trials.trial_run import Schedule as EngineSchedule

MOST_TRIES = 3
"""How often a turn with an errored trial is run, at most; it is run again at the end of the queue."""
NOT_WORTH_ANOTHER_TRY = NOT_RUN | {"check"}
"""Faults that another try would not mend."""

AfterPair = Callable[[Pair | DroppedPair, Decision | None], None]
"""Gets every pair that counts, and the decision that ended the schedule with it, if one did."""


def ignore_pair(pair: Pair | DroppedPair, decision: Decision | None) -> None:
    """Does nothing."""


def _called_off(*compared: Trial) -> bool:
    """Whether a person or a cap ended one of these trials: then there is no pair, and none was dropped."""
    return any(isinstance(trial.outcome, Errored) and not trial.outcome.was_run for trial in compared)


class FixedSchedule:
    """Runs every turn of the plan in order, then the errored ones again."""

    def __init__(
        self,
        plan: TrialPlan,
        *,
        after_pair: AfterPair = ignore_pair,
        turns: Sequence[Turn] | None = None,
    ) -> None:
        """`turns` are run in place of those of the plan."""
        self._plan = plan
        self._after_pair = after_pair
        self._turns = plan.turns() if turns is None else iter(turns)
        self._not_begun = plan.most_turns if turns is None else len(turns)
        self._pairs: list[Pair] = []
        self.copies = False
        """Whether repeats turned out to be copies: then no more are run."""
        self._compared = frozenset(plan.arms[:2])
        self._again: deque[Turn] = deque()
        self._tries: Counter[tuple[str, int]] = Counter()

    def take(self) -> Turn | None:
        """The next turn, or one that must be run again."""
        if self.copies:
            return None
        turn = next(self._turns, None)
        if turn is not None:
            self._not_begun -= 1
        elif self._again:
            turn = self._again.popleft()
        return turn

    @property
    def has_begun_all(self) -> bool:
        """Whether every turn of the plan was begun, so that only errored ones are left."""
        return self._not_begun == 0

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """Queue an errored turn again, at the end."""
        self.run_again_if_errored(turn, trials)
        if self._plan.against is not None:
            one, other = trials[self._plan.measured], trials[self._plan.against]
            if not _called_off(one, other):
                self._note_pair(turn, one, other)

    def _note_pair(self, turn: Turn, one: Trial, other: Trial) -> None:
        pair = pair_up(one, other, family=turn.case.family)
        self._after_pair(pair, None)
        if isinstance(pair, Pair):
            self._pairs.append(pair)
            half = max(1, len(self._plan.cases) // 2)
            cases = len(self._plan.cases)
            if cases >= FEWEST_CASES and len(self._pairs) > cases and len(self._pairs) % half == 0:
                self.copies = are_copies(self._pairs)

    def run_again_if_errored(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """A pair that measured nothing is bought again, in all arms, close together.

        What is run beside the pair decides nothing, so an error there sends nothing round again.
        """
        compared = [trial.outcome for arm, trial in trials.items() if arm in self._compared]
        faults = {outcome.fault for outcome in compared if isinstance(outcome, Errored)}
        self._tries[turn.key] += 1
        if faults and not faults & NOT_WORTH_ANOTHER_TRY and self._tries[turn.key] < MOST_TRIES:
            self._again.append(turn)

    def counts(self, trial: Trial) -> bool:
        """Everything counts in a fixed design."""
        return True


class SequentialSchedule:
    """Asks the design after every pair, in planned order, and stops taking turns once it has decided."""

    def __init__(self, plan: TrialPlan, design: GuardedSequential, *, after_pair: AfterPair = ignore_pair) -> None:
        self._queue = FixedSchedule(plan)
        self._design = design
        self._after_pair = after_pair
        self._taken: deque[Turn] = deque()
        self._waiting: dict[tuple[str, int], Mapping[Arm, Trial]] = {}
        self._fed: set[tuple[str, int]] = set()

    @property
    def has_begun_all(self) -> bool:
        """Whether every turn of the plan was begun, so that only errored ones are left."""
        return self._queue.has_begun_all

    @property
    def pairing(self) -> Pairing:
        """The pairs the decision rests on."""
        return self._design.pairing

    @property
    def level(self) -> Level:
        """How strictly the design tests."""
        return self._design.level

    @property
    def copies(self) -> bool:
        """Whether repeats turned out to be copies."""
        return self._design.copies

    def take(self) -> Turn | None:
        """The next turn, while no decision could fall among those already taken.

        So near a boundary fewer calls are in flight, and hardly any is bought for nothing.
        """
        if self._design.decision.stop or not self._makes_room():
            return None
        turn = self._queue.take()
        if turn is not None:
            self._taken.append(turn)
        return turn

    def _makes_room(self) -> bool:
        return len(self._taken) < max(1, self._design.least_pairs_to_stop())

    def ended(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        """Feed pairs to the design in planned order; a pair that ends early waits."""
        self._waiting[turn.key] = dict(trials)
        while self._taken and self._taken[0].key in self._waiting:
            first = self._taken.popleft()
            self._feed(first, self._waiting.pop(first.key))

    def _feed(self, turn: Turn, trials: Mapping[Arm, Trial]) -> None:
        one, other = trials[self._design.arm], trials[self._design.against]
        if self._design.decision.stop or _called_off(one, other):
            return
        pair = pair_up(one, other, family=turn.case.family)
        self._fed.add(turn.key)
        self._design.add(pair)
        self._queue.run_again_if_errored(turn, trials)
        decision = self._design.decision
        self._after_pair(pair, decision if decision.stop else None)

    def end(self, reason: Literal["cap", "budget", "interrupted", "futile", "regraded"]) -> Decision:
        """Tell the design that no more turns will come; an earlier decision stands."""
        return self._design.end(reason)

    def counts(self, trial: Trial) -> bool:
        """Trials that were in flight when the decision fell are recorded and paid for, and change nothing."""
        return (trial.case_id, trial.repeat) in self._fed


Schedule = FixedSchedule | SequentialSchedule


def schedule_for(
    plan: TrialPlan,
    *,
    min_lift: float | None,
    after_pair: AfterPair = ignore_pair,
    level: float = FIRST_LEVEL,
    prior: Sequence[CaseTally] = (),
) -> Schedule:
    """The schedule that the design of a plan asks for; `level` and `prior` are those of a later look."""
    if plan.design == "fixed":
        return FixedSchedule(plan, after_pair=after_pair)

    def design() -> Sequential:
        return Sequential(
            cases=len(plan.cases),
            cap=plan.most_turns,
            units=plan.units,
            min_lift=min_lift,
            level=level,
            prior=prior,
            arm=plan.measured,
            against=plan.against or "baseline",
        )

    return SequentialSchedule(plan, GuardedSequential(design), after_pair=after_pair)


class ResumedSchedule:
    """The schedule of a resumed run: finished trials are fed to it before the engine is loaded."""

    def __init__(
        self,
        schedule: EngineSchedule,
        recall: Callable[[PlannedTrial], Trial | None],
    ) -> None:
        """`recall` knows the trials of the run so far."""
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
