"""The evidence of a skill that is installed or published: what lies beside it, or what the runs here measured."""

from pathlib import Path
from typing import Literal, NamedTuple

from upskill.domain.evidence import Evidence
from upskill.domain.skill import EVIDENCE_FILE
from upskill.storage.evidence import evidence_from
from upskill.storage.shared_skill import SharedSkill

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
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} cannot be read: {error}")
    if evidence.skill.digest != shared.skill.digest:
        return FoundEvidence(None, "none", f"{EVIDENCE_FILE} is about another version of the skill")
    return FoundEvidence(evidence, "file")


def measured_here(folder: Path, *, runs_dir: Path, ledger: Path | None) -> FoundEvidence:
    """What the runs in a folder of runs measured; without such a run, evidence without results."""
    from upskill.workflows.evidence import gather_evidence  # reads answers and grades them again

    evidence = gather_evidence(folder, runs_dir=runs_dir, ledger=ledger)
    return FoundEvidence(evidence, "runs" if evidence.results else "none")
