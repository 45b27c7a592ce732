"""The design that may stop early: fed pairs in planned order, it says after each whether to go on.

With six cases or more it asks whether cases like these are helped: the sign test within the first round, where every
pair is a different case, and the interval for cases like these after each further half round. The sign test for these
very cases is followed along the same path at no cost. With fewer cases, that test is all there is.

**Planned order.** Rounds of one pair per case. The caller feeds pairs in the order in which they were planned,
whatever order the answers came in. What is fed after the decision changes nothing.

**Errors.** A pair with an errored trial is fed as `DroppedPair` when its turn comes, is no look, and goes to the end of
the queue: the caller runs it again after the last round and feeds it under the same case and repeat.

**Where the looks are.** A look comes after a half or a whole round, when each of its pairs has had its turn, scored or
dropped; it does not wait for pairs that are run again, for then one error in round one would put off every later look
to the end. So the looks stand at places fixed by the plan, which no answer can move, and their number is never more
than planned. The last look is the exception: it waits for the pairs that were run again, since nothing else is left
to wait for. A pair that was run again counts in the estimate and for the sign test, and belongs to no round.

**Copies.** Where repeats turn out to be copies of each other, the first pair of each case is all the evidence there
is: the design stops with what those pairs show.

**Earlier looks.** Pairs of earlier looks at the same skill, `prior`, are part of every estimate. The sign tests know
nothing of them, so they are not asked; `level` pays for the earlier looks.

Where answers can be lost, a side is decided only if it is also shown in the worst case. A design stops where it has
just shown its side, so to look at the worst case only then would leave many runs with a lost answer undecided. Instead
it goes on until both show the side: the pairs as they were measured, and the pairs as they would be if every lost
answer had gone against it. Without a lost answer it is the design itself.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Literal

from upskill.core.nouns import Arm, Interval, Verdict
from upskill.core.statistics.exact_sign import (
    SignTest,
    is_futile,
    least_pairs_to_futility,
    may_be_no_worse,
    sign_test_is_futile,
)
from upskill.core.statistics.intervals import (
    FEWEST_CASES,
    FIRST_LEVEL,
    NO_DIFFERENCE,
    Level,
    cases_like_these,
    ratio_of_uses,
    these_cases,
    unit_of,
)
from upskill.core.statistics.pairs import (
    GO_ON,
    CaseTally,
    Claim,
    Decision,
    DroppedPair,
    Key,
    Pair,
    Pairing,
    Reason,
    Side,
    add_tallies,
    are_copies,
    side_of,
    tally_pairs,
    without_copies,
)

MOST_ROUNDS = 5
"""More looks than these rounds have would not hold their error."""
FIRST_ROUND_SHARE = 0.4
"""What the first round may spend of the level."""
LEAST_PAIRS_FOR_NO_DIFFERENCE = 20
"""With fewer pairs no outcome makes the interval narrow enough to speak of no difference."""
LEAST_FIRST_PAIRS_FOR_NO_DIFFERENCE = 57
"""The same where every pair is a different case."""
_FEW_CASES_PAIRS = 25
_MANY_CASES_PAIRS = 100
_FEW_ROUNDS = 3
"""A plan of at most so many rounds may be futile before its first is complete."""


def default_cap(cases: int) -> int:
    """The most pairs of a plan: a hundred, in whole or half rounds, but at least two rounds and at most five.

    Where cases are so few that nothing is said about others, as many rounds as give the sign test a chance.
    """
    if cases < FEWEST_CASES:
        return cases * -(-_FEW_CASES_PAIRS // cases)
    most = max(2 * cases, min(MOST_ROUNDS * cases, _MANY_CASES_PAIRS))
    return max(turns for turns in _half_rounds(cases, MOST_ROUNDS * cases) if turns <= most)


def _half_rounds(cases: int, cap: int) -> list[int]:
    """After how many turns a half or a whole round ends; the cap is always among them."""
    ends = {end for whole in range(0, cap, cases) for end in (whole + cases // 2, whole + cases)}
    return sorted({*(end for end in ends if 0 < end < cap), cap})


class Sequential:
    """One student, two arms, one decision."""

    def __init__(
        self,
        *,
        cases: int,
        cap: int | None = None,
        units: int | None = None,
        claim: Claim | None = None,
        min_lift: float | None = None,
        margin: float = NO_DIFFERENCE,
        futility: bool = True,
        level: float = FIRST_LEVEL,
        prior: Sequence[CaseTally] = (),
        arm: Arm = "with_skill",
        against: Arm = "baseline",
    ) -> None:
        """Plan for this many cases and at most `cap` pairs, which cannot be raised later.

        `units` is the number of families, where cases have some. `claim` is the claim the design aims at: cases like
        these, where there are cases enough. With `min_lift` it goes on until the interval is wholly at or above that
        lift, or wholly below it. Futility is not binding, so it may be switched off. `level` is the error of saying
        that it helps.
        """
        self.cases = cases
        self.cap = default_cap(cases) if cap is None else cap
        units = cases if units is None else units
        self.claim: Claim = claim or ("cases like these" if units >= FEWEST_CASES else "these cases")
        if self.cases < 1 or self.cap < 1:
            raise ValueError("a design needs at least one case and one pair")
        if self.claim == "cases like these" and not (units >= FEWEST_CASES and self.cap <= MOST_ROUNDS * cases):
            raise ValueError(
                f"a claim about new cases needs at least {FEWEST_CASES} cases and at most {MOST_ROUNDS} repeats"
            )
        self.arm: Arm = arm
        self.against: Arm = against
        self.min_lift = min_lift
        self.decision = GO_ON
        self.copies = False
        """Whether repeats turned out to be copies."""
        self._margin = margin
        self._futility = futility
        self._prior = tuple(prior)
        self._ends = _half_rounds(cases, self.cap)
        self._first_look = 1 if prior else cases + 1
        """The interval for cases like these is not asked before so many turns."""
        self.level = Level(level, looks=max(2, sum(end >= self._first_look for end in self._ends)))
        harm = self.level.of_harm.error
        self._sign = SignTest(cap=self.cap, error=level, of_harm=harm)
        self._first_round = SignTest(cap=cases, error=level * FIRST_ROUND_SHARE, of_harm=harm * FIRST_ROUND_SHARE)
        self._has_sign_test = not prior
        self._has_first_round_test = self._has_sign_test and units == cases
        self._wide_side: Side | None = None
        self._pairs: list[Pair] = []
        self._drops: list[DroppedPair] = []
        self._turns = 0
        self._this_round: set[str] = set()
        self._to_run_again: set[tuple[str, int]] = set()

    @property
    def pairing(self) -> Pairing:
        """The pairs the decision rests on; nothing that was fed after it."""
        pairs = without_copies(self._pairs) if self.copies else tuple(self._pairs)
        return Pairing(arm=self.arm, against=self.against, pairs=pairs, drops=tuple(self._drops), prior=self._prior)

    @property
    def complete_rounds(self) -> int:
        """Rounds in which every pair has had its turn."""
        return self._turns // self.cases

    def add(self, pair: Pair | DroppedPair) -> Decision:
        """Take the next pair in planned order, and say whether to go on."""
        if self.decision.stop:
            return self.decision
        has_turn = self._take_turn(pair)
        if isinstance(pair, DroppedPair):
            self._drops.append(pair)
        else:
            self._pairs.append(pair)
            self.decision = self._look_at_pair(pair, again=not has_turn)
        # The last look waits for the pairs that are run again: there is no other end after it.
        ends = has_turn and self._turns in self._ends and self._turns < self.cap
        if not self.decision.stop and (self._nothing_left or ends):
            self.decision = self._look_at_all(last=self._nothing_left, reason="cap")
        if not self.decision.stop and self._futility and self.min_lift is None and self._is_futile(pair, ends=ends):
            self.decision = GO_ON if self._may_be_cheaper() else self._close("futile")
        return self.decision

    def end(self, reason: Literal["cap", "budget", "interrupted", "futile", "regraded"]) -> Decision:
        """No more pairs will come: the queue is empty, a limit set before the run was reached, or a person stopped it.

        A limit cannot depend on the outcome, so one last look takes the place of those that were still to come. A
        person may have stopped because of what was on the screen, and the design with the grades that answers had
        before: then only what was already decided counts.
        """
        if self.decision.stop:
            return self.decision
        if reason in ("cap", "budget") and self._turns >= self._first_look:
            self.decision = self._look_at_all(last=True, reason=reason)
        else:
            self.decision = self._close(reason)
        return self.decision

    def least_pairs_to_stop(self) -> int:
        """How many further pairs must at least be fed before the design could stop.

        That many can be in flight without buying one too many. Exact for the sign test; otherwise the next look.
        """
        if self.decision.stop:
            return 0
        bounds: list[int | None] = [self.pairs_to_look()]
        if self.min_lift is None and self.claim == "cases like these" and self._turns < self.cases:
            bounds.append(self._first_round.least_pairs_to_stop() if self._has_first_round_test else None)
        if self.min_lift is None and self.claim == "these cases" and self._has_sign_test:
            bounds.append(self._sign.least_pairs_to_stop())
            if self._futility:
                bounds.append(least_pairs_to_futility(self._sign, cases=self.cases))
        return min(bound for bound in bounds if bound is not None)

    def pairs_to_look(self) -> int:
        """Turns until the end of the next half or whole round after which the design could stop."""
        last = self.cap - self._turns + len(self._to_run_again)
        for end in self._ends:
            if self._turns < end < self.cap and self._could_stop(end):
                return min(end - self._turns, last)
        return last

    @property
    def most_looks(self) -> int:
        """Looks that could end the design, with the last."""
        return 1 + sum(end < self.cap and self._could_stop(end) for end in self._ends)

    def _could_stop(self, end: int) -> bool:
        """Whether the look after so many turns could end the design."""
        if end > self.cases:  # from then on repeats may turn out to be copies
            return True
        if self.claim == "cases like these" or self.min_lift is not None:
            futile = self._futility and self.min_lift is None and end >= self._first_futility
            return end >= self._first_look or futile or self._may_show_no_difference(end)
        return self._may_show_no_difference(end)

    def _may_show_no_difference(self, end: int) -> bool:
        pairs = len(self._pairs) + end - self._turns + sum(tally.pairs for tally in self._prior)
        least = LEAST_PAIRS_FOR_NO_DIFFERENCE if end > self.cases else LEAST_FIRST_PAIRS_FOR_NO_DIFFERENCE
        return self.min_lift is None and end % self.cases == 0 and pairs >= least

    @cached_property
    def _first_futility(self) -> int:
        """After so many turns the plan may be futile; in a long plan not before the interval had its first look."""
        return self._ends[0] if self.cap <= _FEW_ROUNDS * self.cases or self._prior else self.cases + 1

    @property
    def _nothing_left(self) -> bool:
        return self._turns == self.cap and not self._to_run_again

    def _take_turn(self, pair: Pair | DroppedPair) -> bool:
        """Whether this is a turn of the plan; a pair that is run again has none."""
        key = (pair.case_id, pair.repeat)
        if key in self._to_run_again:
            if isinstance(pair, Pair):
                self._to_run_again.remove(key)
            return False
        if self._turns == self.cap or pair.case_id in self._this_round:
            raise ValueError(f"{pair.case_id}, repeat {pair.repeat}: not the next pair of the plan")
        self._turns += 1
        self._this_round.add(pair.case_id)
        if isinstance(pair, DroppedPair):
            self._to_run_again.add(key)
        if self._turns % self.cases == 0:
            self._this_round.clear()
        return True

    def _look_at_pair(self, pair: Pair, *, again: bool) -> Decision:
        """The look that every scored pair is."""
        if not self._has_sign_test:
            return GO_ON
        self._sign.add(pair)
        if self.claim == "cases like these":
            if self._has_first_round_test and self._turns <= self.cases and not again:
                self._wide_side = self._first_round.add(pair)
            side = self._wide_side
        else:
            side = self._sign.side
        if side is None or self.min_lift is not None:
            return GO_ON
        if self.claim == "these cases" and are_copies(self._pairs):
            return self._close_copies()
        return self._close("decided")

    def _look_at_all(self, *, last: bool, reason: Reason) -> Decision:
        """The look after a half or a whole round, and after everything."""
        if are_copies(self._pairs):
            return self._close_copies()
        wide = self.claim == "cases like these"
        interval = self._interval(wide=wide)
        if interval is not None:
            looks = self._turns >= self._first_look
            if wide and looks and self._wide_side is None:
                self._wide_side = side_of(interval)
            if self.min_lift is not None:
                clears = interval.low >= self.min_lift
                if (clears or interval.high < self.min_lift) and (looks or last):
                    return self._close("decided", clears=clears)
            elif self._wide_side is not None or (self._prior and not wide and side_of(interval) is not None):
                return self._close("decided")
            elif self._sign.side is None and self._is_no_difference():
                return self._close("no difference")
        return self._close(reason) if last else GO_ON

    def _is_futile(self, pair: Pair | DroppedPair, *, ends: bool) -> bool:
        if self.claim == "these cases":
            return self._has_sign_test and isinstance(pair, Pair) and sign_test_is_futile(self._sign, cases=self.cases)
        if not ends or self._turns < self._first_futility:
            return False
        before = sum(tally.pairs for tally in self._prior)
        return is_futile(self._tallies, self.level, share=(before + self._turns) / (before + self.cap))

    def _may_be_cheaper(self) -> bool:
        """Whether fewer tokens are surely used, and the rest of the plan could still show that nothing is lost."""
        tokens = ratio_of_uses(((unit_of(pair.case_id, pair.family), pair.tokens) for pair in self._pairs), self.level)
        if tokens is None or not tokens.below_one:
            return False
        before = sum(tally.pairs for tally in self._prior)
        return may_be_no_worse(self._tallies, self.level, share=(before + self._turns) / (before + self.cap))

    @property
    def _tallies(self) -> tuple[CaseTally, ...]:
        return add_tallies(tally_pairs(self._pairs), self._prior)

    def _interval(self, *, wide: bool) -> Interval | None:
        tallies = self._tallies
        if not tallies:
            return None
        return cases_like_these(tallies, self.level) if wide else these_cases(tallies, self.level)

    def _is_no_difference(self) -> bool:
        if self._turns % self.cases and not self._nothing_left:
            return False
        interval = these_cases(self._tallies, self.level)
        return interval.low > -self._margin and interval.high < self._margin

    def _close_copies(self) -> Decision:
        """Stop with what the first pair of each case shows: the other pairs are no further evidence."""
        self.copies = True
        tallies = self.pairing.tallies
        wide, narrow = cases_like_these(tallies, self.level), these_cases(tallies, self.level)
        asked = wide or narrow
        clears = None
        if self.min_lift is not None and not asked.low < self.min_lift <= asked.high:
            clears = asked.low >= self.min_lift
        if wide is not None and (side := side_of(wide)) is not None:
            return Decision(reason="copies", verdict=side, claim="cases like these", clears=clears)
        if (side := side_of(narrow)) is not None:
            return Decision(reason="copies", verdict=side, claim="these cases", clears=clears)
        return Decision(reason="copies", clears=clears)

    def _close(self, reason: Reason, *, clears: bool | None = None) -> Decision:
        """Stop, with the widest claim that holds.

        Where the run went on after a boundary was crossed (these cases followed on the way to cases like these, or
        a lift asked for), the side is claimed only if the interval still excludes zero now. Without that, the two
        claims together would be wrong in more than one run of twenty.
        """
        verdict: Verdict = "undecided"
        claim: Claim | None = None
        crossed_now = reason == "decided" and self.min_lift is None
        narrow = self._shown(wide=False) if self._prior else self._sign.side
        if self._wide_side is not None and (crossed_now or self._wide_side == self._shown(wide=True)):
            verdict, claim = self._wide_side, "cases like these"
        elif narrow is not None and (crossed_now or narrow == self._shown(wide=False)):
            verdict, claim = narrow, "these cases"
        elif reason == "no difference":
            verdict, claim = "no difference", "these cases"
        return Decision(reason=reason, verdict=verdict, claim=claim, clears=clears)

    def _shown(self, *, wide: bool) -> Side | None:
        interval = self._interval(wide=wide)
        return None if interval is None else side_of(interval)


class GuardedSequential:
    """One student, two arms, one decision that lost answers could not have made."""

    def __init__(self, design: Callable[[], Sequential]) -> None:
        """`design` makes the design as it was planned; the worst case is followed by a second one."""
        self._design = design
        self._measured = design()
        self._feared: tuple[Side, Sequential] | None = None
        self._fed: list[Pair | DroppedPair] = []
        self._lost: set[Key] = set()
        self._lost_against: set[Key] = set()
        self.decision = GO_ON

    @property
    def arm(self) -> Arm:
        """The arm that is measured."""
        return self._measured.arm

    @property
    def against(self) -> Arm:
        """The arm it is measured against."""
        return self._measured.against

    @property
    def pairing(self) -> Pairing:
        """The pairs the decision rests on, as they were measured; nothing that was fed after it."""
        if self._feared is None:
            return self._measured.pairing
        pairs = tuple(pair for pair in self._fed if isinstance(pair, Pair))
        drops = tuple(pair for pair in self._fed if isinstance(pair, DroppedPair))
        return replace(self._measured.pairing, pairs=without_copies(pairs) if self.copies else pairs, drops=drops)

    @property
    def level(self) -> Level:
        """How strictly the design tests."""
        return self._measured.level

    @property
    def copies(self) -> bool:
        """Whether repeats turned out to be copies."""
        return self._measured.copies or (self._feared is not None and self._feared[1].copies)

    def add(self, pair: Pair | DroppedPair) -> Decision:
        """Take the next pair in planned order, and say whether to go on."""
        if not self.decision.stop:
            self._fed.append(pair)
            key = (pair.case_id, pair.repeat)
            self._lost |= {key} if pair.lost else set()
            self._lost_against |= {key} if pair.lost_against else set()
            if self._feared is not None:
                side, design = self._feared
                design.add(self._worst(pair, side))
            self.decision = self._guard(self._measured.add(pair))
        return self.decision

    def end(self, reason: Literal["cap", "budget", "interrupted", "futile", "regraded"]) -> Decision:
        """No more pairs will come; an earlier decision stands."""
        if not self.decision.stop:
            measured = self._measured.end(reason)
            self._guard(measured)
            if self._feared is not None:
                self._feared[1].end(reason)
            self.decision = self._guard(measured)
        return self.decision

    def least_pairs_to_stop(self) -> int:
        """How many further pairs must at least be fed before the design could stop."""
        if self.decision.stop:
            return 0
        return self._followed.least_pairs_to_stop()

    def pairs_to_look(self) -> int:
        """Turns until the end of the next half or whole round after which the design could stop."""
        return self._followed.pairs_to_look()

    @property
    def most_looks(self) -> int:
        """Looks that could end the design, with the last."""
        return self._followed.most_looks

    @property
    def _followed(self) -> Sequential:
        """The design that has not come to its end."""
        return self._measured if self._feared is None else self._feared[1]

    def _guard(self, measured: Decision) -> Decision:
        """The decision on what was measured, once the worst case has come to one too."""
        side = measured.verdict
        if (side != "helps" and side != "hurts") or not (self._lost or self._lost_against):
            return measured
        if self._feared is None:
            self._feared = side, self._design()
            for pair in self._fed:
                self._feared[1].add(self._worst(pair, side))
        feared = self._feared[1].decision
        if not feared.stop or feared.verdict == side:
            return feared
        return replace(feared, verdict="undecided", claim=None)

    def _worst(self, pair: Pair | DroppedPair, side: Side) -> Pair | DroppedPair:
        """The pair if what was lost in it, in whichever try, had gone against this side."""
        if isinstance(pair, DroppedPair):
            return pair
        key, helps = (pair.case_id, pair.repeat), side == "helps"
        return replace(
            pair,
            passed=not helps if key in self._lost else pair.passed,
            passed_against=helps if key in self._lost_against else pair.passed_against,
        )
