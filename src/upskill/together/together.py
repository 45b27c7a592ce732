"""Measures what skills do to each other: each on its own cases, with sets of the others beside it.

The sets are balanced (`core/statistics/interference.py`), so a fraction of all sets tells the effect of every skill on
every other. In chat all skills of a set are given; a student with tools is offered them, and loads are measured too.

The run folder holds `together.json` (what was asked and what came of it), `together.html`, and `trials/SKILL/NUMBER/`,
an ordinary run folder for each set.
"""

import json
import os
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import fmean

from upskill.core.cases.prompts import read_skill_triggers
from upskill.core.models import MeteredClient
from upskill.core.models.preflight import THE_SERVER
from upskill.core.nouns import Purchase, RunEnd, Scored, Skill, Trial, harness_info
from upskill.core.nouns.skill import TOGETHER_FILE, Among
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, CountedAnswers, PricedPlan, Progress
from upskill.core.runs.own_runs import settings_record
from upskill.core.runs.records import Status, keep_text, now
from upskill.core.runs.run_folders import new_folder, only_one_in, run_folder_at
from upskill.core.runs.run_summaries import TOGETHER_FORMAT
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.skill_files import write_text
from upskill.core.skills.skills import read_skill
from upskill.core.statistics.interference import MOST_SKILLS, Effect, balanced_sets, measure_effect, shared_level
from upskill.core.statistics.intervals import Level, unit_of
from upskill.core.trials.measure import clean_run_logs, measure
from upskill.core.trials.schedule import Schedule
from upskill.errors import EngineError, UsageError
from upskill.evaluation.cases import has_cases
from upskill.evaluation.conclude import by_student, end_notes, students_end
from upskill.evaluation.estimate import Estimate, client_for, estimate_plan, purchase_since, seconds_per_call
from upskill.evaluation.evaluate import ended_in, first_record, relative, versions
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import ChosenCases, PreparedEvaluation, choose_harness, prepare
from upskill.evaluation.several import find_targets
from upskill.redaction import redactor_from

PAGE_FILE = "together.html"
MOST_DROPPED = 0.2
"""Where more rows than this have an answer that errored, no effect is told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredSkill:
    """One of the skills, with a plan for each set of the others."""

    skill: Skill
    parts: tuple[PreparedEvaluation, ...]
    """Alone first, with all others last."""
    sets: tuple[frozenset[str], ...]
    """The names of the skills beside it in each."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedTogether:
    """What was checked before the first call."""

    skills: tuple[MeasuredSkill, ...]
    estimate: Estimate
    notes: tuple[str, ...]

    @property
    def students(self) -> tuple[str, ...]:
        return tuple(student.name for student in self.skills[0].parts[0].experiment.plan.students)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(one.skill.name for one in self.skills)

    @property
    def level(self) -> Level:
        """That of each comparison."""
        first = self.skills[0].parts[0].experiment
        both = harness_info(first.plan.harness).with_tools and not first.trial_limits.stop_at_load
        return shared_level(len(self.skills), students=len(self.students), questions=2 if both else 1)

    @property
    def answers(self) -> int:
        return sum(len(part.experiment.plan) for one in self.skills for part in one.parts)

    @property
    def lines(self) -> tuple[str, str]:
        """What it takes, for a person."""
        cases = sum(len(one.parts[0].experiment.plan.cases) for one in self.skills)
        asked, every = len(self.skills[0].sets), 2 ** len(self.skills)
        sets = f"each alone, with all others, and with {asked - 2} sets of them" if asked > 2 else "alone and together"
        about = f"{count(len(self.skills), 'skill')}, {count(cases, 'case')}: {sets} ({asked} of {every} sets)"
        return about, self.estimate.words


@dataclass(frozen=True, kw_only=True, slots=True)
class PairEffect:
    """What one skill changes in another, on the cases of that one."""

    model: str
    skill: str
    """Whose cases were asked."""
    other: str
    """What was beside it, or was not. Empty: all others together."""
    lift: Effect | None
    """`None` where prompts are asked, of which only is known whether they load it."""
    loads: Effect | None
    """The same of its loads; `None` where skills are given."""

    @property
    def deciding(self) -> Effect:
        """The lift; the loads where only these tell."""
        known = [one for one in (self.lift, self.loads) if one is not None]
        return next((one for one in known if one.verdict in ("costs", "helps")), known[0])


