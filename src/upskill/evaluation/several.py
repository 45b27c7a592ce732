"""Evaluates several skills one after the other, under the same caps: all are checked and priced before the first call.

Each skill has an ordinary run of its own. One that cannot be measured does not stop the others.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path, PurePosixPath
from shlex import quote

from rich.console import Console
from rich.text import Text

from upskill.core.models import MeteredClient
from upskill.core.models.preflight import THE_SERVER
from upskill.core.nouns import Evaluation, Purchase, Qualification
from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import ComparedSkill, ComparedSkills, SkillState
from upskill.core.nouns.finding import Finding
from upskill.core.nouns.skill import SKILL_FILE, changed_parts
from upskill.core.nouns.text import count, on_one_line
from upskill.core.progress import SILENT_RUN, PricedPlan, RunProgress
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.skills.git_version import GIT_PREFIX, NotInCommit
from upskill.core.skills.skills import find_skills, read_skill
from upskill.errors import UpskillError, UsageError
from upskill.evaluation.cases import has_cases
from upskill.evaluation.estimate import Estimate, client_for, purchase_of
from upskill.evaluation.evaluate import evaluate_opened
from upskill.evaluation.looks import is_answered
from upskill.evaluation.order import EvaluationOrder, SameVersion, opened_previous
from upskill.evaluation.prepare import PreparedEvaluation, cases_of, prepare
from upskill.lint.lint_skill import lint
from upskill.redaction import redactor_from
from upskill.report.console import print_lines
from upskill.report.glance import Glance, GlanceRow, rows_of
from upskill.report.json_report import evaluation_json
from upskill.report.result_notes import result_notes, skill_requirements
from upskill.report.terminal import aligned_rows, key_lines, spent_words
from upskill.report.wording import compared_titles, dollars, names_by_model, unique_names

NOTHING = Estimate(
    calls_expected=0,
    calls_at_most=0,
    price_expected=0.0,
    price_at_most=0.0,
    minutes_expected=0.0,
    minutes_at_most=0.0,
)
"""What a skill takes whose answers are all there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSkill:
    """One of several skills: ready to be measured, or known not to be."""

    skill: ComparedSkill
    order: EvaluationOrder
    prepared: PreparedEvaluation | None = None
    """`None` where it is not measured. Without the contents of files, which are read again at its turn."""
    estimate: Estimate = NOTHING
    recorded: bool = False
    """Whether all its answers are there, so that nothing is bought."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSkills:
    """Several skills, checked and priced."""

    skills: tuple[PlannedSkill, ...]
    settings: ResolvedSettings
    """As the servers have room for them."""
    estimate: Estimate
    compared_with: str | None = None
    """The older version as it was typed."""
    notes: tuple[str, ...] = ()


def is_several(paths: Sequence[Path]) -> bool:
    """Whether these are several skills, or a folder of skills, and not the folder of one."""
    return len(paths) > 1 or (len(paths) == 1 and not _is_skill(paths[0]) and any(find_skills(paths[0])))


def find_targets(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The skills that are named, and those in folders that are named, each once. Raises where a path has none."""
    found: dict[Path, Path] = {}
    for path in paths:
        path = path.parent if path.name == SKILL_FILE and path.is_file() else path
        below = list(find_skills(path))  # of a skill: itself
        if not below:
            read_skill(path)  # says what is wrong with it
        for folder in below:
            found.setdefault(folder.resolve(), folder)
    return tuple(found.values())


