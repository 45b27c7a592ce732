"""A result as one HTML file: no network, no script but ours, whatever the answers hold."""

from upskill.report.facts import CaseText, LoggedTrial, RunFacts
from upskill.report.html.changed import steps_for
from upskill.report.html.page import against_page, history_page, report_glance, report_page

__all__ = [
    "CaseText",
    "LoggedTrial",
    "RunFacts",
    "against_page",
    "history_page",
    "report_glance",
    "report_page",
    "steps_for",
]
