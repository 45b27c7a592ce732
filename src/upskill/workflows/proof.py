"""What a held-out test came to, as values and in words for a person. Decides nothing."""

from collections.abc import Sequence
from dataclasses import dataclass

from upskill.domain import Evaluation, Lift, Verdict
from upskill.measuring import FEWEST_CASES, Worse
from upskill.measuring.verdict import figures


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentProof:
    """What the held-out cases showed for one student."""

    student: str
    verdict: Verdict
    claim: str | None
    """How far it reaches: `cases like these`, `these cases`, or nothing is claimed."""
    lift: Lift | None
    superior: bool
    """Better, for cases like these where there are six or more: what a revision must be to be taken."""
    level: float
    """The one-sided error that this use of the held-out cases was allowed."""
    worse: tuple[Worse, ...]
    """Cases that are significantly worse, from fresh pairs."""
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What is claimed of a draft, and whether it is taken."""

    proven: bool
    """It helps at least one student, hurts none, and makes no case significantly worse. Only then does a revision
    replace what was there; a new skill is saved in any case, with what is known of it."""
    sentence: str
    """What is taken and why, for a person."""
    reason: str
    """The same without what becomes of the old version."""
    students: tuple[StudentProof, ...]
    uses: int
    """How often these held-out cases have been used, this time included; 0 where they were not needed."""
    held_out: tuple[str, ...]
    """The digests of the cases that were used: whoever uses one of them again spends more of its error."""
    evaluation: Evaluation | None
    """The held-out evaluation."""
    guarded: bool
    """Whether the never-worse guard was run to its end."""


def say_student(proof: StudentProof, reported: str, *, cases: int, seen: int, revision: bool) -> str:
    """One student in one sentence; `reported` is what the evaluation itself says, `seen` how many cases were run."""
    held_out = f"{cases} held-out case{'' if cases == 1 else 's'}"
    where = f" on {held_out}" if seen == cases else f" on {seen} of {held_out}"
    if proof.verdict == "cheaper":
        return f"{_WORDS['undecided', True]}, only {reported}{where}" if revision else f"{reported}{where}"
    if proof.lift is None or proof.verdict == "invalid":
        return reported
    wide = proof.lift.cases_like_these
    narrow = wide is None or proof.claim == "these cases"
    measured = figures(proof.lift, proof.lift.these_cases if wide is None or narrow else wide)
    match proof.verdict:
        case "no difference":
            return f"no difference: {measured}{where}"
        case "helps" | "hurts" as side:
            word = _WORDS[side, revision]
        case _:
            return f"{_WORDS['undecided', revision]}: {measured}{where}"
    if not narrow:
        return f"{word}: {measured}{where}"
    rest = "too few to speak of others" if cases < FEWEST_CASES else "not shown for other cases like these"
    return f"{word} on these {held_out}: {measured}; {rest}"


_WORDS = {
    ("helps", False): "helps",
    ("hurts", False): "hurts",
    ("undecided", False): "not proven",
    ("helps", True): "the new version is better",
    ("hurts", True): "the new version is worse",
    ("undecided", True): "the new version is not proven better",
}


def say_taken(*, proven: bool, revision: bool) -> str:
    """What becomes of the old version, before the reason; empty where there is none."""
    if not revision:
        return ""
    return "the old version is replaced: " if proven else "the old version stays: "


def say_reason(proofs: Sequence[StudentProof], *, revision: bool, uses: int, unguarded: bool) -> str:
    """Why a draft is taken or not. `unguarded` says that the guard was wanted and could not be run to its end."""
    if len(proofs) == 1:
        said = proofs[0].sentence
    else:
        helped, hurt = (sum(one.verdict == side for one in proofs) for side in ("helps", "hurts"))
        better, worse = ("better for", "worse for") if revision else ("helps", "hurts")
        said = f"{better} {helped} of {len(proofs)} students, {worse} {hurt or 'none'}; "
        said += "; ".join(f"{one.student}: {one.sentence}" for one in proofs)
    if uses > 1:
        said += f" ({_ordinal(uses)} use of these cases, so more was asked of it)"
    for one in proofs:
        said += _say_worse(one, named=len(proofs) > 1, revision=revision)
    if unguarded:
        said += "; it ended before it was known whether single cases became worse"
    return said


def _say_worse(proof: StudentProof, *, named: bool, revision: bool) -> str:
    if not proof.worse:
        return ""
    before, now = ("before", "now") if revision else ("without it", "with it")
    listed = ", ".join(
        f"{one.case_id} ({one.passed_against} of {one.pairs} {before}, {one.passed} {now})" for one in proof.worse[:3]
    )
    count = len(proof.worse)
    where = f" for {proof.student}" if named else ""
    more = f" and {count - 3} more" if count > 3 else ""
    return f"; but {count} case{' is' if count == 1 else 's are'} worse{where}: {listed}{more}"


def _ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th") if number % 100 not in (11, 12, 13) else "th"
    return f"{number}{ending}"
