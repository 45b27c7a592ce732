"""The comment on a pull request: which skills got worse, by how much, what changed in them, and what it cost.

Markdown as GitHub shows it. Everything foreign (names, paths, cases, excerpts) is escaped. Reads and sends nothing.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from html import escape

from upskill.core.nouns import Evaluation, Trial
from upskill.core.nouns.evaluation import ComparedSkill
from upskill.core.nouns.lift import with_scope
from upskill.core.nouns.text import count, printable, shortened
from upskill.report.cases import worse_cases
from upskill.report.dumbbell import UNICODE, drawn
from upskill.report.glance import GlanceRow, broken_words, lift_words, rows_of
from upskill.report.markdown import markdown_text
from upskill.report.result_notes import not_met_line, skill_requirements
from upskill.report.wording import USUAL, names_by_model, spent_on

MARKER = "<!-- upskill -->"
"""The first line, by which the comment is found again."""
MOST_CHARACTERS = 60_000
"""GitHub takes 65,536. The rest is for what is added below."""
_TABLE_CHARACTERS = 30_000
_ACTS = re.compile(r"(?i)(?:[@#](?=\w)|:(?=//)|\bwww(?=\.))")
"""What GitHub makes a mention or a link of without being asked."""
_COMMIT = re.compile(r"\b([0-9a-f]{8})[0-9a-f]{32}\b")
_BAR = 21
_MOST_FIRST = 4
_MOST_CASES, _MOST_FINDINGS, _MOST_PARTS = 20, 10, 12
_NAME_CHARACTERS, _LINE_CHARACTERS = 80, 300
_SEVERITIES = {"danger": "dangers", "error": "errors", "warning": "warnings", "caution": "cautions"}


_Row = tuple[ComparedSkill, GlanceRow]
"""A row of the table: a skill, and one model's result."""


def comment_text(
    skills: Sequence[ComparedSkill],
    *,
    trials_of: Callable[[Evaluation], Iterable[Trial]] = lambda _: (),
    report_url: str | None = None,
) -> str:
    """The whole comment, at most `MOST_CHARACTERS` long. The trials of an evaluation are gone through once."""
    rows = [(one, row) for one in skills if one.evaluation for row in rows_of(one.evaluation)]
    sections = [
        "\n".join([MARKER, *_read_first(skills), f"### {_title(skills)}", "", _sentences(skills, rows)]).rstrip(),
        _table(rows),
        _changes(skills),
        *(_worse(one, trials_of(one.evaluation)) for one in skills if one.evaluation is not None),
        _lint(skills),
        _not_measured(skills),
        _spending(skills),
        "" if report_url is None else f"[Reports, with every answer](<{_address(report_url)}>)",
    ]
    return _fitted([section for section in sections if section])


def _compares_versions(one: ComparedSkill) -> bool:
    """Whether the older side is an older version of the skill, not no skill."""
    return one.evaluation is not None and any(report.compared[1] == "previous" for report in one.evaluation.students)


def _read_first(skills: Sequence[ComparedSkill]) -> list[str]:
    """One line, above everything else, about what decides the verdict and could be forged; none where all is usual."""
    answered = dict.fromkeys(pair for one in skills for pair in one.stand_ins)
    cases = [f"cases of {_text(one.name)}: {_line(one.case_changes.words)}" for one in skills if one.case_changes.words]
    said = [
        line
        for lines in ([_stand_in(*pair) for pair in answered], cases)
        for line in _first(lines, _MOST_FIRST, "{} more like these")
    ]
    return [f"**Read first: {'; '.join(said)}**"] if said else []


def _stand_in(name: str, model: str) -> str:
    if not model.startswith("scripted/"):
        return f"{_text(name)} stands for {_text(model)}"
    whom = "not a model" if name == model else f"in place of {_text(name)}"
    return f"a script answered{',' if name == model else ''} {whom}: {_text(model)}"


