"""Plans a sweep: finds its skills, names every evaluation by its content, and keeps what each needs. Asks no model.

Ten thousand skills that have not changed are planned again from the bytes of their folders alone.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.domain.progress import SILENT, Progress
from upskill.domain.sweep import PlannedBefore, PlannedJob, PlannedStudent, Refused, SweepPlan
from upskill.domain.text import on_one_line
from upskill.errors import UsageError
from upskill.models import Endpoint, ServedModel
from upskill.models.preflight import ServersAskedOnce
from upskill.settings import Settings
from upskill.storage.raw_skill import raw_digest
from upskill.storage.sweep_folder import SweepFolder
from upskill.workflows.sweeping.archives import Archives
from upskill.workflows.sweeping.conditions import basis_of, planned_student, sweep_endpoints
from upskill.workflows.sweeping.listed_skills import ListedSkill, listed_skills, with_folder
from upskill.workflows.sweeping.manifest import Manifest, read_manifest

if TYPE_CHECKING:
    from upskill.workflows.sweeping.planned_skill import SkillPlanner


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSweep:
    """A plan that was made and is kept in its folder."""

    plan: SweepPlan
    skills: int
    """How many the manifest names."""
    jobs: tuple[PlannedJob, ...]
    refused: tuple[Refused, ...]
    copies: tuple[tuple[str, str], ...]
    """Skills with the content of another: the skill, and the one that is measured for both."""
    endpoints: Mapping[str, Endpoint]
    concurrency: int
    notes: tuple[str, ...]

    @property
    def unpriced(self) -> tuple[str, ...]:
        """The models whose price is unknown."""
        return tuple(one.name for one in self.plan.students if not one.priced)

    @property
    def all_notes(self) -> tuple[str, ...]:
        """What a person should know before it is run."""
        capped = self.plan.caps.max_cost is not None and bool(self.unpriced)
        free = f"the cap on cost does not count {', '.join(self.unpriced)}, whose price is unknown"
        return (*self.notes, *((free,) if capped else ()))


def plan_sweep(path: Path, folder: SweepFolder, *, progress: Progress = SILENT) -> PlannedSweep:
    """Plan the sweep of a manifest and keep the plan. Raises where no skill can be measured.

    Servers and aliases that the manifest names are told to `progress` before anything is sent.
    """
    manifest = read_manifest(path)
    settings = replace(manifest.values, store=False, report=False, runs_dir=os.devnull)
    servers = ServersAskedOnce()
    endpoints, untyped = sweep_endpoints(manifest.students, settings)
    for line in untyped:
        progress.announce(line)
    served = {name: servers.probe(one, needs_key=False) for name, one in endpoints.items()}
    students = tuple(planned_student(one, served[name]) for name, one in endpoints.items())
    basis = basis_of(manifest, students, endpoints, served)
    listed = listed_skills(manifest)
    with Archives(folder) as archives:
        planning = _Planning(
            manifest=manifest,
            settings=settings,
            servers=servers,
            served={one.name: one.served for one in students},
            archives=archives,
            known=_Known.read(folder, basis, archives),
        )
        for number, skill in enumerate(listed):
            progress.step("reading skills", number, len(listed))
            planning.add(skill)
    if not planning.jobs:
        raise _nothing_to_measure(manifest, planning.refused)
    made = _plan(manifest, students, basis=basis)
    jobs = tuple(_with_earlier(planning.jobs.values(), folder))
    if planning.known.differs(made, jobs, planning.refused):
        folder.write_plan(made, jobs, planning.refused)
    return PlannedSweep(
        plan=made,
        skills=len(listed),
        jobs=jobs,
        refused=tuple(planning.refused),
        copies=tuple(planning.copies),
        endpoints=endpoints,
        concurrency=settings.concurrency,
        notes=tuple(_notes(served)),
    )


def _plan(manifest: Manifest, students: tuple[PlannedStudent, ...], *, basis: str) -> SweepPlan:
    return SweepPlan(
        manifest=manifest.path.name,
        groups=manifest.groups,
        students=students,
        harness=manifest.harness,
        runs=manifest.runs,
        seed=manifest.seed,
        settings=manifest.settings,
        caps=manifest.caps,
        limits=manifest.limits,
        confirm=manifest.confirm,
        logs=manifest.logs,
        made_at=datetime.now(UTC).isoformat(timespec="seconds"),
        basis=basis,
    )


def _notes(served: Mapping[str, ServedModel]) -> Iterator[str]:
    for one in served.values():
        yield from one.notes


def _nothing_to_measure(manifest: Manifest, refused: Sequence[Refused]) -> UsageError:
    return UsageError(
        f"{on_one_line(str(manifest.path))}: none of its skills can be measured",
        problems=[f"{one.skill}: {one.why}" for one in refused[:5]],
        hint="`upskill eval SKILL -m MODEL --dry-run` says more about one of them",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class _Known:
    """What the plan before this one found, as far as it still holds."""

    plan: SweepPlan | None = None
    jobs: tuple[PlannedJob, ...] = ()
    refused: tuple[Refused, ...] = ()
    by_raw: Mapping[str, tuple[list[PlannedJob], list[Refused]]] = field(default_factory=dict)
    """Nothing, where the conditions are others now."""

    @classmethod
    def read(cls, folder: SweepFolder, basis: str, archives: Archives) -> "_Known":
        if not folder.has_plan():
            return cls()
        plan, jobs, refused = folder.plan(), folder.jobs(), folder.refused()
        by_raw: dict[str, tuple[list[PlannedJob], list[Refused]]] = {}
        if plan.basis == basis:
            for job in jobs:
                if job.raw and archives.has(job.input):
                    by_raw.setdefault(job.raw, ([], []))[0].append(job)
            for one in refused:
                if one.raw:
                    by_raw.setdefault(one.raw, ([], []))[1].append(one)
        return cls(plan=plan, jobs=tuple(jobs), refused=tuple(refused), by_raw=by_raw)

    def of(self, raw: str | None, group: tuple[str, ...]) -> tuple[PlannedJob | None, list[Refused]] | None:
        """What was planned from these bytes for a group; `None` where nobody knows."""
        if raw is None or raw not in self.by_raw:
            return None
        jobs = [job for job in self.by_raw[raw][0] if set(job.students) <= set(group)]
        refused = [one for one in self.by_raw[raw][1] if set(one.students) <= set(group)]
        job = jobs[0] if jobs else None
        covered = [*(() if job is None else job.students), *(student for one in refused for student in one.students)]
        return (job, refused) if sorted(covered) == sorted(group) else None

    def differs(self, plan: SweepPlan, jobs: tuple[PlannedJob, ...], refused: Sequence[Refused]) -> bool:
        """Whether there is anything to write."""
        if self.plan is None or replace(plan, made_at=self.plan.made_at) != self.plan:
            return True
        return (jobs, tuple(refused)) != (self.jobs, self.refused)


@dataclass(kw_only=True, slots=True)
class _Planning:
    """A plan while it is made."""

    manifest: Manifest
    settings: Settings
    servers: ServersAskedOnce
    served: Mapping[str, str | None]
    archives: Archives
    known: _Known
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)
    _planner: "SkillPlanner | None" = None

    def add(self, listed: ListedSkill) -> None:
        """Plan one skill on every group, or keep why that is not possible."""
        raw = raw_digest(listed.folder, listed.case_file)
        refused: list[Refused] = []
        for group in self.manifest.groups:
            job, why_not = self._known_before(raw, listed, group) or self.planner().plan(listed, group, raw=raw)
            if why_not:
                refused += (replace(one, skill=listed.skill) for one in why_not)
            if job is None:
                continue
            if listed.digest is not None and listed.digest != job.version:
                why = f"its digest is {job.version[:12]}…, and the list says {on_one_line(listed.digest)[:12]}…"
                refused.append(Refused(skill=listed.skill, why=why, students=group))
            elif (same := self.jobs.get(job.id)) is not None:
                self.copies.append((listed.skill, same.skill))
            else:
                self.jobs[job.id] = job if job.skill == listed.skill else replace(job, skill=listed.skill)
        if refused:
            self.refused += _once(refused, self.manifest.students)

    def _known_before(
        self, raw: str | None, listed: ListedSkill, group: tuple[str, ...]
    ) -> tuple[PlannedJob | None, list[Refused]] | None:
        return self.known.of(raw, group) or self.known.of(with_folder(raw, listed), group)

    def planner(self) -> "SkillPlanner":
        if self._planner is None:
            # Reads, checks and renders: all of that takes a second to import, and a plan without changes needs none.
            from upskill.workflows.sweeping.planned_skill import SkillPlanner

            self._planner = SkillPlanner(
                settings=self.settings,
                runs=self.manifest.runs,
                servers=self.servers,
                served=self.served,
                archives=self.archives,
            )
        return self._planner


def _once(refused: Sequence[Refused], students: tuple[str, ...]) -> Iterator[Refused]:
    """One line for a reason that holds for every model."""
    for one in refused:
        same = [other for other in refused if other.why == one.why and not other.raw]
        if one.raw or sorted(student for other in same for student in other.students) != sorted(students):
            yield one
        elif one is same[0]:
            yield replace(one, students=())


def _with_earlier(jobs: Iterable[PlannedJob], folder: SweepFolder) -> Iterator[PlannedJob]:
    """The jobs with the ids that measured the same skill before and have a result.

    It is the same skill if the manifest names the same folder; or the name is the same, and its folder has gone.
    """
    planned = {job.id: job for job in jobs}
    history, done = folder.history(), folder.done()
    here = {job.skill for job in planned.values()}
    by_skill: dict[str, list[PlannedBefore]] = {}
    by_name: dict[str, list[PlannedBefore]] = {}
    for before in history:
        if before.id in done and before.id not in planned:
            by_skill.setdefault(before.skill, []).append(before)
            if before.skill not in here:
                by_name.setdefault(before.name, []).append(before)
    for job in planned.values():
        found = by_skill.get(job.skill) or by_name.get(job.name) or ()
        earlier = tuple(one.id for one in found if not set(one.students).isdisjoint(job.students))
        yield job if job.earlier == earlier else replace(job, earlier=earlier)
