"""Trials -> lift, intervals, verdict, and when to stop. Plain arithmetic: no files, no clock, no engine."""

from upskill.core.statistics.intervals import FEWEST_CASES, FIRST_LEVEL, FIXED, SEQUENTIAL, Level, measure_tokens
from upskill.core.statistics.judge_error import heed_judge_error, measure_judge_error
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
from upskill.core.statistics.looks import (
    FIRST_LOOK,
    NextLook,
    contradiction,
    level_after,
    level_of_look,
    lineage,
    look_terms,
    recorded_look,
    repeats_earlier,
    tallies_of,
)
from upskill.core.statistics.pairs import (
    CaseTally,
    Decision,
    DroppedPair,
    Pair,
    Pairing,
    count_losses,
    pair_trials,
    pair_up,
    with_losses,
)
from upskill.core.statistics.planning import describe_plan, detectable_lift
from upskill.core.statistics.sequential import GuardedSequential, Sequential, default_cap
from upskill.core.statistics.verdict import (
    FRESH_PAIRS,
    Judgement,
    WorsenedCase,
    breakage_note,
    confirm_worse,
    holds_among,
    judge,
    more_cases_hint,
    only_if_both,
    screen_cases,
)
