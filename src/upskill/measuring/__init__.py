"""Trials -> lift, intervals, verdict, and when to stop. Plain arithmetic: no files, no clock, no engine."""

from upskill.measuring.acceptance import (
    FRESH_PAIRS,
    WorsenedCase,
    confirm_worse,
    screen_cases,
)
from upskill.measuring.aptitude import LEAST_CASES, ceiling_lift, most_rounds, prospect
from upskill.measuring.decision import Decision
from upskill.measuring.few_cases import breakage_note, more_cases_hint
from upskill.measuring.guarded import GuardedSequential
from upskill.measuring.intervals import FEWEST_CASES, FIXED, SEQUENTIAL, Level
from upskill.measuring.judge_error import heed_judge_error, measure_judge_error
from upskill.measuring.lift import (
    BaselineTally,
    RunningLift,
    label_of,
    lift_by_label,
    measure_lift,
    tally_baselines,
)
from upskill.measuring.loads import measure_loads
from upskill.measuring.look_check import contradiction
from upskill.measuring.looks import (
    FIRST_LEVEL,
    FIRST_LOOK,
    NextLook,
    level_after,
    level_of_look,
    lineage,
    look_terms,
    recorded_look,
    repeats_earlier,
    taken_again,
    tallies_of,
)
from upskill.measuring.pairs import (
    CaseTally,
    DroppedPair,
    Pair,
    Pairing,
    count_losses,
    pair_trials,
    pair_up,
    with_losses,
)
from upskill.measuring.planning import describe_plan, detectable_lift
from upskill.measuring.sequential import Sequential, default_cap
from upskill.measuring.summary import judge_agreement, spent_on, summarise_arm
from upskill.measuring.token_ratio import measure_tokens
from upskill.measuring.trigger import last_tries, score_triggering, tally_prompts
from upskill.measuring.verdict import Judgement, holds_among, judge, only_if_both

__all__ = [
    "FEWEST_CASES",
    "FIRST_LEVEL",
    "FIRST_LOOK",
    "FIXED",
    "FRESH_PAIRS",
    "LEAST_CASES",
    "SEQUENTIAL",
    "BaselineTally",
    "CaseTally",
    "Decision",
    "DroppedPair",
    "GuardedSequential",
    "Judgement",
    "Level",
    "NextLook",
    "Pair",
    "Pairing",
    "RunningLift",
    "Sequential",
    "WorsenedCase",
    "breakage_note",
    "ceiling_lift",
    "confirm_worse",
    "contradiction",
    "count_losses",
    "default_cap",
    "describe_plan",
    "detectable_lift",
    "heed_judge_error",
    "holds_among",
    "judge",
    "judge_agreement",
    "label_of",
    "last_tries",
    "level_after",
    "level_of_look",
    "lift_by_label",
    "lineage",
    "look_terms",
    "measure_judge_error",
    "measure_lift",
    "measure_loads",
    "measure_tokens",
    "more_cases_hint",
    "most_rounds",
    "only_if_both",
    "pair_trials",
    "pair_up",
    "prospect",
    "recorded_look",
    "repeats_earlier",
    "score_triggering",
    "screen_cases",
    "spent_on",
    "summarise_arm",
    "taken_again",
    "tallies_of",
    "tally_baselines",
    "tally_prompts",
    "with_losses",
]
