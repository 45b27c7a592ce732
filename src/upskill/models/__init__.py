"""Which model, where it is served, what it costs; and the one metered door through which every call goes."""

from upskill.models.asking import Asker, NotAnswered
from upskill.models.bill import Bill, Purpose, billing
from upskill.models.budget import Budget, BudgetReached, Spent
from upskill.models.door import Door, Policy
from upskill.models.endpoint import Endpoint
from upskill.models.preflight import Served, probe
from upskill.models.resolving import resolve_model

__all__ = [
    "Asker",
    "Bill",
    "Budget",
    "BudgetReached",
    "Door",
    "Endpoint",
    "NotAnswered",
    "Policy",
    "Purpose",
    "Served",
    "Spent",
    "billing",
    "probe",
    "resolve_model",
]
