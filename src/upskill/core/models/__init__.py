"""Which model, where it is served, what it costs; and the one metered client through which every call goes."""

from upskill.core.models.client import JudgeClient, MeteredClient, NoAnswer, Teacher
from upskill.core.models.endpoint import Endpoint, resolve_model
from upskill.core.models.handoff import Handoff, HandoffOpen
from upskill.core.models.preflight import ServedModel, probe
from upskill.core.models.spending import (
    Ask,
    Bill,
    Budget,
    CallPolicy,
    Message,
    Purpose,
    Question,
    Reply,
    Spending,
    billing,
)

__all__ = [
    "Ask",
    "Bill",
    "Budget",
    "CallPolicy",
    "Endpoint",
    "Handoff",
    "HandoffOpen",
    "JudgeClient",
    "Message",
    "MeteredClient",
    "NoAnswer",
    "Purpose",
    "Question",
    "Reply",
    "ServedModel",
    "Spending",
    "Teacher",
    "billing",
    "probe",
    "resolve_model",
]
