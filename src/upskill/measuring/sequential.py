"""The design that may stop early: fed pairs in planned order, it says after each whether to go on.

With six cases or more it asks whether cases like these are helped: the sign test within the first round, where every
pair is a different case, and the floored t after each complete round from the second on. The sign test for these very
cases is followed along the same path at no cost. With fewer cases, that test is all there is.

**Planned order.** Rounds of one pair per case. The caller feeds pairs in the order in which they were planned,
whatever order the answers came in. What is fed after the decision changes nothing.

**Errors.** A pair with an errored trial is fed as `DroppedPair` when its turn comes, is no look, and goes to the end of
the queue: the caller runs it again after the last round and feeds it under the same case and repeat.

**A complete round.** A round is complete when each of its pairs has had its turn, scored or dropped; it does not wait
for pairs that are run again, for then one error in round one would put off every later look to the end. So the looks
stand at places fixed by the plan, which no answer can move, and their number is never more than planned. The last
round is the exception: its look waits for the pairs that were run again, since nothing else is left to wait for. A
pair that was run again counts in the estimate and for the sign test, and belongs to no round.
"""

from collections.abc import Sequence
from typing import Literal

from upskill.domain import Arm, Interval, Verdict
from upskill.measuring.decision import GO_ON, Claim, Decision, Reason, Side, side_of
from upskill.measuring.exact_sign import SignTest
from upskill.measuring.futility import least_pairs_to_futility, rounds_are_futile, sign_test_is_futile
from upskill.measuring.intervals import FEWEST_CASES, NO_DIFFERENCE, Z_SEQUENTIAL, floored_t, these_cases
from upskill.measuring.pairs import CaseTally, DroppedPair, Pair, Pairing, tally_pairs

MOST_ROUNDS = 5
"""More looks of the floored t than this would not hold their error."""
FIRST_ROUND_ALPHA = 0.02
LEAST_PAIRS_FOR_NO_DIFFERENCE = 20
"""With fewer pairs no outcome makes the interval narrow enough to speak of no difference."""
LEAST_FIRST_PAIRS_FOR_NO_DIFFERENCE = 57
"""The same where every pair is a different case."""
_FEW_CASES_PAIRS = 25


