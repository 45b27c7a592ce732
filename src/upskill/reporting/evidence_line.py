"""The evidence of a skill in one line, for a person who is about to install or publish it."""

from collections.abc import Sequence

from upskill.domain.evidence import Evidence, EvidenceResult
from upskill.domain.lift import Verdict
from upskill.domain.text import count, points, points_range, shortened

NOT_MEASURED = "not measured"
_LONGEST_NAME = 60
_ORDER: tuple[Verdict, ...] = ("helps", "cheaper", "no difference", "undecided", "invalid", "hurts")


def evidence_line(evidence: Evidence | None) -> str:
    """What was found, for which models: `helps qwen3-4b, +31 points (95% CI +12 to +50)`."""
    results = () if evidence is None else evidence.results
    if not results:
        return NOT_MEASURED
    models = [one for one in results if not one.scripted]
    if not models:
        return f"{NOT_MEASURED} on a model: a script answered"
    if len(models) == 1:
        return _single(models[0])
    return "; ".join(words for verdict in _ORDER if (words := _several(verdict, models)))


def _single(one: EvidenceResult) -> str:
    lift = "" if one.lift is None else f", {points(one.lift)} points"
    interval = one.interval
    level = "CI" if one.confidence is None else f"{one.confidence:.0%} CI"
    shown = "" if interval is None else f" ({level} {points_range(interval.low, interval.high)})"
    old = "" if one.against == "baseline" else " compared with an older version"
    return f"{_words(one.verdict)} {_name(one)}{lift}{shown}{old}"


def _several(verdict: Verdict, models: Sequence[EvidenceResult]) -> str:
    found = list(dict.fromkeys(_name(one) for one in models if one.verdict == verdict))
    if not found:
        return ""
    named = ", ".join(found) if len(found) <= 3 else count(len(found), "model")
    return f"{_words(verdict)} {named}"


def _name(one: EvidenceResult) -> str:
    return shortened(one.model, _LONGEST_NAME)


def _words(verdict: Verdict) -> str:
    """The verdict, so that the name of a model can follow."""
    return verdict if verdict in ("helps", "hurts") else f"{verdict} for"
