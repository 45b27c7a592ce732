"""Tests a draft on held-out cases, once, and states what was shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.core.nouns import Case, Evaluation, Lift, StudentReport, Verdict
from upskill.core.nouns.evaluation import BrokenCase
from upskill.core.nouns.look import case_key
from upskill.core.nouns.text import count
from upskill.core.statistics import level_after
from upskill.core.statistics.looks import ordinal
from upskill.core.statistics.verdict import figures
from upskill.generation.draft import Draft
from upskill.generation.measure import Measure


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentProof:
    """What the held-out cases showed for one student."""

    student: str
    verdict: Verdict
    claim: str | None
    """How far it reaches: `new cases`, `these cases`, or nothing is claimed."""
    lift: Lift | None
    level: float
    """The one-sided error that this use of the held-out cases was allowed."""
    sentence: str
    broken: tuple[BrokenCase, ...] = ()
    """Cases that it breaks, held-out and unrelated ones."""

    @property
    def is_shown(self) -> bool:
        """Whether it helps on new cases: the ordinary verdict."""
        return self.verdict == "helps" and self.claim == "new cases"


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What is claimed of a draft, and whether it is accepted."""

    proven: bool
    """It helps at least one student on new cases, hurts none, and breaks no case. Only then does a revision replace
    what was there; a new skill is saved in any case, with what is known of it."""
    sentence: str
    """The decision and its reason, for a person."""
    reason: str
    """The reason alone."""
    students: tuple[StudentProof, ...]
    uses: int
    """How often these held-out cases have been used, this time included; 0 where they were not needed."""
    held_out: tuple[str, ...]
    """The digests of the cases that were used: another use of one of them spends more of its error."""
    evaluation: Evaluation | None
    """The held-out evaluation."""
    guarded: bool
    """Whether the search for broken cases was run to its end."""


def student_sentence(proof: StudentProof, reported: str, *, cases: int, seen: int, revision: bool) -> str:
    """One student in one sentence; `reported` is the evaluation's own sentence, `seen` the number of cases run."""
    held_out = count(cases, "held-out case")
    where = f" on {held_out}" if seen == cases else f" on {seen} of {held_out}"
    if proof.verdict == "cheaper":
        return f"{_WORDS['undecided', True]}, only {reported}{where}" if revision else f"{reported}{where}"
    if proof.lift is None or proof.verdict == "invalid":
        return reported
    measured = figures(proof.lift)
    match proof.verdict:
        case "no difference":
            return f"no difference: {measured}{where}"
        case "helps" | "hurts" as side:
            word = _WORDS[side, revision]
        case _:
            return f"{_WORDS['undecided', revision]}: {measured}{where}"
    if proof.claim == "new cases":
        return f"{word}: {measured}{where}"
    return f"{word} on these {held_out}: {measured}; too few to conclude about new cases"


_WORDS = {
    ("helps", False): "helps",
    ("hurts", False): "hurts",
    ("undecided", False): "not proven",
    ("helps", True): "the new version is better",
    ("hurts", True): "the new version is worse",
    ("undecided", True): "the new version is not proven better",
}


def outcome_of_old_version(*, proven: bool, revision: bool) -> str:
    """What becomes of the old version, before the reason; empty where there is none."""
    if not revision:
        return ""
    return "the old version is replaced: " if proven else "the old version stays: "


def reason_sentence(proofs: Sequence[StudentProof], *, revision: bool, uses: int, unguarded: bool) -> str:
    """Why a draft is accepted or not. `unguarded`: the guard was needed and could not be run to its end."""
    if len(proofs) == 1:
        sentence = proofs[0].sentence
    else:
        helped, hurt = (sum(one.verdict == side for one in proofs) for side in ("helps", "hurts"))
        better, worse = ("better for", "worse for") if revision else ("helps", "hurts")
        sentence = f"{better} {helped} of {len(proofs)} models, {worse} {hurt or 'none'}; "
        sentence += "; ".join(f"{one.student}: {one.sentence}" for one in proofs)
    if uses > 1:
        sentence += f" (stricter threshold: {ordinal(uses)} look at these cases)"
    for one in proofs:
        sentence += _worsened_cases(one, named=len(proofs) > 1, revision=revision)
    if unguarded:
        sentence += "; it stopped before each case was checked for harm"
    return sentence