@dataclass(frozen=True, kw_only=True, slots=True)
class SkillRates:
    """One skill with one model: how often its cases passed, and how often it was loaded. Prompts never pass."""

    model: str
    skill: str
    harness: str
    cases: int
    alone: float | None
    together: float | None
    loaded_alone: float | None
    loaded_together: float | None
    dropped: int
    """Cases and repeats without an answer in every set."""
    withheld: bool
    """Whether so many were dropped that no effect is told."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TogetherResult:
    """Everything that was concluded."""

    descriptions: Mapping[str, str]
    """By the name of the skill, in the order in which they were named."""
    digests: Mapping[str, str]
    models: tuple[str, ...]
    confidence: float
    """Of each interval: all of them together keep 95%."""
    rates: tuple[SkillRates, ...]
    effects: tuple[PairEffect, ...]
    """Where a skill has `""` in place of the other one, that is all others together."""
    bought: Purchase
    interrupted: bool
    stopped: bool
    """Whether a person, a cap or a server that is down ended it early."""
    run: str
    notes: tuple[str, ...]


def prepare_together(
    paths: Sequence[Path],
    order: EvaluationOrder,
    settings: ResolvedSettings,
    *,
    prompts: bool = False,
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> PreparedTogether:
    """Read, check and price. With `prompts`, those that should load a skill are asked in place of its cases. Raises,
    with what to do, if no call could succeed."""
    folders = find_targets(paths)
    skills = [read_skill(folder) for folder in folders]
    if not 2 <= len(skills) <= MOST_SKILLS:
        raise UsageError(
            f"--together measures 2 to {MOST_SKILLS} skills, and {len(skills)} were named",
            hint="name those whose descriptions compete: `upskill lint SKILL --among FOLDER` finds them",
        )
    for number, folder in enumerate(folders):
        same = [one for one in folders[:number] if read_skill(one).name == skills[number].name]
        if same:
            raise UsageError(f"{folder} and {same[0]}: two skills are named {skills[number].name}", hint="rename one")
        if not prompts and not has_cases(folder):
            raise UsageError(
                f"{skills[number].name}: there are no cases",
                hint=f"let a teacher write them with `upskill cases write {folder}`",
            )
    asked = replace(order, baseline=False, ceiling=None, repeats=order.repeats or 1)
    measured = []
    for number, folder in enumerate(folders):
        progress.step("checking skills", number, len(folders))
        others = {one.name: path for one, path in zip(skills, folders, strict=True) if path != folder}
        measured.append(
            _measured_skill(
                replace(asked, skill=folder),
                others,
                settings,
                chosen=_prompts_of(folder, skills[number].name) if prompts else None,
                progress=progress,
                announce=announce if number == 0 else lambda _: None,
                needs_keys=needs_keys,
            )
        )
    noted = [(one.skill.name, note) for one in measured for part in one.parts[:1] for note in part.notes]
    often = Counter(note for _, note in noted)
    return PreparedTogether(
        skills=tuple(measured),
        estimate=Estimate.total(
            (part.estimate for one in measured for part in one.parts), most_minutes=settings.values.max_time_minutes
        ),
        notes=(
            *dict.fromkeys(note if often[note] > 1 else f"{name}: {note}" for name, note in noted),
            "no ledger counts these comparisons: asking again with --fresh is not tested more strictly",
        ),
    )


def _prompts_of(folder: Path, name: str) -> ChosenCases:
    """The held-out trigger prompts that should load a skill."""
    found = read_skill_triggers(folder)
    asked = () if found is None else tuple(one for one in found.prompts if one.should_load and one.use != "learn")
    if found is None or not asked:
        raise UsageError(
            f"{name}: there are no held-out trigger prompts that should load it",
            hint=f"let a teacher write them with `upskill trigger {folder} --write`",
        )
    return ChosenCases(cases=tuple(one.as_case for one in asked), path=found.path, loads_only=True)


def _measured_skill(
    order: EvaluationOrder,
    others: Mapping[str, Path],
    settings: ResolvedSettings,
    *,
    chosen: ChosenCases | None,
    progress: Progress,
    announce: Callable[[str], None],
    needs_keys: bool,
) -> MeasuredSkill:
    """The plans of one skill: the sets between none and all differ from these two in the other skills alone."""
    values = settings.values
    if chosen is not None:
        values = replace(values, harness=choose_harness(values.harness, (), loads=True))
        if not harness_info(values.harness).with_tools:
            raise UsageError(f"with the harness {values.harness} a model cannot load a skill", hint="remove --harness")
    alone = prepare(
        order,
        values,
        chosen=chosen,
        unchosen=settings.unchosen,
        progress=progress,
        announce=announce,
        needs_keys=needs_keys,
    )
    beside = Among(folders=tuple(str(path) for path in others.values()))
    among = prepare(
        replace(order, among=beside),
        replace(values, harness=alone.experiment.plan.harness),
        chosen=chosen,
        known=alone.qualifications,
        unchosen=settings.unchosen,
        progress=progress,
        needs_keys=needs_keys,
    )
    found = {one.name: one for one in among.experiment.trial_limits.setup.others}
    if missing := others.keys() - found.keys():
        raise UsageError(f"{', '.join(sorted(missing))}: the same as another skill, so there is nothing to measure")
    names = list(others)
    sets = [frozenset(names[number] for number in some) for some in balanced_sets(len(names))]
    middle = [_beside(among, alone, [found[name] for name in sorted(some)], values) for some in sets[1:-1]]
    parts = (alone, *middle, among)
    return MeasuredSkill(skill=alone.experiment.skill, parts=parts, sets=tuple(sets))


def _beside(
    among: PreparedEvaluation, alone: PreparedEvaluation, others: Sequence[Skill], settings: Settings
) -> PreparedEvaluation:
    """The plan of a set: as with all others, without some of them."""
    experiment = among.experiment
    setup = replace(experiment.trial_limits.setup, others=tuple(others))
    spare = alone.experiment.trial_limits.tokens  # the list of other skills is not the model's to save
    tokens = spare + experiment.trial_limits.turns * setup.listing_tokens
    limits = replace(experiment.trial_limits, setup=setup, tokens=tokens)
    kept = {one.digest for one in others}
    record = experiment.others
    experiment = replace(
        experiment,
        trial_limits=limits,
        others=record and replace(record, skills=tuple(one for one in record.skills if one.digest in kept)),
    )
    plan = experiment.plan
    estimate = estimate_plan(
        plan,
        experiment.requests,
        trial_limits=limits,
        judge=experiment.judge,
        pace=seconds_per_call(plan.students, plan.harness, Path(settings.runs_dir)),
        most_minutes=settings.max_time_minutes,
    )
    return replace(among, experiment=experiment, estimate=estimate)


def measure_together(
    prepared: PreparedTogether,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> TogetherResult:
    """Ask every skill's cases in every set. Raises before any call if nobody agrees to the price; later it returns a
    result. An answer that was bought before is taken from the trial store, so the same command goes on."""
    from upskill.together.picture import together_json, together_page

    for line in (*prepared.lines, *(f"note: {note}" for note in prepared.notes)):
        progress.note(line)
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder = new_folder(settings.place("runs_dir"), f"together-{prepared.names[0]}")
    record: dict[str, object] = {
        "format": TOGETHER_FORMAT,
        "status": "running",
        "started_at": now(),
        "versions": versions(),
        "skill_name": " + ".join(prepared.names),
        "settings": {name: asdict(one) for name, one in settings_record(settings).items()},
    }
    with only_one_in(folder):
        status = "failed"
        try:
            _keep(folder, record)
            result = _Measuring(prepared, folder, settings, progress).run()
            write_text(folder / PAGE_FILE, together_page(result))
            record["results"] = together_json(result)
            status = "interrupted" if result.interrupted else "finished"
            return result
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            with suppress(EngineError):  # what happened matters more than that it could not be recorded
                _keep(folder, {**record, "status": status, "finished_at": now()})


def _keep(folder: Path, record: Mapping[str, object]) -> None:
    keep_text(folder / TOGETHER_FILE, json.dumps(record, indent=2, ensure_ascii=False) + "\n")


Answers = dict[tuple[str, int], Trial]
"""The answers of one set that were scored, by case and repeat."""


class _Measuring:
    """One run, from the first set to the effects."""

    def __init__(
        self, prepared: PreparedTogether, folder: Path, settings: ResolvedSettings, progress: Progress
    ) -> None:
        self._prepared, self._folder, self._settings = prepared, folder, settings
        self._counting = CountedAnswers(progress, prepared.answers)
        self._client: MeteredClient = client_for(settings.values)
        self._notes: dict[str, None] = dict.fromkeys(prepared.notes)
        self._reused = 0
        self._end = RunEnd()

    def run(self) -> TogetherResult:
        prepared = self._prepared
        rates: list[SkillRates] = []
        effects: list[PairEffect] = []
        before = replace(self._client.spent)
        for one in prepared.skills:
            # In an order of its own, so that what drifts while it runs falls on all sets alike.
            order = list(range(len(one.sets)))
            random.Random(f"{one.parts[0].experiment.plan.seed}/{one.skill.name}").shuffle(order)
            found: list[dict[str, Answers]] = [{} for _ in order]
            for number in order:
                if not self._is_over:
                    found[number] = self._ask(one, number)
            for model in prepared.students:
                row, told = _effects(one, model, [some.get(model, {}) for some in found], prepared.level)
                rates.append(row)
                effects += told
        return TogetherResult(
            descriptions={one.skill.name: one.skill.description for one in prepared.skills},
            digests={one.skill.name: one.skill.digest for one in prepared.skills},
            models=prepared.students,
            confidence=prepared.level.confidence,
            rates=tuple(rates),
            effects=tuple(effects),
            bought=replace(purchase_since(self._client.spent, before), reused=self._reused),
            interrupted=self._end.interrupted,
            stopped=self._is_over,
            run=relative(self._folder, Path.cwd()),
            notes=tuple(self._notes),
        )

    @property
    def _is_over(self) -> bool:
        """Whether a person, a cap or a server that is down ended it."""
        return self._end.interrupted or self._end.cap is not None or bool(self._end.outages)

    def _ask(self, one: MeasuredSkill, number: int) -> dict[str, Answers]:
        """The scored answers of one set, by the student's name."""
        part = one.parts[number]
        plan, endpoints = part.experiment.plan, part.experiment.endpoints.values()
        settings = self._settings.following(replace(part.settings, harness=self._settings.values.harness), THE_SERVER)
        folder = run_folder_at(self._folder / "trials" / one.skill.name / str(number))
        record = first_record(part, settings, folder)
        folder.write_record(record)
        with ended_in(folder, record):
            measured = measure(
                part.experiment,
                {student.name: Schedule(plan) for student in plan.students},
                client=self._client,
                folder=folder,
                settings=settings.values,
                progress=self._counting,
            )
        unread = clean_run_logs(folder)
        clean = redactor_from(os.environ).clean_own
        self._end = students_end(measured.end, endpoints, clean)
        self._reused += measured.reused
        notes = tuple(map(clean, (*end_notes(self._end, endpoints), *measured.notes, *unread)))
        self._notes |= dict.fromkeys(notes)
        status: Status = "interrupted" if self._end.interrupted else "finished"
        folder.write_record(replace(record, status=status, finished_at=now(), end=self._end, notes=notes))
        return {
            name: {(one.case_id, one.repeat): one for one in mine if isinstance(one.outcome, Scored)}
            for name, mine in by_student(measured.trials).items()
        }


