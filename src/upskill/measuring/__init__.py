"""Trials -> lift, intervals, verdict, and when to stop. Plain arithmetic: no files, no clock, no engine."""

from upskill.measuring.acceptance import (
    FRESH_PAIRS,
    REPEATS_OF_A_LATER_USE,
    Gate,
    WorsenedCase,
    confirm_worse,
    level_of_use,
    number_of_use,
    pass_gate,
    screen_cases,
)
from upskill.measuring.decision import Decision
from upskill.measuring.few_cases import breakage_note, more_cases_hint
from upskill.measuring.intervals import FEWEST_CASES, FIXED, SEQUENTIAL, Level
from upskill.measuring.judge_error import heed_judge_error, measure_judge_error
from upskill.measuring.lift import (
    BaselineTally,
    RunningLift,
    label_of,
    lift_by_label,
    measure_lift,
    tally_baselines,
    worst_case_lift,
)
from upskill.measuring.pairs import CaseTally, DroppedPair, Pair, Pairing, pair_trials, pair_up
from upskill.measuring.planning import describe_plan, detectable_lift
from upskill.measuring.sequential import Sequential, default_cap
from upskill.measuring.summary import judge_agreement, summarise_arm
from upskill.measuring.token_ratio import measure_tokens
from upskill.measuring.verdict import Judgement, judge

__all__ = [
    "FEWEST_CASES",
    "FIXED",
    "FRESH_PAIRS",
    "REPEATS_OF_A_LATER_USE",
    "SEQUENTIAL",
    "BaselineTally",
    "CaseTally",
    "Decision",
    "DroppedPair",
    "Gate",
    "Judgement",
    "Level",
    "Pair",
    "Pairing",
    "RunningLift",
    "Sequential",
    "WorsenedCase",
    "breakage_note",
    "confirm_worse",
    "default_cap",
    "describe_plan",
    "detectable_lift",
    "heed_judge_error",
    "judge",
    "judge_agreement",
    "label_of",
    "level_of_use",
    "lift_by_label",
    "measure_judge_error",
    "measure_lift",
    "measure_tokens",
    "more_cases_hint",
    "number_of_use",
    "pair_trials",
    "pair_up",
    "pass_gate",
    "screen_cases",
    "summarise_arm",
    "tally_baselines",
    "worst_case_lift",
]
