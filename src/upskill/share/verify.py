"""What of the evidence beside a skill still holds for the files, the cases and the card here. Calls no model."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from shlex import quote
from typing import Literal

from upskill.core.cases.files import read_case_file, read_skill_cases
from upskill.core.nouns.case import Case, Json
from upskill.core.nouns.skill import CARD_FILE, EVIDENCE_FILE, SKILL_FILE
from upskill.core.nouns.text import count
from upskill.core.skills.skills import read_skill
from upskill.errors import EXIT_NOT_SHOWN, UpskillError
from upskill.share.card import card_text, how, model_names, read_card
from upskill.share.evidence import (
    CARD_FORMAT,
    Evidence,
    EvidenceResult,
    MeasuredFile,
    MeasuredSkill,
    measured_skill,
    read_evidence,
)

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
class ResultState:
    """One result, and what of its basis has changed."""

    result: EvidenceResult
    basis_changed: bool
    """Whether the text or the files that it rested on are no longer the same."""
    cases_here: int | None = None
    """How many of its cases are here unchanged; `None` where the cases are not here."""
    unmeasured: tuple[str, ...] = ()
    """Ids of cases that are here in place of those that are not: what a measured case may have become."""

    @property
    def missing_cases(self) -> int:
        """How many of the measured cases were changed or removed; 0 where that cannot be known."""
        return 0 if self.cases_here is None else len(self.result.cases) - self.cases_here

    @property
    def broken(self) -> tuple[Broken, ...]:
        """What is no longer the same."""
        basis: tuple[Broken, ...] = (self.result.basis,) if self.basis_changed else ()
        return (*basis, "cases") if self.missing_cases else basis

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
    def holds(self) -> bool:
        """Whether every result still holds, as far as it could be compared, and the card is as it was written."""
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


def _result_state(
    result: EvidenceResult,
    files: FileChanges,
    own: Sequence[Case] | None,
    named: Sequence[Case] | None,
    measured: Collection[str],
) -> ResultState:
    """Cases that were in a file elsewhere are not expected beside the skill: none of them here says nothing."""
    state = ResultState(
        result=result, basis_changed=not (files.same_text if result.basis == "text" else files.same_files)
    )
    cases = (*(own or ()), *(named or ()))
    digests = {case.digest for case in cases}
    here = sum(digest in digests for digest in result.cases)
    expected = (result.own_cases and own is not None) or (named is not None and here > 0)
    if not expected:
        return state
    unmeasured = [case.id for case in cases if case.digest not in measured and _may_be_of(case, result.uses)]
    return replace(state, cases_here=here, unmeasured=() if here == len(result.cases) else tuple(unmeasured))


def _may_be_of(case: Case, uses: Mapping[str, int]) -> bool:
    """Whether a case has the use of those that a result was measured on."""
    return not uses or case.use is None or case.use in uses


class NoEvidence(UpskillError):
    """There is no evidence beside a skill."""

    exit_code = EXIT_NOT_SHOWN


def verify_skill(skill: Path, *, case_file: Path | None = None) -> EvidenceState:
    """What of the evidence beside a skill still holds.

    Raises `NoEvidence` where there is none, and `SkillInvalid` where it cannot be read.
    """
    folder = skill.parent if skill.name == SKILL_FILE else skill
    now = measured_skill(folder, read_skill(folder))
    evidence = read_evidence(folder)
    if evidence is None:
        raise NoEvidence(
            f"{folder}: has no {EVIDENCE_FILE}, so there is nothing to verify",
            hint=f"measure the skill with `upskill eval`, then write it: upskill evidence {quote(str(folder))}",
        )
    notes: list[str] = []
    own = _own_cases(folder, notes)
    named = None if case_file is None else read_case_file(case_file, check_problems=lambda _: []).cases
    files = compare_files(evidence.skill, now)
    measured = {digest for one in evidence.results for digest in one.cases}
    here = (*(own or ()), *(named or ()))
    return EvidenceState(
        evidence=evidence,
        files=files,
        results=tuple(_result_state(one, files, own, named, measured) for one in evidence.results),
        unmeasured=tuple(dict.fromkeys(case.id for case in here if case.digest not in measured)),
        card=_card_state(folder, evidence),
        notes=tuple(notes),
    )


def _card_state(folder: Path, evidence: Evidence) -> CardState:
    card = read_card(folder)
    if card is None:
        return "missing"
    if card == card_text(evidence):
        return "same"
    return "edited" if evidence.card_format == CARD_FORMAT else "other format"


def _own_cases(folder: Path, notes: list[str]) -> tuple[Case, ...] | None:
    """The cases beside the skill; `None` where there are none, or with a note where they cannot be read."""
    try:
        file = read_skill_cases(folder, check_problems=lambda _: [])
    except UpskillError as error:
        notes.append(f"the cases beside the skill cannot be read: {error.message}")
        return ()
    return None if file is None else file.cases


VERIFY_SCHEMA = "upskill.verify/1"
_MOST_NAMED = 5
NOT_PROVEN = f"not proven: that the figures are true; the author of {EVIDENCE_FILE} can invent them"


def verification_lines(state: EvidenceState) -> list[str]:
    """The answer first, then what changed, each result, and what was not compared."""
    return [
        f"{state.evidence.skill.name}: {_answer(state)}",
        *_file_lines(state.files),
        *_result_lines(state.results),
        *_case_lines(state),
        *_card_lines(state),
        *(f"note: {note}" for note in state.notes),
        NOT_PROVEN,
    ]


def _answer(state: EvidenceState) -> str:
    held, of = sum(one.holds for one in state.results), len(state.results)
    if not of:
        same = "the files are those" if state.files.same_files else "the files are not those"
        return f"this version was not measured; {same} that the evidence names"
    if state.holds:
        same = "unchanged: " if state.files.same_files else ""
        return f"{same}{'the result still holds' if of == 1 else f'all {of} results still hold'}"
    if held == of:
        return f"changed: the card was edited; the {'result still holds' if of == 1 else 'results still hold'}"
    if of == 1:
        return "changed: the result no longer holds"
    return f"changed: {held} of {of} results still {'holds' if held == 1 else 'hold'}"


def _file_lines(files: FileChanges) -> Iterator[str]:
    part = "only above its body: the description, …" if files.same_text else "its name or body"
    changed = [f"{path} ({part})" if path == SKILL_FILE else path for path in files.changed]
    for what, paths in (("changed", changed), ("added", files.added), ("removed", files.removed)):
        if paths:
            yield f"{what} since it was measured: {_listed(paths)}"
    if files.line_endings:
        yield f"same but for line endings: {_listed(files.line_endings)}"


def _result_lines(results: Sequence[ResultState]) -> Iterator[str]:
    names = model_names(state.result for state in results)
    for state in results:
        one, held = state.result, "holds" if state.holds else "no longer holds"
        older = "" if one.against == "baseline" else ", compared with an older version"
        yield f"{held}: {names[one.model]}, {how(one)}{older}: {one.report.sentence}; {why(state)}"


def why(state: ResultState) -> str:
    """Why a result holds or does not, in words."""
    text = state.result.basis == "text"
    if state.holds:
        basis = f"the name and body of {SKILL_FILE}" if text else "all files of the skill"
        return f"it rests on {basis}, which are the same"
    reasons = []
    if state.basis_changed:
        given = (
            f"was given the name and body of {SKILL_FILE}, and these"
            if text
            else "had all files of the skill, and some"
        )
        reasons.append(f"the model {given} changed")
    if missing := state.missing_cases:
        here = f" (here and not measured: {_listed(state.unmeasured)})" if state.unmeasured else ""
        verb = "was" if missing == 1 else "were"
        cases = count(len(state.result.cases), "case")
        reasons.append(f"{missing} of {cases} {verb} changed or removed{here}")
    return "; ".join(reasons)


def _case_lines(state: EvidenceState) -> Iterator[str]:
    absent = [one for one in state.results if one.cases_here is None]
    if absent and len(absent) == len(state.results):
        yield "cases: not here, so they were not compared; name their file with -t FILE"
    elif absent:
        yield f"cases of {count(len(absent), 'result')}: not here, so they were not compared"
    elif state.results and not any(one.missing_cases for one in state.results):
        yield "cases: the same"
    named = {id for one in state.results for id in one.unmeasured}
    if len(absent) < len(state.results) and (new := [id for id in state.unmeasured if id not in named]):
        yield f"cases that were not measured: {_listed(new)}"


def _card_lines(state: EvidenceState) -> Iterator[str]:
    match state.card:
        case "edited":
            yield f"card: {CARD_FILE} is not what {EVIDENCE_FILE} says; write it again with `upskill evidence`"
        case "missing":
            yield f"card: {CARD_FILE} is not here"
        case "other format":
            yield f"card: another version of upskill wrote {CARD_FILE} in other words, so it was not compared"
        case _:
            yield "card: the same"


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more


def verification_json(state: EvidenceState) -> dict[str, Json]:
    """The object of `upskill verify --json`."""
    return {
        "schema": VERIFY_SCHEMA,
        "skill": state.evidence.skill.name,
        "digest": state.evidence.skill.digest,
        "holds": state.holds,
        "files": {
            name: list(paths) if isinstance(paths, tuple) else paths for name, paths in asdict(state.files).items()
        },
        "results": [
            {
                "model": one.result.model,
                "harness": one.result.report.harness,
                "against": one.result.against,
                "verdict": one.result.verdict,
                "rests_on": one.result.basis,
                "holds": one.holds,
                "changed": list(one.broken),
                "why": why(one),
                "cases": {
                    "measured": len(one.result.cases),
                    "here": one.cases_here,
                    "unmeasured": list(one.unmeasured),
                },
            }
            for one in state.results
        ],
        "unmeasured_cases": list(state.unmeasured),
        "card": state.card,
        "notes": list(state.notes),
    }