def default_rounds(cases: int) -> int:
    """Five rounds; more where cases are so few that five would leave the sign test without a chance."""
    return MOST_ROUNDS if cases >= FEWEST_CASES else -(-_FEW_CASES_PAIRS // cases)


class Sequential:
    """One student, two arms, one decision."""

    def __init__(
        self,
        *,
        cases: int,
        rounds: int | None = None,
        claim: Claim | None = None,
        min_lift: float | None = None,
        margin: float = NO_DIFFERENCE,
        futility: bool = True,
        arm: Arm = "with_skill",
        against: Arm = "baseline",
    ) -> None:
        """Plan for this many cases and rounds; together they are the cap, which cannot be raised later.

        `claim` is the claim the design aims at: cases like these, where there are cases enough. With `min_lift` it
        goes on until the interval is wholly at or above that lift, or wholly below it. Futility is not binding, so
        it may be switched off.
        """
        self.cases = cases
        self.rounds = default_rounds(cases) if rounds is None else rounds
        self.claim: Claim = claim or ("cases like these" if cases >= FEWEST_CASES else "these cases")
        if self.cases < 1 or self.rounds < 1:
            raise ValueError("a design needs at least one case and one round")
        if self.claim == "cases like these" and not (cases >= FEWEST_CASES and self.rounds <= MOST_ROUNDS):
            raise ValueError(
                f"to speak of cases like these takes at least {FEWEST_CASES} cases and at most {MOST_ROUNDS} rounds"
            )
        self.arm: Arm = arm
        self.against: Arm = against
        self.min_lift = min_lift
        self.decision = GO_ON
        self._margin = margin
        self._futility = futility
        self._sign = SignTest(cap=self.cap)
        self._first_round = SignTest(cap=cases, alpha=FIRST_ROUND_ALPHA)
        self._wide_side: Side | None = None
        self._pairs: list[Pair] = []
        self._drops: list[DroppedPair] = []
        self._turns = 0
        self._this_round: set[str] = set()
        self._to_run_again: set[tuple[str, int]] = set()

    @property
    def cap(self) -> int:
        """The most pairs that are scored."""
        return self.cases * self.rounds

    @property
    def pairing(self) -> Pairing:
        """The pairs the decision rests on; nothing that was fed after it."""
        return Pairing(arm=self.arm, against=self.against, pairs=tuple(self._pairs), drops=tuple(self._drops))

    @property
    def complete_rounds(self) -> int:
        """Rounds in which every pair has had its turn."""
        return self._turns // self.cases

    def add(self, pair: Pair | DroppedPair) -> Decision:
        """Take the next pair in planned order, and say whether to go on."""
        if self.decision.stop:
            return self.decision
        completes = self._take_turn(pair)
        if isinstance(pair, DroppedPair):
            self._drops.append(pair)
        else:
            self._pairs.append(pair)
            self.decision = self._look_at_pair(pair, again=completes is None)
        # The last round's look waits for the pairs that are run again: there is no other end after it.
        if not self.decision.stop and (self._nothing_left or (completes and self._turns < self.cap)):
            self.decision = self._look_at_round(last=self._nothing_left, reason="cap")
        if not self.decision.stop and self._futility and self.min_lift is None and self._is_futile(pair, completes):
            self.decision = self._close("futile")
        return self.decision

    def end(self, reason: Literal["cap", "budget", "interrupted"]) -> Decision:
        """No more pairs will come: the queue is empty, a limit set before the run was reached, or a person stopped it.

        A limit cannot depend on the outcome, so one last look takes the place of those that were still to come. A
        person may have stopped because of what was on the screen: then only what was already decided counts.
        """
        if self.decision.stop:
            return self.decision
        if reason != "interrupted" and self._turns > self.cases:
            self.decision = self._look_at_round(last=True, reason=reason)
        else:
            self.decision = self._close(reason)
        return self.decision

    def least_pairs_to_stop(self) -> int:
        """How many further pairs must at least be fed before the design could stop.

        That many can be in flight without buying one too many. Exact for the sign test; for a round, its end.
        """
        if self.decision.stop:
            return 0
        bounds: list[int | None] = [self._least_pairs_to_round_look()]
        if self.min_lift is None and self.claim == "cases like these" and self._turns < self.cases:
            bounds.append(self._first_round.least_pairs_to_stop())
        if self.min_lift is None and self.claim == "these cases":
            bounds.append(self._sign.least_pairs_to_stop())
            if self._futility:
                bounds.append(least_pairs_to_futility(self._sign, cases=self.cases))
        return min(bound for bound in bounds if bound is not None)

    def _least_pairs_to_round_look(self) -> int:
        """Turns until the end of the next round at which the design could stop."""
        end = self.cap - self._turns + len(self._to_run_again)
        for complete in range(self.complete_rounds + 1, self.rounds):
            turns = complete * self.cases - self._turns
            pairs = len(self._pairs) + turns
            looks = complete > 1 and (self.claim == "cases like these" or self.min_lift is not None)
            least = LEAST_PAIRS_FOR_NO_DIFFERENCE if complete > 1 else LEAST_FIRST_PAIRS_FOR_NO_DIFFERENCE
            if looks or (self.min_lift is None and pairs >= least):
                return min(turns, end)
        return end

    @property
    def _nothing_left(self) -> bool:
        return self._turns == self.cap and not self._to_run_again

    def _take_turn(self, pair: Pair | DroppedPair) -> bool | None:
        """Whether this turn completes its round; `None` for a pair that is run again, which has no turn."""
        key = (pair.case_id, pair.repeat)
        if key in self._to_run_again:
            if isinstance(pair, Pair):
                self._to_run_again.remove(key)
            return None
        if self._turns == self.cap or pair.case_id in self._this_round:
            raise ValueError(f"{pair.case_id}, repeat {pair.repeat}: not the next pair of the plan")
        self._turns += 1
        self._this_round.add(pair.case_id)
        if isinstance(pair, DroppedPair):
            self._to_run_again.add(key)
        if self._turns % self.cases:
            return False
        self._this_round.clear()
        return True

    def _look_at_pair(self, pair: Pair, *, again: bool) -> Decision:
        """The look that every scored pair is."""
        self._sign.add(pair)
        if self.claim == "cases like these" and self._turns <= self.cases and not again:
            self._wide_side = self._first_round.add(pair)
        side = self._wide_side if self.claim == "cases like these" else self._sign.side
        return self._close("decided") if side is not None and self.min_lift is None else GO_ON

    def _look_at_round(self, *, last: bool, reason: Reason) -> Decision:
        """The look after a complete round, and after everything."""
        tallies = tally_pairs(self._pairs)
        wide = self.claim == "cases like these"
        if len(tallies) >= (FEWEST_CASES if wide else 1):
            interval = _interval(tallies, wide=wide)
            later = self._turns > self.cases
            if wide and later and self._wide_side is None:
                self._wide_side = side_of(interval)
            if self.min_lift is not None:
                clears = interval.low >= self.min_lift
                if (clears or interval.high < self.min_lift) and (later or last):
                    return self._close("decided", clears=clears)
            elif self._wide_side is not None:
                return self._close("decided")
            elif self._sign.side is None and self._is_no_difference(tallies):
                return self._close("no difference")
        return self._close(reason) if last else GO_ON

    def _is_futile(self, pair: Pair | DroppedPair, completes: bool | None) -> bool:
        if self.claim == "these cases":
            return isinstance(pair, Pair) and sign_test_is_futile(self._sign, cases=self.cases)
        # After the first round nothing is futile yet: the floored t has not had its first look.
        if not completes or not 1 < self.complete_rounds < self.rounds:
            return False
        tallies = tally_pairs(self._pairs)
        return len(tallies) >= FEWEST_CASES and rounds_are_futile(
            tallies, complete=self.complete_rounds, rounds=self.rounds
        )

    def _is_no_difference(self, tallies: Sequence[CaseTally]) -> bool:
        interval = _interval(tallies, wide=False)
        return interval.low > -self._margin and interval.high < self._margin

    def _close(self, reason: Reason, *, clears: bool | None = None) -> Decision:
        """Stop, with the widest claim that holds.

        Where the run went on after a boundary was crossed (these cases followed on the way to cases like these, or
        a lift asked for), the side is claimed only if the interval still excludes zero now. Without that, the two
        claims together would be wrong in more than one run of twenty.
        """
        verdict: Verdict = "undecided"
        claim: Claim | None = None
        tallies = tally_pairs(self._pairs)
        crossed_now = reason == "decided" and self.min_lift is None
        if self._wide_side is not None and (crossed_now or self._wide_side == side_of(_interval(tallies, wide=True))):
            verdict, claim = self._wide_side, "cases like these"
        elif self._sign.side is not None and (
            crossed_now or self._sign.side == side_of(_interval(tallies, wide=False))
        ):
            verdict, claim = self._sign.side, "these cases"
        elif reason == "no difference":
            verdict, claim = "no difference", "these cases"
        return Decision(reason=reason, verdict=verdict, claim=claim, clears=clears)


def _interval(tallies: Sequence[CaseTally], *, wide: bool) -> Interval:
    return floored_t(tallies, z=Z_SEQUENTIAL) if wide else these_cases(tallies, z=Z_SEQUENTIAL)
