"""Tests a draft on held-out cases, once, and states what was shown."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from upskill.core import statistics
from upskill.core.nouns import Case, Evaluation, Lift, StudentReport, Verdict
from upskill.core.nouns.look import case_key
from upskill.core.nouns.text import count
from upskill.core.statistics import FEWEST_CASES, FRESH_PAIRS, WorsenedCase, level_after
from upskill.core.statistics.judge_error import say_corrected
from upskill.core.statistics.looks import ordinal
from upskill.core.statistics.pairs import CaseTally
from upskill.core.statistics.verdict import figures
from upskill.generation.draft import Draft
from upskill.generation.measure import SCREEN_ROUNDS, Measure, Measurement


@dataclass(frozen=True, kw_only=True, slots=True)
class StudentProof:
    """What the held-out cases showed for one student."""

    student: str
    verdict: Verdict
    claim: str | None
    """How far it reaches: `cases like these`, `these cases`, or nothing is claimed."""
    lift: Lift | None
    superior: bool
    """Better, for cases like these where there are six or more: what a revision must be to replace the old version."""
    level: float
    """The one-sided error that this use of the held-out cases was allowed."""
    worse: tuple[WorsenedCase, ...]
    """Cases that are significantly worse, from fresh pairs."""
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Proof:
    """What is claimed of a draft, and whether it is accepted."""

    proven: bool
    """It helps at least one student, hurts none, and makes no case significantly worse. Only then does a revision
    replace what was there; a new skill is saved in any case, with what is known of it."""
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
    """Whether the never-worse guard was run to its end."""


def student_sentence(proof: StudentProof, reported: str, *, cases: int, seen: int, revision: bool) -> str:
    """One student in one sentence; `reported` is the evaluation's own sentence, `seen` the number of cases run."""
    held_out = count(cases, "held-out case")
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
    rest = "too few to conclude about new cases" if cases < FEWEST_CASES else "not shown for new cases of this kind"
    return f"{word} on these {held_out}: {measured}; {rest}"


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
    if not proof.worse:
        return ""
    before, now = ("before", "now") if revision else ("without it", "with it")
    listed = ", ".join(
        f"{one.case_id} ({one.passed_against} of {one.pairs} {before}, {one.passed} {now})" for one in proof.worse[:3]
    )
    number = len(proof.worse)
    where = f" for {proof.student}" if named else ""
    more = f" and {number - 3} more" if number > 3 else ""
    return f"; but {number} case{' is' if number == 1 else 's are'} worse{where}: {listed}{more}"


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
        _judge(report, measured, cases=len(held_out), level=level, revision=revision, about=about)
        for report in measured.evaluation.students
    ]
    # A revision must be superior for cases like these; for a new skill the narrower claim is enough.
    taken = any(one.superior or (not revision and one.verdict == "helps") for one in proofs)
    # Where the draft is not accepted anyway, the guard would buy trials for nothing.
    promising = taken and not any(one.verdict == "hurts" for one in proofs)
    guarded = False
    if promising and measured.cut_short is None:
        guard = _Guard(best, measure, against=against)
        worse = guard.find(measured, held_out, negative)
        guarded = guard.cut_short is None
        proofs = [replace(one, worse=worse.get(one.student, ())) for one in proofs]
    proven = promising and not any(one.worse for one in proofs) and (guarded or not revision)
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
            report = replace(report, verdict=proof.verdict, claim=proof.claim, lifts=lifts, sentence=proof.sentence)
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


def _judge(
    report: StudentReport, measured: Measurement, *, cases: int, level: float, revision: bool, about: str
) -> StudentProof:
    name = report.student.name
    verdict, error = report.verdict or "invalid", report.judge_error
    # Six cases of which one never got an answer are five, too few for a claim on others.
    superior = verdict == "helps" and (report.claim == "cases like these" or cases < FEWEST_CASES)
    proof = StudentProof(
        student=name,
        verdict=verdict,
        claim=report.claim if verdict in ("helps", "hurts", "cheaper", "no difference") else None,
        lift=report.lifts[0] if report.lifts else None,
        superior=superior,
        level=level,
        worse=(),
        sentence="",
    )
    seen = len(_tallies(measured, name))
    sentence = student_sentence(proof, report.sentence, cases=cases, seen=seen, revision=revision)
    if about:
        sentence += f"; {about}"
    if verdict == "undecided" and error is not None and not error.allows("helps"):
        sentence += f"; {say_corrected(error)}"
    return replace(proof, sentence=sentence)


class _Guard:
    """The never-worse guard: a screen over held-out and negative cases, then fresh pairs on the suspects alone."""

    def __init__(self, best: Draft, measure: Measure, *, against: Draft | None) -> None:
        self._best, self._measure, self._against = best, measure, against
        self.cut_short: str | None = None

    def find(
        self, measured: Measurement, held_out: Sequence[Case], negative: Sequence[Case]
    ) -> dict[str, tuple[WorsenedCase, ...]]:
        """The cases that are significantly worse, by student."""
        seen = [self._with_enough(measured, held_out)]
        if negative and self.cut_short is None:
            seen.append(self._run("negative", negative, repeats=SCREEN_ROUNDS))
        suspects = {
            name: {tally.case_id for one in seen for tally in statistics.screen_cases(_tallies(one, name))}
            for name in (report.student.name for report in measured.evaluation.students)
        }
        wanted = [case for case in (*held_out, *negative) if any(case.id in mine for mine in suspects.values())]
        if not wanted or self.cut_short is not None:
            return {}
        fresh = self._run("suspects", wanted, repeats=FRESH_PAIRS, fresh=True)
        return {
            name: statistics.confirm_worse([tally for tally in _tallies(fresh, name) if tally.case_id in mine])
            for name, mine in suspects.items()
        }

    def _with_enough(self, measured: Measurement, held_out: Sequence[Case]) -> Measurement:
        """A test that stopped early has one or two pairs a case, too few to screen a version that would be replaced."""
        enough = all(
            len(tallies := _tallies(measured, report.student.name)) == len(held_out)
            and all(tally.pairs >= SCREEN_ROUNDS for tally in tallies)
            for report in measured.evaluation.students
        )
        if enough or self._against is None:
            return measured
        return self._run("held-out-screen", held_out, repeats=SCREEN_ROUNDS)

    def _run(self, stage: str, cases: Sequence[Case], *, repeats: int, fresh: bool = False) -> Measurement:
        measured = self._measure(stage, self._best, cases, against=self._against, repeats=repeats, fresh=fresh)
        self.cut_short = self.cut_short or measured.cut_short
        return measured


def _tallies(measured: Measurement, student: str) -> tuple[CaseTally, ...]:
    arm, against = measured.compared(student)
    return statistics.pair_trials(measured.of(student), arm=arm, against=against).tallies
