"""Removes secrets from traces, skills and logs before anything is shown, sent or stored.

Two layers: the exact values of the user's own keys, in every usual encoding, and patterns for other people's keys.
Text in, text out: knows nothing of files or models.
"""

from upskill.redaction.redactor import Redactions, Redactor, redactor_from, redactor_of_answers

__all__ = ["Redactions", "Redactor", "redactor_from", "redactor_of_answers"]
