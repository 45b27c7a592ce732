"""Trials -> lift, intervals, verdict. Plain arithmetic: no files, no clock, no engine."""

from upskill.measuring.lift import measure_lift
from upskill.measuring.pairs import Pairing, pair_trials
from upskill.measuring.summary import summarise_arm
from upskill.measuring.verdict import Judgement, judge

__all__ = ["Judgement", "Pairing", "judge", "measure_lift", "pair_trials", "summarise_arm"]
