"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.course import Course
from upskill.trials.engine import RunEnd, TrialRun, run_trials
from upskill.trials.request import FRAME, HARNESSES, Request, Requests

__all__ = ["FRAME", "HARNESSES", "Course", "Request", "Requests", "RunEnd", "TrialRun", "run_trials"]
