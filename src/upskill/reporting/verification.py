"""What `upskill verify` says of the evidence beside a skill: as lines for people, and as one JSON object."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from upskill.domain.case import Json
from upskill.domain.evidence import EvidenceResult
from upskill.domain.evidence_state import Broken, CaseChanges, EvidenceState, FileChanges, ResultState
from upskill.domain.skill import CARD_FILE, EVIDENCE_FILE, SKILL_FILE
from upskill.domain.text import count
from upskill.reporting.card import how, model_names

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
    if state.verified:
        return f"verified: {'the result still holds' if of == 1 else f'all {of} results still hold'}"
    if held == of:
        return f"not verified: the card was edited; the {'result still holds' if of == 1 else 'results still hold'}"
    if of == 1:
        return "not verified: the result no longer holds"
    return f"not verified: {held} of {of} results still {'holds' if held == 1 else 'hold'}"


def _file_lines(files: FileChanges) -> Iterator[str]:
    changed = [_with_part(path, files) for path in files.changed]
    for what, paths in (("changed", changed), ("added", files.added), ("removed", files.removed)):
        if paths:
            yield f"{what} since it was measured: {_listed(paths)}"
    if files.line_endings:
        yield f"same but for line endings: {_listed(files.line_endings)}"


def _with_part(path: str, files: FileChanges) -> str:
    if path != SKILL_FILE:
        return path
    return f"{path} (its name or body)" if not files.same_text else f"{path} (only above its body: the description, …)"


def _result_lines(results: Sequence[ResultState]) -> Iterator[str]:
    names = model_names(state.result for state in results)
    for state in results:
        one, held = state.result, "holds" if state.holds else "no longer holds"
        older = "" if one.against == "baseline" else ", compared with an older version"
        yield f"{held}: {names[one.model]}, {how(one)}{older}: {one.sentence}; {why(state)}"


def why(state: ResultState) -> str:
    """Why a result holds or does not, in words."""
    if state.holds:
        return f"it rests on {_rests_on(state.result)}, which are the same"
    return "; ".join(_reason(broken, state) for broken in state.broken)


def _rests_on(result: EvidenceResult) -> str:
    return f"the name and body of {SKILL_FILE}" if result.basis == "text" else "all files of the skill"


def _reason(broken: Broken, state: ResultState) -> str:
    if broken == "text":
        return f"the model was given the name and body of {SKILL_FILE}, and these changed"
    if broken == "files":
        return "the model had all files of the skill, and some changed"
    return _changed_cases(state.cases)


def _changed_cases(cases: CaseChanges) -> str:
    here = f" (here and not measured: {_listed(cases.unmeasured)})" if cases.unmeasured else ""
    verb = "was" if cases.missing == 1 else "were"
    return f"{cases.missing} of {count(cases.measured, 'case')} {verb} changed or removed{here}"


def _case_lines(state: EvidenceState) -> Iterator[str]:
    absent = [one for one in state.results if one.cases.here is None]
    if absent and len(absent) == len(state.results):
        yield "cases: not here, so they were not compared; name their file with -t FILE"
    elif absent:
        yield f"cases of {count(len(absent), 'result')}: not here, so they were not compared"
    elif state.results and not any(one.cases.missing for one in state.results):
        yield "cases: the same"
    named = {id for one in state.results for id in one.cases.unmeasured}
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
        "verified": state.verified,
        "files": {
            name: list(paths) if isinstance(paths, tuple) else paths for name, paths in asdict(state.files).items()
        },
        "results": [
            {
                "model": one.result.model,
                "harness": one.result.harness,
                "against": one.result.against,
                "verdict": one.result.verdict,
                "rests_on": one.result.basis,
                "holds": one.holds,
                "changed": list(one.broken),
                "why": why(one),
                "cases": {
                    "measured": one.cases.measured,
                    "here": one.cases.here,
                    "unmeasured": list(one.cases.unmeasured),
                },
            }
            for one in state.results
        ],
        "unmeasured_cases": list(state.unmeasured),
        "card": state.card,
        "notes": list(state.notes),
    }
