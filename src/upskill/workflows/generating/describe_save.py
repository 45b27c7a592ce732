"""Saves a new description: in the place of the old one, or in a copy of the skill. Nothing else is changed."""

from dataclasses import replace
from pathlib import Path

from upskill import storage
from upskill.domain import Purchase, Skill
from upskill.errors import UsageError
from upskill.storage.description import copy_unseen, write_description
from upskill.storage.runs import now
from upskill.storage.skill_meta import HeldOutUse, Provenance, SkillMeta, read_meta, replace_meta
from upskill.storage.teaching_runs import TeachingFolder, TeachingRecord
from upskill.workflows.evaluating.judge import identity
from upskill.workflows.generating.describe_prove import DescriptionProof
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.shown_path import shown_path

IMPROVED_FOR = "when it is loaded: only the description was revised"


def described_meta(
    inputs: GenerateInputs, record: TeachingRecord, proof: DescriptionProof, *, folder: TeachingFolder, spent: Purchase
) -> SkillMeta:
    """What is known of the skill with its new description. What was measured before was measured with the old one."""
    skill = inputs.gathered.skill_folder
    before = read_meta(skill) if skill is not None and skill.is_dir() else SkillMeta()
    old = None if folder.previous is None else storage.read_skill(folder.previous).digest
    run = folder.path.name
    uses = [use for use in before.held_out_uses if use.run != run]
    if proof.held_out:
        uses.append(HeldOutUse(cases=proof.held_out, run=run, at=now(), helped=proof.proven))
    known = before.provenance
    return replace(
        before,
        provenance=Provenance(
            task=known.task if known is not None else inputs.gathered.material.task,
            teacher=inputs.roles.teacher.name,
            teacher_model=identity(inputs.roles.teacher) or "",
            case_writer=None if known is None else known.case_writer,
            sources=inputs.gathered.sources,
            versions=record.versions,
            started_at=record.started_at,
            finished_at=now(),
            cost=spent.cost,
            calls=spent.calls,
            run=run,
            improved_from=old,
            improved_for=IMPROVED_FOR,
            aptitude=() if known is None else known.aptitude,
        ),
        measured=tuple(replace(one, version=one.version or old) for one in before.measured),
        held_out_uses=tuple(uses),
    )


def save_description(
    inputs: GenerateInputs, description: str, meta: SkillMeta, *, copy: Path, previous: Path | None
) -> tuple[Path, Skill]:
    """Save the description, and what is known of the skill; returns its folder as well.

    `copy` is the skill with the new description in the run folder, `previous` the skill as it was when the run began.
    Raises where the skill changed meanwhile, or a folder is in the way.
    """
    old, target = inputs.gathered.skill_folder, inputs.target
    place = old if target.in_place and old is not None else target.for_name(copy.name)
    known = {storage.read_skill(one).digest for one in (copy, previous) if one is not None}
    new = storage.read_skill(copy).digest
    if target.in_place:
        if storage.read_skill(place).digest not in known:
            raise UsageError(
                f"{shown_path(place)}: changed during this run and was not overwritten",
                hint=f"the new description is in {shown_path(copy)}; compare them",
            )
        if storage.read_skill(place).digest != new:
            write_description(place, description)
    elif place.exists():
        # After a kill, what the same run saved; anything else is somebody's own.
        if storage.read_skill(place).digest != new:
            raise UsageError(
                f"{shown_path(place)}: was created during this run and was not overwritten",
                hint=f"the skill is in {shown_path(copy)}; copy it from there",
            )
    else:
        place.parent.mkdir(parents=True, exist_ok=True)
        storage.copy_skill(copy, place)
        if old is not None and old.is_dir():
            copy_unseen(old, place)
    replace_meta(place, replace(meta, digest=new))
    return place, storage.read_skill(place)
