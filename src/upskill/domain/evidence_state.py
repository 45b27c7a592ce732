"""What of some evidence still holds for the files and the cases that are here. Compares values, reads nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from upskill.domain.case import Case
from upskill.domain.evidence import Evidence, EvidenceResult, MeasuredFile, MeasuredSkill

Broken = Literal["text", "files", "cases"]
"""What a result rested on and is no longer the same: the text that was given, the files of the skill, the cases."""
CardState = Literal["same", "edited", "missing", "other format"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FileChanges:
    """How the files of a skill differ from those that were measured."""

    changed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    line_endings: tuple[str, ...] = ()
    """Files of which only the line endings differ: they count as the same."""
    same_text: bool = True
    """Whether the name and the body of `SKILL.md` are as they were measured."""

    @property
    def same_files(self) -> bool:
        """Whether every file is as it was measured."""
        return not (self.changed or self.added or self.removed)


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseChanges:
    """How the cases of a result differ from those that are here."""

    measured: int
    here: int | None
    """How many of them are here unchanged; `None` where the cases are not here."""
    unmeasured: tuple[str, ...] = ()
    """Ids of cases that are here in place of those that are not: what a measured case may have become."""

    @property
    def missing(self) -> int:
        """How many of the measured cases were changed or removed; 0 where that cannot be known."""
        return 0 if self.here is None else self.measured - self.here


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultState:
    """One result, and what of its basis has changed."""

    result: EvidenceResult
    broken: tuple[Broken, ...]
    cases: CaseChanges

    @property
    def holds(self) -> bool:
        """Whether everything that it rested on is the same, as far as it is here."""
        return not self.broken


@dataclass(frozen=True, kw_only=True, slots=True)
class EvidenceState:
    """The evidence beside a skill, compared with what is here."""

    evidence: Evidence
    files: FileChanges
    results: tuple[ResultState, ...]
    unmeasured: tuple[str, ...]
    """Ids of cases that are here and in no result."""
    card: CardState
    notes: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether everything still holds, as far as it could be compared."""
        held = all(state.holds for state in self.results) and (bool(self.results) or self.files.same_files)
        return held and self.card != "edited"


def compare_files(measured: MeasuredSkill, now: MeasuredSkill) -> FileChanges:
    """How the files of a skill differ from those that were measured."""
    before, after = ({file.path: file for file in one.files} for one in (measured, now))
    both = sorted(before.keys() & after.keys())
    return FileChanges(
        changed=tuple(path for path in both if _is_changed(before[path], after[path])),
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        line_endings=tuple(
            path
            for path in both
            if before[path].sha256 != after[path].sha256 and not _is_changed(before[path], after[path])
        ),
        same_text=measured.text_digest == now.text_digest,
    )


def _is_changed(before: MeasuredFile, after: MeasuredFile) -> bool:
    if before.sha256 == after.sha256:
        return False
    has_returns = after.sha256 != after.sha256_lf
    return before.sha256_lf != after.sha256_lf or (after.program and has_returns)


def compare_evidence(
    evidence: Evidence,
    now: MeasuredSkill,
    *,
    own: Sequence[Case] | None,
    named: Sequence[Case] | None,
    card: CardState,
    notes: tuple[str, ...] = (),
) -> EvidenceState:
    """What still holds. `own` are the cases beside the skill and `named` those of a file that a person named; `None`
    where there are none."""
    files = compare_files(evidence.skill, now)
    measured = frozenset(digest for one in evidence.results for digest in one.cases)
    here = (*(own or ()), *(named or ()))
    new = tuple(dict.fromkeys(case.id for case in here if case.digest not in measured))
    results = []
    for one in evidence.results:
        cases = _compare_cases(one, own, named, measured=measured)
        same = files.same_text if one.basis == "text" else files.same_files
        broken: list[Broken] = [] if same else [one.basis]
        results.append(ResultState(result=one, broken=tuple(broken + ["cases"] * bool(cases.missing)), cases=cases))
    return EvidenceState(
        evidence=evidence,
        files=files,
        results=tuple(results),
        unmeasured=new,
        card=card,
        notes=notes,
    )


def _compare_cases(
    result: EvidenceResult, own: Sequence[Case] | None, named: Sequence[Case] | None, *, measured: frozenset[str]
) -> CaseChanges:
    """Cases that were in a file elsewhere are not expected beside the skill: none of them here says nothing."""
    cases = (*(own or ()), *(named or ()))
    digests = {case.digest for case in cases}
    here = sum(digest in digests for digest in result.cases)
    expected = (result.own_cases and own is not None) or (named is not None and here > 0)
    if not expected:
        return CaseChanges(measured=len(result.cases), here=None)
    unmeasured = [case.id for case in cases if case.digest not in measured and _may_be_of(case, result.uses)]
    return CaseChanges(
        measured=len(result.cases), here=here, unmeasured=() if here == len(result.cases) else tuple(unmeasured)
    )


def _may_be_of(case: Case, uses: Mapping[str, int]) -> bool:
    """Whether a case has the use of those that a result was measured on."""
    return not uses or case.use is None or case.use in uses
