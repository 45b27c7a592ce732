"""Every key that results in `evidence.json` had before they held reports, and where its value is now.

The results before are those of the gallery; the same runs gave the ones that are there now.
"""

import json
from pathlib import Path
from typing import Any

import pytest

GALLERY = Path(__file__).parents[3] / "gallery"
BEFORE: dict[str, list[dict[str, Any]]] = json.loads((Path(__file__).parent / "evidence_before.json").read_text())
NOW = {
    "model": "report.student.name",
    "resolved": "report.student.model",
    "temperature": "report.student.temperature",
    "max_output_tokens": "report.student.max_output_tokens",
    "answered_by": "report.answered_by",
    "harness": "report.harness",
    "arm": "report.lifts.0.arm",
    "verdict": "report.verdict",
    "claim": "report.claim",
    "sentence": "report.sentence",
    "rate": "report.lifts.0.rate",
    "rate_against": "report.lifts.0.rate_against",
    "lift": "report.lifts.0.mean",
    "these_cases": "report.lifts.0.these_cases",
    "cases_like_these": "report.lifts.0.cases_like_these",
    "confidence": "report.lifts.0.confidence",
    "pairs": "report.lifts.0.pairs",
    "dropped": "report.lifts.0.dropped",
    "cases_seen": "report.lifts.0.cases",
    "earlier_pairs": "report.earlier_pairs",
    "errored": "report.arms.*.errored",
    "lost": "report.arms.*.lost",
    "labels": "report.label_lifts",
    "load_rate": "report.loads",
}
"""Other keys stayed; `scripted` is how the id of the model begins."""


def _value(result: Any, where: str) -> Any:
    first, _, rest = where.partition(".")
    if first == "*":
        return sum(_value(one, rest) for one in result[:2])
    inner = result[int(first)] if isinstance(result, list) else result[first]
    return _value(inner, rest) if rest else inner


def _as_before(key: str, value: Any) -> Any:
    if key in ("these_cases", "cases_like_these"):
        return [value["low"], value["high"]]
    if key == "labels":
        return {one["label"]: one["cases"] for one in value if one["label"] is not None}
    return value


@pytest.mark.parametrize("skill", BEFORE)
def test_every_value_of_a_result_is_where_the_table_says(skill: str) -> None:
    results = json.loads((GALLERY / skill / "evidence.json").read_text())["results"]
    for before, now in zip(BEFORE[skill], results, strict=True):
        before.pop("scripted")
        assert {key: _as_before(key, _value(now, NOW.get(key, key))) for key in before} == before
        assert {"report", *(before.keys() - NOW.keys())} == now.keys()