def _worsened_cases(proof: StudentProof, *, named: bool, revision: bool) -> str:
    if not proof.broken:
        return ""
    before, now = ("before", "now") if revision else ("without it", "with it")
    listed = ", ".join(
        f"{one.case_id} ({one.passed_before} of {one.answers} {before}, {one.passed} {now})" for one in proof.broken[:3]
    )
    number = len(proof.broken)
    where = f" for {proof.student}" if named else ""
    more = f" and {number - 3} more" if number > 3 else ""
    return f"; but it breaks {count(number, 'case')}{where}: {listed}{more}"


def prove(
    best: Draft,
    *,
    held_out: Sequence[Case],
    negative: Sequence[Case] = (),
    measure: Measure,
    against: Draft | None = None,
    earlier: Sequence[bool] = (),
    students: int = 1,
    about: str = "",
) -> Proof:
    """Test a draft on held-out cases, then look for cases that it made worse.

    `about` says what all held-out cases are about, where that is known.

    `against` is the version that it would replace; `None` for a new skill. `earlier` says of each earlier
    use of these held-out cases whether it proved something. One student that is helped is enough, so each of several
    is tested at its share of the level. Raises what `measure` raises.
    """
    if not held_out:
        return _without("not proven: there are no held-out cases to test it on")
    revision = against is not None
    uses, level = len(earlier) + 1, level_after(earlier) / students
    measured = measure("held-out", best, held_out, against=against, level=level)
    proofs = [
        _judge(report, cases=len(held_out), level=level, revision=revision, about=about)
        for report in measured.evaluation.students
    ]
    # Where the draft is not accepted anyway, the search for broken cases would buy trials for nothing.
    shown = any(one.is_shown for one in proofs) or (not revision and any(one.verdict == "helps" for one in proofs))
    promising = shown and not any(one.verdict == "hurts" for one in proofs)
    guarded = False
    if promising and measured.cut_short is None:
        guard = measure("guard", best, [*held_out, *negative], against=against, gate=True)
        found = {report.student.name: report for report in guard.evaluation.students}
        unsure = any(report.suspected or report.verdict == "invalid" for report in found.values())
        guarded = guard.cut_short is None and not unsure
        proofs = [replace(one, broken=found[one.student].broken) for one in proofs]
    accepted = promising and any(one.is_shown for one in proofs) and not any(one.broken for one in proofs)
    proven = accepted and (guarded or not revision)
    reason = reason_sentence(proofs, revision=revision, uses=uses, unguarded=promising and not guarded)
    return Proof(
        proven=proven,
        sentence=outcome_of_old_version(proven=proven, revision=revision) + reason,
        reason=reason,
        students=tuple(proofs),
        uses=uses,
        held_out=tuple(sorted(map(case_key, held_out))),
        evaluation=_as_proven(measured.evaluation, proofs),
        guarded=guarded,
    )


def _as_proven(evaluation: Evaluation, proofs: Sequence[StudentProof]) -> Evaluation:
    """The held-out evaluation with the verdicts and intervals of this use of the cases, so that all say the same."""
    students = []
    for report, proof in zip(evaluation.students, proofs, strict=True):
        lifts = report.lifts if proof.lift is None else (proof.lift, *report.lifts[1:])
        if (proof.verdict, lifts) != (report.verdict, report.lifts):
            report = replace(report, verdict=proof.verdict, lifts=lifts, sentence=proof.sentence)
        students.append(report)
    return replace(evaluation, students=tuple(students))


def old_version_stays(
    reason: str = "no revision did better on the practice cases, so no held-out case was used",
) -> Proof:
    """Where no revision did better on learn cases, or none was made: no held-out case is used."""
    return _without(reason, revision=True)


def _without(reason: str, *, revision: bool = False) -> Proof:
    return Proof(
        proven=False,
        sentence=outcome_of_old_version(proven=False, revision=revision) + reason,
        reason=reason,
        students=(),
        uses=0,
        held_out=(),
        evaluation=None,
        guarded=False,
    )


def _judge(report: StudentReport, *, cases: int, level: float, revision: bool, about: str) -> StudentProof:
    proof = StudentProof(
        student=report.student.name,
        verdict=report.verdict or "invalid",
        claim=report.claim,
        lift=report.lifts[0] if report.lifts else None,
        level=level,
        sentence="",
        broken=report.broken,
    )
    seen = 0 if proof.lift is None else proof.lift.cases
    sentence = student_sentence(proof, report.sentence, cases=cases, seen=seen, revision=revision)
    return replace(proof, sentence=f"{sentence}; {about}" if about else sentence)