def _first(lines: Sequence[str], most: int, more: str = "- {} more in the report") -> list[str]:
    """The first of these, and how many more there are."""
    return [*lines[:most], *([more.format(len(lines) - most)] if len(lines) > most else [])]


def _verdicts(skill: ComparedSkill) -> set[str]:
    return set() if skill.evaluation is None else {report.verdict or "" for report in skill.evaluation.students}


def _broken(skill: ComparedSkill) -> dict[str, None]:
    """The ids of the cases that a new version broke, for any model."""
    students = () if skill.evaluation is None else skill.evaluation.students
    return dict.fromkeys(one.case_id for report in students if report.verdict != "invalid" for one in report.broken)


def _title(skills: Sequence[ComparedSkill]) -> str:
    """What a reader must know first: worse before unknown before better."""
    asked = [one for one in skills if one.state != "unchanged"]
    if not asked:
        return "upskill: no skill was measured"
    broken = [one for one in asked if _broken(one)]
    worse = [one for one in asked if "hurts" in _verdicts(one) and one not in broken]
    unknown = [one for one in asked if one.evaluation is None or "invalid" in _verdicts(one)]
    better = [one for one in asked if _verdicts(one) & {"helps", "cheaper"}]
    if broken or worse:
        said = [f"{_of(broken, asked)} {_breaks(broken)}"] if broken else []
        if worse:
            number = len(worse) if broken else _of(worse, asked)
            said.append(f"{number} {_verb(worse, 'hurt', 'got worse', claims={'hurts'})}")
        if beside := [one for one in unknown if one not in broken and one not in worse]:
            said.append(f"{len(beside)} could not be measured")
        return f"upskill: {', '.join(said)}"
    if unknown:
        return f"upskill: {_of(unknown, asked)} could not be measured"
    if better:
        verb = _verb(better, "help", "got better", claims={"helps", "cheaper"})
        return f"upskill: {_of(better, asked)} {verb}, none is shown to be worse"
    return f"upskill: {count(len(asked), 'skill')} measured, none is shown to be worse"


def _breaks(broken: Sequence[ComparedSkill]) -> str:
    """How many cases of these skills are broken, and the first of them."""
    cases = len({(one.name, case_id) for one in broken for case_id in _broken(one)})
    first = _text(next(iter(_broken(broken[0]))))
    named = first if cases == 1 else f"{first} and {cases - 1} more"
    return f"{'break' if len(broken) > 1 else 'breaks'} {count(cases, 'case')} ({named})"


def _verb(some: Sequence[ComparedSkill], plural: str, between_versions: str, *, claims: set[str]) -> str:
    """What became of these skills, with its scope where nothing but the cases that were run is spoken of."""
    verb = plural if len(some) > 1 else f"{plural}s"
    students = [report for one in some if one.evaluation is not None for report in one.evaluation.students]
    are_narrow = all(report.claim == "these cases" for report in students if report.verdict in claims)
    changed = between_versions if any(map(_compares_versions, some)) else verb
    return with_scope(changed, "these cases" if are_narrow else None)


def _of(some: Sequence[ComparedSkill], asked: Sequence[ComparedSkill]) -> str:
    return count(len(asked), "skill") if len(some) == len(asked) else f"{len(some)} of {len(asked)} skills"


def _sentences(skills: Sequence[ComparedSkill], rows: Sequence[_Row]) -> str:
    """A sentence for every model that a skill hurts, then what was required and is not met, then dangers."""
    said = [f"**{_hurt(*row)}**" for row in rows if row[1].verdict in ("breaks", "hurts")][:_MOST_FINDINGS]
    said += [
        f"{_text(one.name)}: {markdown_text(line)}."
        for one in skills
        if (line := not_met_line(skill_requirements(one)))
    ][:_MOST_FINDINGS]
    dangers = [one for one in skills if any(found.severity == "danger" for found in one.findings or ())]
    if dangers:
        names = ", ".join(_text(one.name) for one in dangers[:_MOST_PARTS])
        said.append(f"Lint found a danger in {names}: read it before you merge.")
    return "\n".join(f"- {one}" for one in said) if len(said) > 1 else "".join(said)


