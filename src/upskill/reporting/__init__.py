"""An evaluation -> terminal, JSON. Knows nothing about engines and reads no files."""

from upskill.reporting.json_report import EVALUATION_SCHEMA, evaluation_json
from upskill.reporting.money import dollars
from upskill.reporting.tokens import estimate_tokens

__all__ = ["EVALUATION_SCHEMA", "dollars", "estimate_tokens", "evaluation_json"]
