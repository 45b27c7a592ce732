"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.engine import run_trials
from upskill.trials.harness import Harness, Request, load_harness
from upskill.trials.request import Requests
from upskill.trials.schedule import Schedule
from upskill.trials.trial_limits import TrialLimits
from upskill.trials.trial_run import TrialRun

__all__ = ["Harness", "Request", "Requests", "Schedule", "TrialLimits", "TrialRun", "load_harness", "run_trials"]