def _hurt(skill: ComparedSkill, result: GlanceRow) -> str:
    here = f" {result.reach}" if result.reach else ""
    what = "got worse for" if _compares_versions(skill) else "hurts"
    what = f"{markdown_text(broken_words(result))} for" if result.broken else what
    return (
        f"{_text(skill.name)} {what} {_text(result.name)}{here}: from {result.before_text} to "
        f"{result.after_text}, {lift_words(result)}."
    )


def _table(rows: Sequence[_Row]) -> str:
    """A row for each skill and model, those that got worse first."""
    if not rows:
        return ""
    order = ["breaks", "hurts", "no verdict", "undecided", "no difference", "cheaper", "helps"]
    ranked = sorted(rows, key=lambda row: order.index(row[1].verdict) if row[1].verdict in order else len(order))
    lines = [
        f"| Skill | Model | Verdict | 0% to 100% | Pass rate | Lift in points ({_unbroken(USUAL)}) |",
        "|---|---|---|---|---|---|",
    ]
    room = _TABLE_CHARACTERS
    left = list(ranked)
    while left and room >= len(line := _table_row(*left[0])):
        lines.append(line)
        room -= len(line)
        left.pop(0)
    if left:
        lines += ["", f"{len(left)} more rows are in the report."]
    return "\n".join([*lines, "", _key(ranked)])


def _table_row(skill: ComparedSkill, result: GlanceRow) -> str:
    lift = _line(result.why or "–") if result.lift is None else _unbroken(result.figures)
    cells = (
        _text(skill.name) + (" (new)" if skill.is_new else ""),
        _text(result.name),
        f"{_unbroken(f'{result.sign} {result.verdict}')} {markdown_text(result.reach)}".rstrip(),
        f"`{drawn(result, _BAR)}`",
        _unbroken(result.rates),
        lift,
    )
    return f"| {' | '.join(cells)} |"


def _unbroken(text: str) -> str:
    """Text of ours that stays on one line in a narrow column."""
    return markdown_text(text).replace(" ", "\u00a0")


def _key(rows: Sequence[_Row]) -> str:
    """What the dots are: of changed skills the two versions, of others without and with the skill."""
    said = []
    if versions := [skill for skill, _ in rows if _compares_versions(skill)]:
        base = versions[0].compared_with
        before = "before" if base is None else f"at {_text(_short(base))}"
        said.append(f"{UNICODE.hollow} {before}, {UNICODE.filled} with this change")
    if len(versions) < len(rows):
        new = "new skills: " if versions else ""
        said.append(f"{new}{UNICODE.hollow} without the skill, {UNICODE.filled} with the skill")
    if any(result.clarity == "unclear" for _, result in rows):
        said.append(f"{UNICODE.unclear * 2} not clear")
    return f"<sub>{'; '.join(said)}</sub>"


def _short(version: str) -> str:
    """A commit as people write it."""
    return _COMMIT.sub(r"\1", version)


def _changes(skills: Sequence[ComparedSkill]) -> str:
    lines = [
        f"- {_text(one.name)}: {', '.join(_first([*map(_text, one.changed)], _MOST_PARTS, '{} more'))}"
        for one in skills
        if one.changed
    ]
    return "\n".join(["**What changed**", "", *lines]) if lines else ""


