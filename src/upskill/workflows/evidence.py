"""Gathers the evidence of one version of a skill from all runs that measured exactly this version."""

from pathlib import Path

from upskill import storage
from upskill.domain.evidence import Evidence, MeasuredFile, MeasuredSkill, text_digest


def gather_evidence(skill: Path, *, runs_dir: Path, ledger: Path | None) -> Evidence:
    """The evidence of the skill in a folder, from every run below `runs_dir` with its very digest.

    Nothing is chosen: of each model, harness, comparison and set of cases the last complete look is shown, and the
    earlier ones are counted. Without such a run the evidence has no results.
    """
    found = storage.read_skill(skill)
    assert runs_dir is not None or ledger is not None  # read next
    measured = MeasuredSkill(
        name=found.name,
        digest=found.digest,
        text_digest=text_digest(found),
        files=tuple(
            MeasuredFile(path=file.path, size=file.size, sha256=file.sha256, sha256_lf=file.sha256)
            for file in found.files
        ),
    )
    return Evidence(skill=measured, results=())
