"""What evidence can say without contradicting itself. A stranger may have written it: figures that could be true are
believed here, since nothing in the file can prove them."""

import re
from collections.abc import Iterator
from datetime import date, datetime

from upskill.domain.digest import digest_of
from upskill.domain.evidence import MOST_CASES, MOST_RESULTS, Evidence, EvidenceResult
from upskill.domain.skill import is_skill_name
from upskill.domain.text import points

MOST_FILES = 10_000
MOST_TEXT = 400
MOST_MISSING_LOOKS = 1_000
MOST_COUNTED = 10**9
_SHA256 = re.compile(r"[0-9a-f]{64}")
_CLOSE = 1e-4
_BASELINE = "baseline"


def contradiction(evidence: Evidence) -> str | None:
    """The first thing that cannot be true of evidence, in a few words; `None` where nothing is wrong."""
    return next(_skill_problems(evidence), None) or next(_problems(evidence), None)


def _skill_problems(evidence: Evidence) -> Iterator[str]:
    skill = evidence.skill
    if not is_skill_name(skill.name):
        yield "skill.name: not the name of a skill"
    if len(skill.files) > MOST_FILES:
        yield f"skill.files: more than {MOST_FILES:,}"
    for file in skill.files:
        if not _is_path(file.path):
            yield "skill.files: a path that leaves the skill"
        if not _are_digests(file.sha256, file.sha256_lf) or file.size < 0:
            yield f"skill.files: {file.path}: not a size and digests"
    if not _are_digests(skill.digest, skill.text_digest):
        yield "skill: not SHA-256 digests"
    if digest_of([[file.path, file.sha256] for file in skill.files]) != skill.digest:
        yield "skill.digest: not the digest of the files that are listed"


def _problems(evidence: Evidence) -> Iterator[str]:
    if len(evidence.results) > MOST_RESULTS or len(evidence.missing_looks) > MOST_MISSING_LOOKS:
        yield f"results: more than {MOST_RESULTS}"
    if not 0 <= evidence.left_out <= MOST_COUNTED or not 0 < evidence.card_format <= MOST_COUNTED:
        yield "left_out or card_format: not a number of something"
    for number, one in enumerate(evidence.results):
        for problem in _result_problems(one):
            yield f"results.{number}.{problem}"
    for look in evidence.missing_looks:
        if not (_is_text(look.model) and _is_time(look.at) and _is_against(look.against)):
            yield "missing_looks: not a look"
    if evidence.date != max((one.finished_at[:10] for one in evidence.results), default=None):
        yield "date: not that of the newest result"


def result_contradiction(one: EvidenceResult) -> str | None:
    """The first thing that cannot be true of one result; `None` where nothing is wrong."""
    return next(_result_problems(one), None)


def _result_problems(one: EvidenceResult) -> Iterator[str]:
    texts = {"model": one.model, "resolved": one.resolved, "harness": one.harness, "sentence": one.sentence}
    texts |= {"agent": one.agent or "", "judge": one.judge or "", "sandbox": one.sandbox or ""}
    texts |= {"versions": " ".join(f"{name} {version}" for name, version in one.versions.items())}
    texts |= {"answered_by": " ".join(one.answered_by), "claim": one.claim or ""}
    yield from (f"{name}: not a short text on one line" for name, text in texts.items() if not _is_text(text))
    if not _is_time(one.finished_at):
        yield "finished_at: not a time with its zone"
    if one.arm not in ("with_skill", "offered") or not _is_against(one.against):
        yield "against: neither `baseline` nor a digest"
    if one.others_digest is not None and not _are_digests(one.others_digest):
        yield "others_digest: not a SHA-256 digest"
    if not 0 < len(one.cases) <= MOST_CASES or not _are_digests(*one.cases):
        yield f"cases: not 1 to {MOST_CASES:,} SHA-256 digests"
    if list(one.cases) != sorted(one.cases):
        yield "cases: not sorted"
    counts = {"pairs": one.pairs, "dropped": one.dropped, "errored": one.errored, "lost": one.lost}
    counts |= {"earlier_pairs": one.earlier_pairs, "repeats": one.repeats - 1, "look": (one.look or 1) - 1}
    counts |= {"others": one.others or 0, "cases_seen": one.cases_seen or 0}
    counts |= {"max_output_tokens": one.max_output_tokens or 0}
    for name, number in (*counts.items(), *one.other_looks.items(), *one.uses.items(), *one.labels.items()):
        if not 0 <= number <= MOST_COUNTED or not _is_text(name):
            yield f"{name[:40]}: not a number of something"
    if max((one.cases_seen or 0, *one.labels.values(), sum(one.uses.values()))) > len(one.cases):
        yield "cases_seen, labels or uses: more than there are cases"
    yield from _figure_problems(one)


def _figure_problems(one: EvidenceResult) -> Iterator[str]:
    """What cannot be true of the figures: shares are shares, and the verdict is on the side of its interval."""
    shares = {"rate": one.rate, "rate_against": one.rate_against, "confidence": one.confidence}
    shares |= {"load_rate": one.load_rate, "level": one.level}
    yield from (f"{name}: not between 0 and 1" for name, share in shares.items() if not 0 <= (share or 0) <= 1)
    if one.lift is None:
        if one.verdict not in ("invalid", "undecided"):
            yield f"verdict: {one.verdict} without a lift"
        return
    rates = one.rate, one.rate_against
    if None not in rates and abs((one.rate or 0) - (one.rate_against or 0) - one.lift) > _CLOSE:
        yield f"lift: {points(one.lift)}, which is not the difference of its pass rates"
    for name, ends in (("these_cases", one.these_cases), ("cases_like_these", one.cases_like_these)):
        if ends is not None and not -1 - _CLOSE <= ends[0] <= ends[1] <= 1 + _CLOSE:
            yield f"{name}: not an interval"
    known = (one.these_cases, one.cases_like_these)
    if one.interval is None or not any(_contains(ends, one.lift) for ends in known if ends is not None):
        yield f"lift: {points(one.lift)}, which is outside its interval"
    elif one.verdict in ("helps", "hurts"):
        if one.claim not in ("cases like these", "these cases"):
            yield f"claim: missing for {one.verdict}"
        if not (one.interval.above_zero if one.verdict == "helps" else one.interval.below_zero):
            yield f"verdict: {one.verdict}, but its interval includes 0"


def _contains(ends: tuple[float, float], value: float) -> bool:
    return ends[0] - _CLOSE <= value <= ends[1] + _CLOSE


def _are_digests(*texts: str) -> bool:
    return all(_SHA256.fullmatch(text) is not None for text in texts)


def _is_against(text: str) -> bool:
    return text == _BASELINE or _are_digests(text)


def _is_text(text: str) -> bool:
    return len(text) <= MOST_TEXT and text.isprintable()


def _is_path(path: str) -> bool:
    parts = path.split("/")
    return _is_text(path) and not path.startswith("/") and not {"", ".", ".."} & set(parts)


def _is_time(text: str) -> bool:
    try:
        return datetime.fromisoformat(text).tzinfo is not None and bool(date.fromisoformat(text[:10]))
    except ValueError:
        return False
