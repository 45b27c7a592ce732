"""Which model, where it is served, what it costs; and the one metered door through which every call goes."""

from upskill.models.asking import Asker, NotAnswered
from upskill.models.bill import Bill, Purpose, billing
from upskill.models.budget import Budget, BudgetReached, Spent
from upskill.models.door import Door
from upskill.models.endpoint import Endpoint, resolve_model
from upskill.models.ledger import Policy
from upskill.models.preflight import Served, probe
from upskill.models.question import Ask, Message, Question, Reply
from upskill.models.teacher import Teacher

__all__ = [
    "Ask",
    "Asker",
    "Bill",
    "Budget",
    "BudgetReached",
    "Door",
    "Endpoint",
    "Message",
    "NotAnswered",
    "Policy",
    "Purpose",
    "Question",
    "Reply",
    "Served",
    "Spent",
    "Teacher",
    "billing",
    "probe",
    "resolve_model",
]
