"""A plan -> trials, on the Inspect engine. Is handed a `grade` function and knows no kind of check."""

from upskill.trials.course import Course
from upskill.trials.engine import TrialRun, run_trials
from upskill.trials.request import ASK_THE_SAME, FRAMES, HARNESSES, Request, Requests
from upskill.trials.terms import Terms

__all__ = ["ASK_THE_SAME", "FRAMES", "HARNESSES", "Course", "Request", "Requests", "Terms", "TrialRun", "run_trials"]
