"""Compares the evidence beside a skill with what is here: files, cases and card. Calls no model."""

from pathlib import Path
from shlex import quote

from upskill import storage
from upskill.domain import Case
from upskill.domain.evidence import CARD_FORMAT, Evidence
from upskill.domain.evidence_state import CardState, EvidenceState, compare_evidence
from upskill.domain.skill import EVIDENCE_FILE, SKILL_FILE
from upskill.errors import EXIT_NOT_SHOWN, UpskillError
from upskill.reporting.card import card_text
from upskill.storage.evidence import measured_skill, read_card, read_evidence


class NoEvidence(UpskillError):
    """There is no evidence beside a skill."""

    exit_code = EXIT_NOT_SHOWN


def verify_skill(skill: Path, *, case_file: Path | None = None) -> EvidenceState:
    """What of the evidence beside a skill still holds.

    Raises `NoEvidence` where there is none, and `SkillInvalid` where it cannot be read.
    """
    folder = skill.parent if skill.name == SKILL_FILE else skill
    now = measured_skill(folder, storage.read_skill(folder))
    evidence = read_evidence(folder)
    if evidence is None:
        raise NoEvidence(
            f"{folder}: has no {EVIDENCE_FILE}, so there is nothing to verify",
            hint=f"measure the skill with `upskill eval`, then write it: upskill evidence {quote(str(folder))}",
        )
    notes: list[str] = []
    return compare_evidence(
        evidence,
        now,
        own=_own_cases(folder, notes),
        named=None if case_file is None else storage.read_case_file(case_file, check_problems=lambda _: []).cases,
        card=_card_state(folder, evidence),
        notes=tuple(notes),
    )


def _card_state(folder: Path, evidence: Evidence) -> CardState:
    card = read_card(folder)
    if card is None:
        return "missing"
    if evidence.card_format != CARD_FORMAT:
        return "other format"
    return "same" if card == card_text(evidence) else "edited"


def _own_cases(folder: Path, notes: list[str]) -> tuple[Case, ...] | None:
    """The cases beside the skill; `None` where there are none, or with a note where they cannot be read."""
    try:
        file = storage.read_skill_cases(folder, check_problems=lambda _: [])
    except UpskillError as error:
        notes.append(f"the cases beside the skill cannot be read: {error.message}")
        return ()
    return None if file is None else file.cases
