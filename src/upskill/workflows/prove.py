"""Prove a draft on held-out cases, once: a new skill against no skill, a revision against the version it would replace.

The best on learn cases is all that comes here. What is claimed rests on held-out trials alone, at a level that pays for
every earlier use of the same cases; and no single case may have become worse.
"""

from collections.abc import Sequence
from dataclasses import replace

from upskill import measuring
from upskill.domain import Case, Draft, Lift, StudentReport
from upskill.measuring import FEWEST_CASES, FRESH_PAIRS, REPEATS_OF_A_LATER_USE, Worse, level_of_use
from upskill.measuring.pairs import CaseTally
from upskill.workflows.measure import Measure, Measured
from upskill.workflows.proof import Proof, StudentProof, say_reason, say_student, say_taken

SCREEN_ROUNDS = 3
"""So many pairs a case must have before the guard's screen can tell a broken case from bad luck."""


def repeats_of_use(uses: int, *, students: int, revision: bool) -> int | None:
    """How the held-out test is designed: `None` for the design that stops when it knows.

    That one spends one in forty on a false gain, which is the level of a first use. A later use, and a revision that
    several students have a chance to wave through, are held to less, by a design of fixed size.
    """
    return None if uses == 1 and (students == 1 or not revision) else REPEATS_OF_A_LATER_USE


def prove(
    best: Draft,
    *,
    held_out: Sequence[Case],
    negative: Sequence[Case] = (),
    measure: Measure,
    against: Draft | None = None,
    uses: int = 1,
    students: int = 1,
) -> Proof:
    """Test a draft on held-out cases, then look for cases that it made worse.

    `against` is the version that it would replace; `None` for a new skill. `uses` counts the uses of these held-out
    cases, this one included: see `measuring.number_of_use`. Raises what `measure` raises.
    """
    if not held_out:
        return _without("not proven: there are no held-out cases to test it on")
    revision = against is not None
    repeats = repeats_of_use(uses, students=students, revision=revision)
    level = level_of_use(uses) / (students if revision else 1)
    measured = measure("held-out", best, held_out, against=against, repeats=repeats)
    proofs = [
        _judge(report, measured, cases=len(held_out), level=level, fixed=repeats is not None, revision=revision)
        for report in measured.evaluation.students
    ]
    # A revision must be superior for cases like these; of a new skill the narrower claim is worth saying as well.
    taken = any(one.superior or (not revision and one.verdict == "helps") for one in proofs)
    # Where nothing will be taken anyway, nothing more is bought to find out whether it should not be.
    promising = taken and not any(one.verdict == "hurts" for one in proofs)
    guarded = False
    if promising and measured.cut_short is None:
        guard = _Guard(best, measure, against=against)
        worse = guard.find(measured, held_out, negative)
        guarded = guard.cut_short is None
        proofs = [replace(one, worse=worse.get(one.student, ())) for one in proofs]
    proven = promising and not any(one.worse for one in proofs) and (guarded or not revision)
    reason = say_reason(proofs, revision=revision, uses=uses, unguarded=promising and not guarded)
    return Proof(
        proven=proven,
        sentence=say_taken(proven=proven, revision=revision) + reason,
        reason=reason,
        students=tuple(proofs),
        uses=uses,
        held_out=tuple(sorted(case.digest for case in held_out)),
        evaluation=measured.evaluation,
        guarded=guarded,
    )


def old_version_stays() -> Proof:
    """Where no revision did better on learn cases: nothing is tested, and no held-out case is used."""
    return _without("no revision did better on the learn cases, so no held-out case was used", revision=True)


def _without(reason: str, *, revision: bool = False) -> Proof:
    return Proof(
        proven=False,
        sentence=say_taken(proven=False, revision=revision) + reason,
        reason=reason,
        students=(),
        uses=0,
        held_out=(),
        evaluation=None,
        guarded=False,
    )


