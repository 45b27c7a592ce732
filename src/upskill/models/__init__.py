"""Which model, where it is served, what it costs; and the one metered client through which every call goes."""

from upskill.models.bill import Bill, Purpose, billing
from upskill.models.client import MeteredClient
from upskill.models.endpoint import Endpoint, resolve_model
from upskill.models.handoff import Handoff, HandoffOpen
from upskill.models.judge_client import JudgeClient, NoAnswer
from upskill.models.ledger import Budget, CallPolicy, Spending
from upskill.models.preflight import ServedModel, probe
from upskill.models.question import Ask, Message, Question, Reply
from upskill.models.teacher import Teacher

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