def plan_skills(
    folders: Sequence[Path],
    order: EvaluationOrder,
    *,
    settings: ResolvedSettings,
    progress: RunProgress = SILENT_RUN,
    needs_keys: bool = True,
) -> PlannedSkills:
    """Check and price an evaluation of each skill by the same order. Nothing is sent.

    Raises where no skill can be measured, for the same reason.
    """
    said: dict[str, None] = {}

    def announce(line: str) -> None:
        if line not in said:
            said[line] = None
            progress.announce(line)

    planned = []
    failures: list[UpskillError] = []
    for number, folder in enumerate(folders):
        progress.step("checking skills", number, len(folders))
        one = replace(order, skill=folder)
        try:
            planned.append(_plan(one, settings, progress=progress, announce=announce, needs_keys=needs_keys))
        except UpskillError as error:
            failures.append(error)
            planned.append(PlannedSkill(skill=_failed(_unread(folder), error), order=one))
        planned[-1] = replace(planned[-1], skill=replace(planned[-1].skill, findings=_findings(folder)))
    if len(failures) == len(folders) and len({error.message for error in failures}) == 1:
        raise failures[0]
    values = next((one.prepared.settings for one in planned if one.prepared is not None), settings.values)
    estimate = Estimate.total((one.estimate for one in planned), most_minutes=values.max_time_minutes)
    return PlannedSkills(
        skills=tuple(planned),
        settings=settings.following(values, THE_SERVER),
        estimate=estimate,
        compared_with=order.previous_revision,
        notes=tuple(_cap_notes(estimate, values)),
    )


