"""Several skills that were evaluated together: one table, one sentence about all, one JSON object."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import PurePosixPath
from shlex import quote

from rich.console import Console
from rich.text import Text

from upskill.core.nouns.case import Json
from upskill.core.nouns.evaluation import ComparedSkill, ComparedSkills, SkillState
from upskill.core.nouns.text import count, on_one_line
from upskill.report.console import print_lines
from upskill.report.glance import Glance, GlanceRow, rows_of
from upskill.report.json_report import evaluation_json
from upskill.report.result_notes import result_notes, skill_requirements
from upskill.report.terminal import aligned_rows, key_lines, spent_words
from upskill.report.wording import compared_titles, names_by_model, unique_names

SCHEMA = "upskill.evals/1"
_VERDICTS = ("helps", "cheaper", "no difference", "undecided", "hurts", "no verdict", "not compared")
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
    said = [f"{verdicts[verdict]} {verdict}" for verdict in _VERDICTS if verdicts[verdict]]
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
    runs = [one.run for one in found.evaluations if one.run_is_here]
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
    names = dict(zip((one.folder for one in found.skills), _names(found.skills), strict=True))
    grouped = any(len(one.students) > 1 for one in found.evaluations)
    groups = {one.folder: _rows(one, names[one.folder], grouped=grouped) for one in found.skills}
    if grouped:
        drawn = dict(zip(groups, aligned_rows(list(groups.values()), console), strict=True))
    else:
        together = iter(aligned_rows([[row for rows in groups.values() for row in rows]], console)[0])
        drawn = {folder: [next(together) for _ in rows] for folder, rows in groups.items()}
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


def _names(skills: Sequence[ComparedSkill]) -> list[str]:
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
