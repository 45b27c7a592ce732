"""Publish skills into a folder that installers read: files, evidence, card, list of plugins.

All of it is written, or nothing. Asks nobody and prints nothing. What does not belong to the published skills stays,
byte for byte.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill.core.nouns.finding import Finding, FindingsRefused
from upskill.core.nouns.skill import CARD_FILE, EVIDENCE_FILE, SIGNATURE_FILE
from upskill.core.nouns.text import count, on_one_line
from upskill.errors import EXIT_NOT_SHOWN, EngineError, UpskillError, UsageError
from upskill.redaction import redactor_from
from upskill.share.card import card_text, evidence_line
from upskill.share.copies import Action, named_changes, require_no_twin
from upskill.share.evidence import Evidence
from upskill.share.files import (
    FoundEvidence,
    SharedSkill,
    beside,
    evidence_text,
    files_beside,
    findings_in,
    measured_here,
    read_shared_skill,
)
from upskill.share.folder_changes import FolderChanges, NewFile, why_not
from upskill.share.marketplace import (
    ATTRIBUTES_FILE,
    MARKETPLACE_FILE,
    README_FILE,
    SKILLS_FOLDER,
    PublishedSkill,
    marketplace_bytes,
    marketplace_name,
    marketplace_problem,
    new_marketplace,
    parse_marketplace,
    published_changes,
    published_skills,
    read_text_file,
    readme_text,
    require_name,
    updated_readme,
    with_attribute,
    with_skills,
)


class PublishRefused(UpskillError):
    """A skill that was measured to do harm is not published."""

    exit_code = EXIT_NOT_SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSkill:
    """One skill: what is written to its folder, and what happens to what is there."""

    shared: SharedSkill
    folder: Path
    evidence: Evidence
    findings: tuple[Finding, ...]
    files: dict[str, NewFile]
    """Everything in the published folder, by path."""
    action: Action
    notes: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return self.shared.skill.name

    @property
    def result(self) -> str:
        """What was measured, in one line."""
        return evidence_line(self.evidence)

    @property
    def listed(self) -> PublishedSkill:
        """As the list of plugins and the README show it."""
        return PublishedSkill(name=self.name, description=self.shared.skill.description, result=self.result)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedFile:
    """A file beside the skills."""

    path: Path
    data: bytes
    before: bytes | None
    """What was there when the plan was made; `None` for nothing."""

    @property
    def action(self) -> Action:
        return "write" if self.before is None else "keep" if self.before == self.data else "replace"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishPlan:
    """What publishing would do. Nothing was written yet."""

    to: Path
    """The real folder."""
    marketplace: str
    """The name of the list of plugins."""
    skills: tuple[PlannedSkill, ...]
    files: tuple[PlannedFile, ...]

    @property
    def changes(self) -> bool:
        """Whether anything would be written."""
        actions = {one.action for one in self.skills} | {one.action for one in self.files}
        return actions != {"keep"}


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishOrder:
    """What a user asks for."""

    skills: tuple[Path, ...]
    to: Path
    runs_dir: Path
    ledger: Path | None
    owner: str | None = None
    name: str | None = None
    home: Path


def plan_publish(order: PublishOrder) -> PublishPlan:
    """What publishing would write. Raises where a skill or the folder cannot or must not be published."""
    to = _folder(order)
    if order.name is not None:
        require_name(order.name)
    shared = [read_shared_skill(skill) for skill in order.skills]
    _require_apart(shared, to)
    planned = tuple(_planned(one, order, to) for one in shared)
    marketplace, name = _marketplace(order, planned, to)
    files = tuple(one for one in (marketplace, _readme(name, planned, to), _attributes(to)) if one is not None)
    return PublishPlan(to=to, marketplace=name, skills=planned, files=files)


def publish(plan: PublishPlan) -> None:
    """Write everything, or nothing. Raises where somebody changed what is there since the plan was made."""
    for skill in plan.skills:
        _there(skill.folder)
    for file in plan.files:
        if read_text_file(file.path) != file.before:
            raise UsageError(on_one_line(f"{file.path}: changed meanwhile; nothing was published"), hint="try again")
    try:
        with FolderChanges() as changes:
            for skill in plan.skills:
                if skill.action != "keep":
                    changes.make_folders(skill.folder.parent)
                    changes.stage_folder(skill.folder, skill.files)
            for file in plan.files:
                if file.action != "keep":
                    changes.make_folders(file.path.parent)
                    changes.stage_file(file.path, file.data)
            changes.apply()
    except OSError as error:
        raise EngineError(
            on_one_line(f"{plan.to}: nothing was published ({why_not(error)})"),
        ) from error


def _folder(order: PublishOrder) -> Path:
    """The real folder to publish to. It may be new."""
    shown = on_one_line(str(order.to))
    to = order.to.resolve()
    if order.home.resolve().is_relative_to(to):
        raise UsageError(
            f"{shown}: is your home folder, or above it", hint="name a folder of its own, e.g. --to shared"
        )
    for one in (to, *to.parents):
        if one.exists() and not one.is_dir():
            raise UsageError(on_one_line(f"{one}: is not a folder"), hint="name another folder with --to")
    for inside in (SKILLS_FOLDER, str(Path(MARKETPLACE_FILE).parent)):
        real = (to / inside).resolve()
        if not real.is_relative_to(to) or (real.exists() and not real.is_dir()):
            raise UsageError(on_one_line(f"{order.to / inside}: must be a folder inside {shown}"), hint="move it away")
    return to


def _require_apart(skills: Sequence[SharedSkill], to: Path) -> None:
    names: set[str] = set()
    for one in skills:
        if one.skill.name in names:
            raise UsageError(f"two of the skills have the name {one.skill.name}", hint="publish one of them")
        names.add(one.skill.name)
        if to.is_relative_to(one.root):
            raise UsageError(on_one_line(f"{to}: is inside the skill {one.skill.name}"), hint="name another folder")
        if one.root.is_relative_to(to):
            raise UsageError(
                on_one_line(f"{one.root}: is inside the folder to publish to, so its cases would be published, too"),
                hint="publish to a folder that does not contain the skill",
            )


def _planned(shared: SharedSkill, order: PublishOrder, to: Path) -> PlannedSkill:
    name, folder = shared.skill.name, to / SKILLS_FOLDER / shared.skill.name
    file = beside(shared)
    here = measured_here(shared.root, runs_dir=order.runs_dir, ledger=order.ledger)
    chosen, notes = _chosen(name, file, here)
    evidence = chosen.evidence
    assert evidence is not None  # what is measured here has at least the digests
    about = files_beside(shared, file) if chosen is file else _new_evidence(evidence)
    findings = findings_in(shared, about)
    if bad := [one for one in findings if one.severity in ("danger", "error")]:
        raise FindingsRefused(
            f"{name}: not published: {count(len(bad), 'danger or error', 'dangers or errors')}",
            findings=findings,
            problems=[one.line_for_people for one in bad],
            hint="fix these; `upskill lint` shows them with remedies",
        )
    files = {**shared.files, **about}
    action, there = _there(folder)
    if SIGNATURE_FILE in there and there.get(EVIDENCE_FILE) == files[EVIDENCE_FILE].data:
        files.setdefault(SIGNATURE_FILE, NewFile(there[SIGNATURE_FILE]))
    if action == "replace" and there == {path: one.data for path, one in files.items()}:
        action = "keep"
    return PlannedSkill(
        shared=shared, folder=folder, evidence=evidence, findings=findings, files=files, action=action, notes=notes
    )


def _new_evidence(evidence: Evidence) -> dict[str, NewFile]:
    clean = redactor_from(os.environ).clean_own
    texts = {EVIDENCE_FILE: evidence_text(evidence), CARD_FILE: card_text(evidence)}
    return {name: NewFile(clean(text).encode()) for name, text in texts.items()}


def _chosen(name: str, file: FoundEvidence, here: FoundEvidence) -> tuple[FoundEvidence, tuple[str, ...]]:
    """The evidence that is published: of the runs here, else what lies beside the skill. Harm counts in both."""
    for one in (file, here):
        if one.evidence is not None and one.evidence.worst_verdict == "hurts":
            raise PublishRefused(
                f"{name}: not published: {evidence_line(one.evidence)}",
                hint="improve the skill with `upskill generate --from`, and measure it again",
            )
    notes = [] if file.note is None else [file.note]
    if here.evidence is not None and here.evidence.results:
        if file.evidence is not None and file.evidence != here.evidence:
            notes.append(f"{EVIDENCE_FILE} beside the skill is replaced by what the runs here measured")
        return here, tuple(notes)
    return (here if file.evidence is None else file), tuple(notes)


def _there(folder: Path) -> tuple[Action, dict[str, bytes]]:
    """Whether there is a published version, and its files. Raises where upskill did not publish what is there."""
    shown = on_one_line(str(folder))
    require_no_twin(folder)
    if not os.path.lexists(folder):
        return "write", {}
    changed = None if folder.is_symlink() or not folder.is_dir() else published_changes(folder)
    if changed is None:
        raise UsageError(f"{shown}: upskill did not publish what is there, so it was not replaced", hint="move it away")
    if changed:
        raise UsageError(
            f"{shown}: was changed after it was published, so it was not replaced",
            problems=named_changes(changed),
            hint="make the change in the skill itself, then move this folder away and publish again",
        )
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return "replace", {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def _marketplace(order: PublishOrder, skills: Sequence[PlannedSkill], to: Path) -> tuple[PlannedFile, str]:
    path = to / MARKETPLACE_FILE
    before = read_text_file(path)
    current: dict[str, Any]
    if before is None:
        name = order.name or marketplace_name(to.name)
        require_name(name)
        if not (order.owner or "").strip():
            raise UsageError(
                "a new marketplace needs the name of its owner", hint="add --owner NAME, of you or your team"
            )
        current = new_marketplace(name, str(order.owner).strip())
    else:
        current = parse_marketplace(path, before)
        if problem := marketplace_problem(current):
            raise UsageError(f"{path}: cannot be added to: {problem}", hint="correct the file, then publish again")
        for option, typed, there in (
            ("--name", order.name, current["name"]),
            ("--owner", order.owner, current["owner"]["name"]),
        ):
            if typed is not None and typed != there:
                raise UsageError(
                    on_one_line(f"{option} {typed}: {path} has {there!r}"), hint=f"remove {option}, or edit the file"
                )
    data = marketplace_bytes(with_skills(current, [one.listed for one in skills]), before=before)
    return PlannedFile(path=path, data=data, before=before), str(current["name"])


def _readme(title: str, skills: Sequence[PlannedSkill], to: Path) -> PlannedFile | None:
    """The README if there is none, or its list if it has the marks of one; `None` where it is the user's own."""
    path = to / README_FILE
    if path.is_symlink():
        return None
    before = read_text_file(path)
    rows = published_skills(to / SKILLS_FOLDER) | {one.name: one.listed for one in skills}
    listed = [rows[name] for name in sorted(rows)]
    if before is None:
        return PlannedFile(path=path, data=readme_text(title, listed).encode(), before=None)
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return PlannedFile(path=path, data=updated_readme(text, listed).encode(), before=before)


def _attributes(to: Path) -> PlannedFile | None:
    """The attributes for git, with one line more where it is missing; `None` where they are a link."""
    path = to / ATTRIBUTES_FILE
    if path.is_symlink():
        return None
    before = read_text_file(path)
    return PlannedFile(path=path, data=with_attribute(before), before=before)