def evaluate_skills(
    planned: PlannedSkills,
    *,
    progress: RunProgress = SILENT_RUN,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> ComparedSkills:
    """Evaluate what was planned, in its order. After an interrupt it returns what there is.

    Raises before any call where the person does not agree to the price of all.
    """
    if planned.estimate.is_much and not confirm(planned.estimate):
        raise UsageError("nothing was run and nothing was spent")
    settings = planned.settings
    client = client_for(settings.values)
    done: list[ComparedSkill] = []
    interrupted = False
    for one in planned.skills:
        if one.prepared is None:
            done.append(one.skill)
        elif interrupted:
            done.append(_not_started(one, "interrupted before its turn", "evaluate it again"))
        elif (why := _why_not(one, one.prepared, client)) is not None:
            done.append(_not_started(one, *why))
        else:
            try:
                found = _evaluated(one, one.prepared, settings=settings, progress=progress, client=client)
                done.append(replace(one.skill, evaluation=found))
                interrupted = found.interrupted
            except KeyboardInterrupt:
                interrupted = True
                done.append(_not_started(one, "interrupted before its first answer", "evaluate it again"))
            except UpskillError as error:
                done.append(_failed(one.skill, error))
    return ComparedSkills(
        skills=tuple(done),
        bought=_bought(client, [one.evaluation for one in done if one.evaluation is not None]),
        compared_with=planned.compared_with,
        interrupted=interrupted,
        notes=planned.notes,
    )


def _is_skill(path: Path) -> bool:
    return path.name == SKILL_FILE or (path / SKILL_FILE).is_file()


def _plan(
    order: EvaluationOrder,
    settings: ResolvedSettings,
    *,
    progress: RunProgress,
    announce: Callable[[str], None],
    needs_keys: bool,
) -> PlannedSkill:
    name = read_skill(order.skill).name
    skill = ComparedSkill(folder=order.skill.as_posix(), name=name, compared_with=order.previous_revision)

    def checked(one: EvaluationOrder) -> PreparedEvaluation:
        if not has_cases(one.skill):
            hint = f"let a teacher write them with `upskill cases write {one.skill}`"
            raise UsageError(f"{name}: there are no cases", hint=hint)
        return prepare(
            one,
            settings.values,
            unchosen=settings.unchosen,
            progress=progress,
            announce=announce,
            needs_keys=needs_keys,
        )

    try:
        with opened_previous(order) as opened:
            if opened.previous_revision is not None:  # a branch may move before its turn
                order = replace(order, previous_revision=opened.previous_revision)
                skill = replace(skill, commit=opened.previous_revision.removeprefix(GIT_PREFIX))
            prepared = checked(opened)
    except SameVersion as same:
        skill = replace(skill, state="unchanged", commit=same.commit, case_changes=same.case_changes)
        return PlannedSkill(skill=skill, order=order)
    except NotInCommit:
        skill, order = replace(skill, is_new=True, compared_with=None), replace(order, previous_revision=None)
        prepared = checked(order)
    if prepared.experiment.previous is not None:
        skill = replace(skill, changed=changed_parts(prepared.experiment.previous, prepared.experiment.skill))
    answering = [
        *prepared.experiment.endpoints.values(),
        *([] if prepared.experiment.judge is None else [prepared.experiment.judge]),
    ]
    stand_ins = tuple((one.name, one.model) for one in answering if one.is_scripted or one.alias_origin is not None)
    skill = replace(skill, case_changes=prepared.case_changes, stand_ins=stand_ins)
    recorded = is_answered(prepared, prepared.settings)
    return PlannedSkill(
        skill=skill,
        order=order,
        prepared=replace(prepared, experiment=replace(prepared.experiment, contents={})),
        estimate=NOTHING if recorded else prepared.estimate,
        recorded=recorded,
    )


def _evaluated(
    planned: PlannedSkill,
    prepared: PreparedEvaluation,
    *,
    settings: ResolvedSettings,
    progress: RunProgress,
    client: MeteredClient,
) -> Evaluation:
    """The evaluation of one skill. What was checked when it was planned is not checked again, unless it changed."""
    with opened_previous(planned.order) as opened:
        known = _known_states(prepared, opened, settings.values)
        return evaluate_opened(opened, settings=settings, progress=progress, client=client, known=known, announced=True)


def _known_states(
    prepared: PreparedEvaluation, order: EvaluationOrder, settings: Settings
) -> tuple[Qualification, ...]:
    found, _ = cases_of(order, judge=settings.judge is not None)
    now = {} if found is None else {case.id: case.digest for case in found.cases}
    before = {case.id: case.digest for case in (*prepared.experiment.plan.cases, *prepared.rejected)}
    same = read_skill(order.skill).digest == prepared.experiment.skill.digest and before.items() <= now.items()
    return prepared.qualifications if same else ()


def _why_not(planned: PlannedSkill, prepared: PreparedEvaluation, client: MeteredClient) -> tuple[str, str] | None:
    """Why a skill is not begun, because nothing could be bought for it, and what to do; `None` where it is."""
    if planned.recorded:
        return None
    if (cap := client.exhausted) is not None:
        return f"stopped at {cap} before its turn", f"raise it with {cap.raised_with}, or evaluate it by itself"
    if all(endpoint.model in client.down for endpoint in prepared.experiment.endpoints.values()):
        return f"{', '.join(prepared.experiment.endpoints)} stopped answering before its turn", "start the server again"
    return None


def _not_started(planned: PlannedSkill, why: str, hint: str) -> ComparedSkill:
    return replace(planned.skill, state="not started", problem=why, hint=hint)


def _findings(folder: Path) -> tuple[Finding, ...] | None:
    """What lint finds in a skill; `None` where it refuses to search it."""
    found = lint(folder.parent if folder.name == SKILL_FILE else folder)
    return None if found.refused is not None else found.findings


def _unread(folder: Path) -> ComparedSkill:
    return ComparedSkill(folder=folder.as_posix(), name=on_one_line(folder.resolve().name))


def _failed(skill: ComparedSkill, error: UpskillError) -> ComparedSkill:
    """The skill with what went wrong, in one line, without a key of the user's own."""
    clean = redactor_from(os.environ).clean_own
    said = "; ".join((error.message, *error.problems[:3]))
    hint = None if error.hint is None else on_one_line(clean(error.hint))
    return replace(skill, state="failed", problem=on_one_line(clean(said)), hint=hint)


def _cap_notes(estimate: Estimate, settings: Settings) -> Iterable[str]:
    most = settings.max_cost
    if most is not None and (estimate.price_expected or 0) > most:
        yield (
            f"the expected price is above the cap of {dollars(most)} for all skills together; "
            "raise it with --max-cost, or the last skills are not measured"
        )


def _bought(client: MeteredClient, evaluations: Sequence[Evaluation]) -> Purchase:
    ages = [one.bought.oldest_reused_days for one in evaluations if one.bought.oldest_reused_days is not None]
    return replace(
        purchase_of(client.spent),
        reused=sum(one.bought.reused for one in evaluations),
        oldest_reused_days=max(ages, default=None),
    )


SCHEMA = "upskill.evals/1"
_VERDICTS = ("helps", "cheaper", "no difference", "undecided", "hurts", "breaks", "no verdict", "not compared")
_TOTALS = {"breaks": "with broken cases"}
_STATES: dict[SkillState, str] = {
    "unchanged": "unchanged",
    "failed": "could not be measured",
    "not started": "not started",
}
_LEVEL = 0.05
_MOST_RUNS = 3
_OLD_OR_NONE = "old version (new skills: none)"


def compared_json(found: ComparedSkills) -> dict[str, Json]:
    """The object of `upskill eval --json` for several skills. Unknown values are null."""
    return {
        "schema": SCHEMA,
        "compared_with": found.compared_with,
        "interrupted": found.interrupted,
        "bought": asdict(found.bought),
        "notes": list(found.notes),
        "skills": [_skill_json(one) for one in found.skills],
    }


def _skill_json(one: ComparedSkill) -> Json:
    return {
        "folder": one.folder,
        "name": one.name,
        "state": one.state,
        "new": one.is_new,
        "compared_with": one.compared_with,
        "commit": one.commit,
        "changed": list(one.changed),
        "case_changes": {name: list(ids) for name, ids in one.case_changes.by_kind.items()},
        "problem": one.problem,
        "hint": one.hint,
        "evaluation": None if one.evaluation is None else evaluation_json(one.evaluation),
    }


def compared_sentences(found: ComparedSkills) -> tuple[str, ...]:
    """What became of all skills, in one sentence; before it, whether that is final."""
    verdicts = Counter(row.verdict for one in found.evaluations for row in rows_of(one))
    said = [f"{verdicts[verdict]} {_TOTALS.get(verdict, verdict)}" for verdict in _VERDICTS if verdicts[verdict]]
    states = Counter(one.state for one in found.skills)
    said += [f"{states[state]} {words}" for state, words in _STATES.items() if states[state]]
    models = names_by_model([report.student.name for one in found.evaluations[:1] for report in one.students])
    on = "" if not models else f" on {next(iter(models.values()))}" if len(models) == 1 else f" on {len(models)} models"
    against = "" if found.compared_with is None else f", compared with {on_one_line(found.compared_with)}"
    sentence = f"{count(len(found.skills), 'skill')}{on}{against}: {', '.join(said)}."
    return ("The run was interrupted, so this is not final.", sentence) if found.interrupted else (sentence,)


def unmet_words(found: ComparedSkills) -> str:
    """Everything that was required and is not met, in one line; empty where all is met."""
    unmet: dict[str, list[str]] = {}
    for one in found.skills:
        for required in skill_requirements(one):
            if required.why is not None:
                unmet.setdefault(required.what, []).append(f"{one.name}: {required.why}")
    return "; ".join(f"not met: {what}, {'; '.join(why)}" for what, why in unmet.items())


def show_compared(found: ComparedSkills, console: Console, *, every_note: bool = False) -> None:
    """Print a row for each skill and model, and what must be known beside them; `every_note` prints all notes."""
    lines = [Text(one, style="bold") for one in compared_sentences(found)]
    lines += _table(found, console)
    lines.append(Text(spent_words(found.bought), style="dim"))
    if unmet := unmet_words(found):
        lines.append(Text(unmet, style="yellow"))
    lines += [Text(line, style="yellow") for line in _dangers(found.skills)]
    notes = [(one.name, note) for one in found.skills if one.evaluation for note in result_notes(one.evaluation)]
    wanted = [(name, note.text) for name, note in notes if note.must_show and not note.text.startswith("not met: ")]
    lines += [Text(line, style="yellow") for line in by_skill(wanted)]
    others = by_skill([(name, note.text) for name, note in notes if not note.must_show])
    lines += [Text(line, style="dim") for line in (*(f"note: {note}" for note in found.notes), *tested_notes(found))]
    if every_note:
        lines += [Text(line, style="dim") for line in others]
    elif others:
        lines.append(Text(f"{count(len(others), 'more note')}: add --verbose", style="dim"))
    lines += map(Text, _saved(found))
    print_lines(lines, console)


def _dangers(skills: Sequence[ComparedSkill]) -> Iterator[str]:
    """What a person should read before an agent does, a line for each skill that has such a thing."""
    for one in skills:
        dangers = sum(finding.severity == "danger" for finding in one.findings or ())
        if dangers:
            yield f"{one.name}: {count(dangers, 'danger')} in its files; read them: upskill lint {quote(one.folder)}"


def _saved(found: ComparedSkills) -> Iterator[str]:
    """Where the runs are: each by its name where they are few."""
    runs = [one.run for one in found.evaluations]
    folders = {str(PurePosixPath(run).parent) for run in runs}
    if len(runs) > _MOST_RUNS and len(folders) == 1:
        yield f"{len(runs)} runs saved in {folders.pop()}"
    else:
        yield from (f"Run saved in {run}" for run in runs)


def tested_notes(found: ComparedSkills) -> Iterator[str]:
    """Every verdict is a test of its own: among many skills some look helpful by chance."""
    tested = sum(any(report.lifts for report in one.students) for one in found.evaluations)
    if tested > 1:
        yield (
            f"note: each verdict is tested by itself at 5%: of {tested} skills that do not help, up to "
            f"{tested * _LEVEL:g} on average are still called helpful"
        )


def by_skill(notes: Sequence[tuple[str, str]]) -> list[str]:
    """Each text once, with the name of the skill where it is about one of them."""
    about: dict[str, list[str]] = {}
    for name, text in notes:
        about.setdefault(text, []).append(name)
    skills = {name for name, _ in notes}
    return [text if len(names) > 1 or len(skills) == 1 else f"{names[0]}: {text}" for text, names in about.items()]


def _table(found: ComparedSkills, console: Console) -> list[Text]:
    """A line for each model of each skill, below the name of the skill where there are several models."""
    names = dict(zip((one.folder for one in found.skills), _skill_names(found.skills), strict=True))
    grouped = any(len(one.students) > 1 for one in found.evaluations)
    groups = {one.folder: _rows(one, names[one.folder], grouped=grouped) for one in found.skills}
    drawn = dict(zip(groups, aligned_rows(list(groups.values()), console), strict=True))
    lines: list[Text] = []
    for one in found.skills:
        if one.evaluation is None:
            lines += _unmeasured(one, names[one.folder])
        else:
            lines += [Text(names[one.folder])] if grouped else []
            lines += drawn[one.folder]
    for line in lines:
        line.rstrip()
    return [*lines, *_key(found, [row for rows in groups.values() for row in rows], console)]


def _skill_names(skills: Sequence[ComparedSkill]) -> list[str]:
    """The name of each skill; the folder too where two have the same name."""
    counted = Counter(one.name for one in skills)
    if all(number == 1 for number in counted.values()):
        return [f"{one.name} (new)" if one.is_new else one.name for one in skills]
    return unique_names([one.folder for one in skills])


def _rows(one: ComparedSkill, name: str, *, grouped: bool) -> list[GlanceRow]:
    if one.evaluation is None:
        return []
    rows = rows_of(one.evaluation)
    return [replace(row, name=f"  {row.name}" if grouped else name) for row in rows]


def unmeasured_words(one: ComparedSkill) -> str:
    """Why a skill has no evaluation, in one line."""
    if one.state == "unchanged":
        return f"unchanged since {on_one_line(one.compared_with or '')}, not measured"
    # Most problems begin with the name that stands before them already.
    problem = (one.problem or "").removeprefix(f"{one.name}: ").removeprefix(f"{one.folder}: ")
    return f"{_STATES[one.state]}: {problem}"


def _unmeasured(one: ComparedSkill, name: str) -> Iterator[Text]:
    yield Text(f"{name}: {unmeasured_words(one)}", style="dim" if one.state == "unchanged" else "yellow")
    if one.hint is not None:
        yield Text(f"  hint: {one.hint}", style="dim")


def _key(found: ComparedSkills, rows: Sequence[GlanceRow], console: Console) -> list[Text]:
    titles = {compared_titles(one) for one in found.evaluations}
    several = ("without the skill", "with the skill") if found.compared_with is None else (_OLD_OR_NONE, "new version")
    before, after = titles.pop() if len(titles) == 1 else several
    return key_lines(
        Glance(skill="", sentences=(), rows=tuple(rows), before=before, after=after, scripted=False, next_step=None),
        console,
    )