def _worse(one: ComparedSkill, trials: Iterable[Trial]) -> str:
    """The cases of one skill that pass less often, folded; one case alone can differ by chance."""
    if one.evaluation is None:
        return ""
    found = worse_cases(one.evaluation, trials)
    if not found:
        return ""
    names = names_by_model([report.student.name for report in one.evaluation.students])
    cases = len({case.case_id for case in found})
    now = "now" if _compares_versions(one) else "with the skill"
    lines = [
        f"- {_text(case.case_id)} ({_text(names[case.model])}): "
        f"{case.before} of {case.pairs} passed, {now} {case.after}"
        for case in found
    ]
    passes = "passes" if cases == 1 else "pass"
    than = "than before" if _compares_versions(one) else "with the skill than without it"
    head = f"{count(cases, 'case')} of {_html(one.name)} {passes} less often {than}"
    return "\n".join(
        [
            f"<details><summary>{head}</summary>",
            "",
            *_first(lines, _MOST_CASES),
            "",
            "A single case can differ by chance.",
            "</details>",
        ]
    )


def _lint(skills: Sequence[ComparedSkill]) -> str:
    searched = [one for one in skills if one.findings is not None]
    if not searched:
        return ""
    counted: Counter[str] = Counter(found.severity for one in searched for found in one.findings or ())
    if not counted:
        return f"**Lint**: no findings in {count(len(searched), 'skill')}. That does not mean safe."
    order = list(_SEVERITIES)
    said = ", ".join(count(counted[name], name, _SEVERITIES[name]) for name in order if counted[name])
    every = sorted(
        ((one, found) for one in searched for found in one.findings or ()),
        key=lambda pair: order.index(pair[1].severity),
    )
    lines = [
        f"- {found.severity} {_text(found.rule)} in {_text(f'{one.folder}/{found.place}')}: {_line(found.reason)}"
        for one, found in every
        if found.severity in ("danger", "error")
    ]
    return "\n".join([f"**Lint**: {said}", *([""] if lines else []), *_first(lines, _MOST_FINDINGS)])


def _not_measured(skills: Sequence[ComparedSkill]) -> str:
    lines = [
        f"- {_text(one.name)}: {_line('; '.join(filter(None, (one.problem.removeprefix(f'{one.name}: '), one.hint))))}"
        for one in skills
        if one.problem is not None
    ]
    if unchanged := [one for one in skills if one.state == "unchanged"]:
        names = ", ".join(_text(one.name) for one in unchanged[:_MOST_PARTS])
        more = f" and {len(unchanged) - _MOST_PARTS} more" if len(unchanged) > _MOST_PARTS else ""
        lines.append(f"- unchanged: {names}{more}")
    return "\n".join(["**Not measured**", "", *lines]) if lines else ""


def _spending(skills: Sequence[ComparedSkill]) -> str:
    """What this push cost, over all skills."""
    bought = [one.evaluation.bought for one in skills if one.evaluation is not None]
    if not bought:
        return ""
    costs = [one.cost for one in bought if one.calls]
    total = replace(
        bought[0],
        calls=sum(one.calls for one in bought),
        cost=None if None in costs else sum(cost for cost in costs if cost is not None),
    )
    reused = sum(one.reused for one in bought)
    return f"This push: {markdown_text(spent_on(total))}, {count(reused, 'answer')} from the cache."


def _address(url: str) -> str:
    return "".join(url.split()).replace("<", "%3C").replace(">", "%3E")


def _text(text: str) -> str:
    """A name or path of at most so many characters, as text only."""
    return markdown_text(shortened(text, _NAME_CHARACTERS))


def _line(text: str) -> str:
    """A reason of at most so many characters, as text only."""
    return markdown_text(shortened(text, _LINE_CHARACTERS))


def _html(text: str) -> str:
    """The same inside an HTML tag, where GitHub reads no Markdown but may still make mentions and links."""
    return escape(_ACTS.sub("\\g<0>\u200b", printable(shortened(text, _NAME_CHARACTERS))))


def _fitted(sections: Sequence[str]) -> str:
    """All sections that fit, in their order; what is left out is said."""
    kept: list[str] = []
    room = MOST_CHARACTERS - 100
    for section in sections:
        if len(section) + 2 > room:
            kept.append("The rest is left out because the comment would be too long; the report has everything.")
            break
        kept.append(section)
        room -= len(section) + 2
    return "\n\n".join(kept) + "\n"
