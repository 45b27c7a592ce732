"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.course import Course
from upskill.trials.engine import run_trials
from upskill.trials.harness import Harness, Request, load_harness
from upskill.trials.request import Requests
from upskill.trials.terms import Terms
from upskill.trials.trial_run import TrialRun

__all__ = ["Course", "Harness", "Request", "Requests", "Terms", "TrialRun", "load_harness", "run_trials"]
