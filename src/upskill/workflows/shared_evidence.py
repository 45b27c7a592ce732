"""The evidence of a skill that is installed or published: what lies beside it, or what the runs here measured."""

from pathlib import Path
from typing import Literal, NamedTuple

from upskill.domain.evidence import Evidence
from upskill.domain.finding import Finding
from upskill.domain.skill import CARD_FILE, EVIDENCE_FILE, SIGNATURE_FILE
from upskill.errors import SkillInvalid, UsageError
from upskill.reporting.card import card_text
from upskill.shipping import search_skill
from upskill.storage.evidence import evidence_from
from upskill.storage.folder_changes import NewFile
from upskill.storage.shared_skill import SharedSkill
from upskill.workflows.lint_skill import lint

Origin = Literal["file", "runs", "none"]


class FoundEvidence(NamedTuple):
    """Evidence for exactly this version of a skill, and where it is from."""

    evidence: Evidence | None
    origin: Origin
    note: str | None = None
    """Why the file beside the skill does not count."""


def beside(shared: SharedSkill) -> FoundEvidence:
    """What `evidence.json` beside the skill says, if it is about this version."""
    file = shared.evidence.get(EVIDENCE_FILE)
    if file is None:
        return FoundEvidence(None, "none")
    try:
        evidence = evidence_from(file.data)
    except ValueError as error:
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} cannot be read and is left out: {error}")
    if evidence.skill.digest != shared.skill.digest:
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} is about another version of the skill and is left out")
    return FoundEvidence(evidence, "file")


def measured_here(folder: Path, *, runs_dir: Path, ledger: Path | None) -> FoundEvidence:
    """What the runs in a folder of runs measured; without such a run, evidence without results."""
    from upskill.workflows.evidence import gather_evidence  # reads answers and grades them again

    evidence = gather_evidence(folder, runs_dir=runs_dir, ledger=ledger)
    return FoundEvidence(evidence, "runs" if evidence.results else "none")


def files_beside(shared: SharedSkill, found: FoundEvidence) -> dict[str, NewFile]:
    """The evidence beside a skill as it travels: none that is not about this version, and the card written anew.

    A card is the text of its author, and an agent can open it.
    """
    if found.origin != "file" or found.evidence is None:
        return {}
    kept = {name: shared.evidence[name] for name in (EVIDENCE_FILE, SIGNATURE_FILE) if name in shared.evidence}
    return kept | {CARD_FILE: NewFile(card_text(found.evidence).encode())}


def findings_in(shared: SharedSkill, evidence: dict[str, NewFile]) -> tuple[Finding, ...]:
    """What `lint` finds in a skill, and what is dangerous in the evidence that travels with it.

    Raises where the skill cannot be searched, or is not the one that was read.
    """
    linted = lint(shared.root)
    if linted.refused is not None:
        raise SkillInvalid(linted.refused)
    if linted.digest != shared.skill.digest:
        raise UsageError(f"{shared.skill.name}: changed while it was being read", hint="try again")
    planted = search_skill({name: file.data for name, file in evidence.items()})
    return tuple(dict.fromkeys((*(one for one in planted if one.severity == "danger"), *linted.findings)))
