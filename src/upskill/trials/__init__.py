"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.agent_setup import AgentSetup
from upskill.trials.coding_agents.harness import agent_limits
from upskill.trials.engine import run_trials
from upskill.trials.harness import load_harness
from upskill.trials.request import Requests
from upskill.trials.trial_limits import TrialLimits
from upskill.trials.trial_run import Claims, Schedule, TrialRun

__all__ = [
    "AgentSetup",
    "Claims",
    "Requests",
    "Schedule",
    "TrialLimits",
    "TrialRun",
    "agent_limits",
    "load_harness",
    "run_trials",
]
