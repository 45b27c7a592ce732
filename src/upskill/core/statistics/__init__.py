"""Trials -> lift, intervals, verdict, and when to stop. Plain arithmetic: no files, no clock, no engine."""

from upskill.core.statistics.gate import (
    ENOUGH_AT_ZERO,
    ENOUGH_COPIES,
    GATE_REPEATS,
    GATE_ROUNDS,
    GateFindings,
    gate_findings,
    open_cases,
    suspected_cases,
)
from upskill.core.statistics.intervals import FEWEST_CASES, FIRST_LEVEL, ONE_LOOK, Level, measure_tokens
from upskill.core.statistics.lift import (
    BaselineTally,
    RunningLift,
    judge_agreement,
    label_of,
    lift_by_label,
    measure_lift,
    spent_on,
    summarise_arm,
    tally_baselines,
)
from upskill.core.statistics.loads import measure_loads
from upskill.core.statistics.looks import FIRST_LOOK, NextLook, level_after, level_of_look, lineage, look_terms
from upskill.core.statistics.pairs import (
    CaseTally,
    DroppedPair,
    Pair,
    Pairing,
    count_losses,
    pair_trials,
    pair_up,
    with_losses,
)
from upskill.core.statistics.planning import describe_plan, detectable_lift
from upskill.core.statistics.two_looks import PROBED_CASES, end_at_first_look, most_repeats, repeated
from upskill.core.statistics.verdict import Judgement, breakage_note, counted_pairs, holds_among, judge
