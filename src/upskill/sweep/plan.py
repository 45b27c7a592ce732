"""Plans a sweep: finds its skills, names every evaluation by its content, and keeps what each needs. Asks no model.

Ten thousand skills that have not changed are planned again from the digests of their archives alone.
"""

import hashlib
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from upskill import __version__, disk
from upskill.core.models import Endpoint, ServedModel
from upskill.core.models.endpoint import student_endpoint, untyped_lines
from upskill.core.models.preflight import ServersAskedOnce
from upskill.core.nouns import digest_of
from upskill.core.nouns.harness import choose_harness
from upskill.core.nouns.text import on_one_line
from upskill.core.progress import SILENT, Progress
from upskill.core.settings import Origin, ResolvedSettings, Settings, settings_from
from upskill.core.trials.harness import agent_limits, load_harness
from upskill.core.trials.judge import judge_endpoint
from upskill.core.trials.trial_run import TrialLimits
from upskill.errors import UsageError
from upskill.sweep.files import SweepFolder
from upskill.sweep.manifest import ListedSkill, Manifest, listed_skills, read_manifest
from upskill.sweep.skills import Archives, Planned, SkillPlanner, found_digest
from upskill.sweep.values import JOB_SETTINGS, Caps, PlannedBefore, PlannedJob, PlannedStudent, Refused, SweepPlan


def sweep_endpoints(students: Collection[str], settings: Settings) -> tuple[dict[str, Endpoint], tuple[str, ...]]:
    """Where the models of a sweep are asked, and a line for every server and alias that nobody typed.

    Raises `UsageError` for a script outside the working folder: a manifest, or a plan, may be a stranger's, and what
    cannot be read as a script would be quoted.
    """
    endpoints = {name: student_endpoint(name, settings) for name in students}
    judge = judge_endpoint(settings, endpoints)
    judges = [] if judge is None or judge.name in endpoints else [judge]
    for one in (*endpoints.values(), *judges):
        if one.is_scripted and not _script_of(one).resolve().is_relative_to(Path.cwd().resolve()):
            raise UsageError(
                f"{one.name}: the script {_script_of(one)} is outside the working folder",
                hint="copy the script here, if you know what it is; scripts of a sweep are in the working folder",
            )
    return endpoints, (*untyped_lines("models are", endpoints.values()), *untyped_lines("the judge is", judges))


def planned_student(endpoint: Endpoint, served: ServedModel) -> PlannedStudent:
    """A model as it was found."""
    return PlannedStudent(
        name=endpoint.name,
        model=endpoint.model,
        endpoint=endpoint.base_url,
        served=_script_digest(endpoint) if endpoint.is_scripted else served.fingerprint,
        priced=endpoint.price is not None,
    )


def _script_digest(endpoint: Endpoint) -> str:
    """A script that is edited is another model."""
    try:
        return hashlib.sha256(disk.read(disk.named(_script_of(endpoint)))).hexdigest()
    except OSError as error:
        raise UsageError(f"{endpoint.name}: cannot be read ({error.strerror})") from None


def _script_of(endpoint: Endpoint) -> Path:
    return Path(endpoint.model.removeprefix("scripted/"))


def basis_of(plan: SweepPlan, endpoints: Mapping[str, Endpoint], served: Mapping[str, ServedModel]) -> str:
    """The digest of all that decides, beside the skills themselves, which evaluations there are and what they take."""
    harnesses = dict.fromkeys(choose_harness(plan.harness, tools=tools) for tools in (False, True))
    prices = {
        name: None if (price := one.price) is None else [price.input_per_million, price.output_per_million]
        for name, one in endpoints.items()
    }
    return digest_of(
        {
            "upskill": __version__,
            "groups": plan.groups,
            "students": [[one.name, one.model, one.endpoint, one.served] for one in plan.students],
            "windows": {name: served[name].window or one.window for name, one in endpoints.items()},
            "prices": prices,
            "harness": plan.harness,
            "versions": [load_harness(name).version for name in harnesses],
            "agents": [agent_limits(TrialLimits(), name, agent_bin=None).setup.identity() for name in harnesses],
            "runs": plan.runs,
            "confirm": plan.confirm,
            "seed": plan.seed,
            "settings": plan.settings,
        }
    )


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
    made = replace(manifest.plan, students=students, made_at=datetime.now(UTC).isoformat(timespec="seconds"))
    made = replace(made, basis=basis_of(made, endpoints, served))
    listed = listed_skills(manifest)
    before = (folder.plan(), folder.jobs(), folder.refused()) if folder.has_plan() else None
    with Archives(folder) as archives:
        planning = _Planning(
            manifest=manifest,
            planner=SkillPlanner(
                settings=settings,
                runs=made.runs,
                confirm=made.confirm,
                servers=servers,
                served={one.name: one.served for one in students},
                archives=archives,
            ),
            known=_known(before, made.basis, archives),
        )
        for number, skill in enumerate(listed):
            progress.step("reading skills", number, len(listed))
            planning.add(skill)
    if not planning.jobs:
        raise _nothing_to_measure(manifest, planning.refused)
    jobs = tuple(_with_earlier(planning.jobs.values(), folder))
    if before is None or (replace(made, made_at=before[0].made_at), list(jobs), planning.refused) != before:
        folder.write_plan(made, jobs, planning.refused)
    return PlannedSweep(
        plan=made,
        skills=len(listed),
        jobs=jobs,
        refused=tuple(planning.refused),
        copies=tuple(planning.copies),
        endpoints=endpoints,
        concurrency=settings.concurrency,
        notes=tuple(note for one in served.values() for note in one.notes),
    )


