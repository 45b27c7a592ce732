"""The sequential design where answers can be lost: a side is decided only if it is also shown in the worst case.

A design stops where it has just shown its side, so to look at the worst case only then would leave many runs with a
lost answer undecided. Instead it goes on until both show the side: the pairs as they were measured, and the pairs as
they would be if every lost answer had gone against it. Without a lost answer it is the design itself.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from upskill.domain import Arm
from upskill.measuring.copies import without_copies
from upskill.measuring.decision import GO_ON, Decision, Side
from upskill.measuring.intervals import Level
from upskill.measuring.pairs import DroppedPair, Key, Pair, Pairing
from upskill.measuring.sequential import Sequential


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
        return (self._measured if self._feared is None else self._feared[1]).least_pairs_to_stop()

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
