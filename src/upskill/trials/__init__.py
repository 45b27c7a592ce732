"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.course import Course
from upskill.trials.engine import TrialRun, run_trials
from upskill.trials.harness import Harness, load_harness
from upskill.trials.request import Request, Requests
from upskill.trials.terms import Terms

__all__ = ["Course", "Harness", "Request", "Requests", "Terms", "TrialRun", "load_harness", "run_trials"]