def _nothing_to_measure(manifest: Manifest, refused: Sequence[Refused]) -> UsageError:
    return UsageError(
        f"{on_one_line(str(manifest.path))}: none of its skills can be measured",
        problems=[f"{one.skill}: {one.why}" for one in refused[:5]],
        hint="`upskill eval SKILL -m MODEL --dry-run` says more about one of them",
    )


Known = Mapping[str, tuple[list[PlannedJob], list[Refused]]]
"""What the plan before this one found, by the digest of the archive that it was planned from."""


def _known(before: tuple[SweepPlan, list[PlannedJob], list[Refused]] | None, basis: str, archives: Archives) -> Known:
    """What still holds of the plan before: nothing, where the conditions are others now."""
    found: dict[str, tuple[list[PlannedJob], list[Refused]]] = {}
    if before is not None and before[0].basis == basis:
        for job in before[1]:
            if archives.has(job.input):
                found.setdefault(job.input, ([], []))[0].append(job)
        for one in before[2]:
            if one.input is not None:
                found.setdefault(one.input, ([], []))[1].append(one)
    return found


@dataclass(kw_only=True, slots=True)
class _Planning:
    """A plan while it is made."""

    manifest: Manifest
    planner: SkillPlanner
    known: Known
    jobs: dict[str, PlannedJob] = field(default_factory=dict)
    refused: list[Refused] = field(default_factory=list)
    copies: list[tuple[str, str]] = field(default_factory=list)

    def add(self, listed: ListedSkill) -> None:
        """Plan one skill on every group, or keep why that is not possible."""
        input = found_digest(listed)
        refused: list[Refused] = []
        for group in self.manifest.plan.groups:
            job, why_not = self._known(input, group) or self.planner.plan(listed, group, input=input)
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

    def _known(self, input: str | None, group: tuple[str, ...]) -> Planned | None:
        """What was planned before from this archive for a group; `None` where nobody knows."""
        if input is None or input not in self.known:
            return None
        jobs = [job for job in self.known[input][0] if set(job.students) <= set(group)]
        refused = [one for one in self.known[input][1] if set(one.students) <= set(group)]
        job = jobs[0] if jobs else None
        covered = [*(() if job is None else job.students), *(student for one in refused for student in one.students)]
        return (job, refused) if sorted(covered) == sorted(group) else None


def _once(refused: Sequence[Refused], students: tuple[str, ...]) -> Iterator[Refused]:
    """One line for a reason that holds for every model."""
    for one in refused:
        same = [other for other in refused if other.why == one.why and other.input is None]
        if one.input is not None or sorted(student for other in same for student in other.students) != sorted(students):
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


_OF_A_JOB = frozenset({"models", "harness", "seed"})


def job_settings(named: Mapping[str, Any], *, caps: Caps) -> ResolvedSettings:
    """The settings with these values. Neither settings files nor `UPSKILL_*` variables are read."""
    if strangers := sorted(named.keys() - JOB_SETTINGS - _OF_A_JOB):
        raise UsageError(
            f"the plan cannot be read: {', '.join(strangers)} cannot be set in `settings`",
            hint=f"allowed settings: {', '.join(sorted(JOB_SETTINGS))}",
        )
    chosen = settings_from(dict(named), where="plan.json")
    values = replace(
        chosen.values,
        store=False,
        report=False,
        max_cost=caps.max_cost,
        max_calls=caps.max_calls,
        max_total_tokens=caps.max_total_tokens,
        max_time_minutes=caps.max_time_minutes,
    )
    return replace(chosen, values=values)


def require_planned_endpoints(plan: SweepPlan, students: Collection[str]) -> tuple[str, ...]:
    """A line for every server and alias of the plan, as they are here and now: that is where keys would go.

    Raises `UsageError` where the plan says something else of one of these students: it would hide where it is asked.
    """
    origins = {name: Origin(where=f"{name} in plan.json") for name in plan.settings if name in ("base_url", "aliases")}
    values = job_settings(plan.settings, caps=Caps()).values
    endpoints, untyped = sweep_endpoints(students, replace(values, untyped=origins))
    planned = {one.name: (one.model, one.endpoint) for one in plan.students}
    for name, one in endpoints.items():
        if planned.get(name) != (one.model, one.base_url):
            says = "does not have it" if name not in planned else f"says {_place(*planned[name])}"
            raise UsageError(
                on_one_line(f"{name}: would be asked as {_place(one.model, one.base_url)}, and the plan {says}"),
                hint="make the plan again here: upskill sweep plan FILE --at PLACE",
            )
    return untyped


def _place(model: str, endpoint: str | None) -> str:
    return model if endpoint is None else f"{model} at {endpoint}"