def _effects(
    one: MeasuredSkill, model: str, found: Sequence[Answers], level: Level
) -> tuple[SkillRates, list[PairEffect]]:
    """What one model did with a skill, and what every other skill changed in that."""
    plan = one.parts[0].experiment.plan
    keys = [key for key in found[0] if all(key in some for some in found)]
    rows = [tuple(some[key] for some in found) for key in keys]
    planned = len(plan.cases) * plan.repeats
    loads_only = one.parts[0].experiment.trial_limits.stop_at_load
    with_loads = harness_info(plan.harness).with_tools and all(trial.skill_use for row in rows for trial in row)
    withheld = not rows or planned - len(rows) > MOST_DROPPED * planned

    def rate(number: int, came: Callable[[Trial], bool]) -> float | None:
        return fmean(came(row[number]) for row in rows) if rows else None

    def effect(present: Sequence[bool | None], came: Callable[[Trial], bool]) -> Effect | None:
        units: dict[str, list[list[bool]]] = {}
        for (case_id, _), row in zip(keys, rows, strict=True):
            unit = " ".join(unit_of(case_id, plan.families.get(case_id)))
            units.setdefault(unit, []).append([came(trial) for trial in row])
        return measure_effect(units, present=present, level=level)

    loads = (rate(0, _loaded), rate(-1, _loaded)) if with_loads else (None, None)
    rates = SkillRates(
        model=model,
        skill=one.skill.name,
        harness=plan.harness,
        cases=len({case_id for case_id, _ in keys}),
        alone=None if loads_only else rate(0, _passed),
        together=None if loads_only else rate(-1, _passed),
        loaded_alone=loads[0],
        loaded_together=loads[1],
        dropped=planned - len(rows),
        withheld=withheld,
    )
    told = []
    last = len(one.sets) - 1
    for other in ("", *sorted(one.sets[-1])) if not withheld else ():
        whole = [None if 0 < number < last else number == last for number in range(len(one.sets))]
        present = [other in some for some in one.sets] if other else whole
        lift = None if loads_only else effect(present, _passed)
        loads_too = effect(present, _loaded) if with_loads else None
        if lift is not None or loads_too is not None:
            told.append(PairEffect(model=model, skill=one.skill.name, other=other, lift=lift, loads=loads_too))
    return rates, told


def _passed(trial: Trial) -> bool:
    return trial.passed


def _loaded(trial: Trial) -> bool:
    return trial.skill_use is not None and trial.skill_use.loaded
