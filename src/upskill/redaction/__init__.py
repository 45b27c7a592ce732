"""What must never leave: secrets are taken out of traces, skills and logs before anything is shown, sent or stored.

Two layers. The exact values of the user's own keys, in every usual encoding; and patterns, for other people's keys.
Knows nothing of files or models: text in, text out.
"""

from upskill.redaction.redactor import Redactions, Redactor, redactor_from

__all__ = ["Redactions", "Redactor", "redactor_from"]