def _judge(
    report: StudentReport, measured: Measured, *, cases: int, level: float, fixed: bool, revision: bool
) -> StudentProof:
    name = report.student.name
    verdict, claim = report.verdict or "invalid", report.claim
    lift = report.lifts[0] if report.lifts else None
    superior = verdict == "helps" and (claim == "cases like these" or cases < FEWEST_CASES)
    if fixed:
        arm, against = report.compared
        pairing = measuring.pair_trials(measured.of(name), arm=arm, against=against)
        gate = measuring.pass_gate(pairing, level)
        better = gate is not None and gate.superior
        # Six cases of which one never got an answer are five: they speak of themselves.
        superior = gate is not None and better and (gate.wide or cases < FEWEST_CASES)
        if better:
            verdict = "helps"
        elif verdict in ("helps", "cheaper"):
            # The report asked for one in twenty, as if these cases had never been used.
            verdict = "undecided"
        # What the report claims on another side, it claims for the cases and with the interval that it found.
        if gate is not None and lift is not None and verdict in ("helps", "undecided"):
            lift = _at_level(lift, gate)
            claim = "cases like these" if gate.wide else "these cases"
    proof = StudentProof(
        student=name,
        verdict=verdict,
        claim=claim if verdict in ("helps", "hurts", "cheaper", "no difference") else None,
        lift=lift,
        superior=superior,
        level=level,
        worse=(),
        sentence="",
    )
    seen = len(_tallies(measured, name))
    return replace(proof, sentence=say_student(proof, report.sentence, cases=cases, seen=seen, revision=revision))


def _at_level(lift: Lift, gate: measuring.Gate) -> Lift:
    """The lift with the interval that belongs to the level of this use."""
    if gate.wide:
        return replace(lift, mean=gate.mean, cases_like_these=gate.interval)
    return replace(lift, mean=gate.mean, these_cases=gate.interval, cases_like_these=None)


class _Guard:
    """The never-worse guard: a screen over held-out and negative cases, then fresh pairs on the suspects alone."""

    def __init__(self, best: Draft, measure: Measure, *, against: Draft | None) -> None:
        self._best, self._measure, self._against = best, measure, against
        self.cut_short: str | None = None

    def find(
        self, measured: Measured, held_out: Sequence[Case], negative: Sequence[Case]
    ) -> dict[str, tuple[Worse, ...]]:
        """The cases that are significantly worse, by student."""
        seen = [self._with_enough(measured, held_out)]
        if negative and self.cut_short is None:
            seen.append(self._run("negative", negative, repeats=SCREEN_ROUNDS))
        suspects = {
            name: {tally.case_id for one in seen for tally in measuring.screen_cases(_tallies(one, name))}
            for name in (report.student.name for report in measured.evaluation.students)
        }
        wanted = [case for case in (*held_out, *negative) if any(case.id in mine for mine in suspects.values())]
        if not wanted or self.cut_short is not None:
            return {}
        fresh = self._run("suspects", wanted, repeats=FRESH_PAIRS, fresh=True)
        return {
            name: measuring.confirm_worse([tally for tally in _tallies(fresh, name) if tally.case_id in mine])
            for name, mine in suspects.items()
        }

    def _with_enough(self, measured: Measured, held_out: Sequence[Case]) -> Measured:
        """A test that stopped early has one or two pairs a case, too few to screen a version that would be replaced."""
        enough = all(
            len(tallies := _tallies(measured, report.student.name)) == len(held_out)
            and all(tally.pairs >= SCREEN_ROUNDS for tally in tallies)
            for report in measured.evaluation.students
        )
        if enough or self._against is None:
            return measured
        return self._run("held-out-screen", held_out, repeats=SCREEN_ROUNDS)

    def _run(self, stage: str, cases: Sequence[Case], *, repeats: int, fresh: bool = False) -> Measured:
        measured = self._measure(stage, self._best, cases, against=self._against, repeats=repeats, fresh=fresh)
        self.cut_short = self.cut_short or measured.cut_short
        return measured


def _tallies(measured: Measured, student: str) -> tuple[CaseTally, ...]:
    arm, against = measured.compared(student)
    return measuring.pair_trials(measured.of(student), arm=arm, against=against).tallies
