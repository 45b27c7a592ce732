"""Saves the result of a `generate`: the skill in its folder, with its cases and its provenance.

Nothing worse ever takes the place of what is better, and nothing is overwritten that somebody changed meanwhile.
"""

from collections.abc import Sequence
from pathlib import Path

from upskill import storage
from upskill.domain import Case, Skill
from upskill.domain.draft import Draft
from upskill.domain.skill import SKILL_FILE
from upskill.errors import UpskillError, UsageError
from upskill.storage.draft_folder import write_draft
from upskill.storage.skill_meta import SkillMeta, read_meta, write_meta
from upskill.workflows.generating.plan import GenerateInputs
from upskill.workflows.generating.shown_path import shown_path


def save_draft(
    inputs: GenerateInputs, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, copy: Path, previous: Path | None
) -> tuple[Path, Skill]:
    """Save a draft as a new skill, or in the place of the one that it improves; returns its folder as well.

    `copy` is the copy of the draft in the run folder, `previous` that of the skill as it was when the run began.
    """
    old = inputs.gathered.skill_folder
    if not inputs.target.in_place or old is None or previous is None:
        folder = inputs.target.for_name(draft.name)
        return folder, save_new(folder, draft, meta, cases, copy=copy)
    own = None if inputs.order.case_file is not None else inputs.own_cases
    return old, save_revision(old, draft, meta, cases, previous=previous, copy=copy, own_cases=own)


def save_new(folder: Path, draft: Draft, meta: SkillMeta, cases: Sequence[Case], *, copy: Path) -> Skill:
    """Save a new skill. A folder that exists is only replaced if the same run made it."""
    there = folder.exists() or folder.is_symlink()
    if there:
        _require_ours(folder, meta, copy)
    folder.parent.mkdir(parents=True, exist_ok=True)
    skill = write_draft(folder.parent, draft, replace=there)
    write_meta(folder, meta, cases)
    return skill


def _require_ours(folder: Path, meta: SkillMeta, copy: Path) -> None:
    """Only what the same run saved before may be overwritten: it was killed while it saved, or stopped at a cap."""
    ours = same_run = False
    try:
        provenance = read_meta(folder).provenance
        same_run = provenance is not None and meta.provenance is not None and provenance.run == meta.provenance.run
        there = storage.read_skill(folder).digest
        # Any draft of the run may have been saved by it before; a skill that is none of them was changed since.
        ours = there in {storage.read_skill(draft).digest for draft in (_drafts_of(copy) if same_run else (copy,))}
    except UpskillError:
        pass
    if not ours:
        what = "was changed since this run saved it" if same_run else "was created during this run"
        raise UsageError(
            f"{shown_path(folder)}: {what} and was not overwritten",
            hint=f"the skill is in {shown_path(copy)}; copy it from there",
        )


def _drafts_of(copy: Path) -> list[Path]:
    """All drafts in the run folder, this one included."""
    return [path.parent for path in sorted(copy.parents[1].glob(f"*/*/{SKILL_FILE}"))]


def save_revision(
    folder: Path,
    draft: Draft,
    meta: SkillMeta,
    cases: Sequence[Case],
    *,
    previous: Path,
    copy: Path,
    own_cases: Sequence[Case] | None,
) -> Skill:
    """Replace an older version, of which `previous` is a copy, by a better one.

    `own_cases` are those that the skill had when the run began, in the place of which `cases` are saved; `None` where
    the cases are from a file of their own: then those of the skill stay, if it has any.
    """
    there = storage.read_skill_cases(folder, check_problems=lambda _: [])
    found = _digests(() if there is None else there.cases)
    if own_cases is None:
        cases = cases if there is None else there.cases
    elif found not in (_digests(own_cases), _digests(cases)):
        raise UsageError(
            f"{shown_path(folder)}: its cases changed during this run and were not overwritten",
            hint=f"the better version is in {shown_path(copy)}; copy it from there",
        )
    if not _is_one_of(folder, (previous, copy)):
        raise UsageError(
            f"{shown_path(folder)}: changed during this run and was not overwritten",
            hint=f"the better version is in {shown_path(copy)}; compare them",
        )
    skill = write_draft(folder.parent, draft, replace=True)
    write_meta(folder, meta, cases)
    return skill


def _digests(cases: Sequence[Case]) -> frozenset[str]:
    return frozenset(case.digest for case in cases)


def _is_one_of(folder: Path, versions: Sequence[Path]) -> bool:
    """Whether every file is as in one of the versions: in the old one, or, after a kill, partly in the new one."""
    known = {(file.path, file.sha256) for version in versions for file in storage.read_skill(version).files}
    return all((file.path, file.sha256) in known for file in storage.read_skill(folder).files)
