"""What changed: every case and model as a row, hurt and helped first; a row opens its pair. The data is compact JSON,
every text once; `changed.js` makes the rows from it as somebody looks at them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from markupsafe import Markup

from upskill.core.nouns import DEFAULT_HARNESS, Arm, Errored, Evaluation, Files, Trial, harness_info
from upskill.core.nouns.answer import AgentStep, AgentSteps
from upskill.core.nouns.case import Json
from upskill.core.nouns.text import count, readable_text
from upskill.core.nouns.trial import ARMS
from upskill.report.facts import CaseText, LoggedTrial
from upskill.report.html.shell import json_in_html, plain, render
from upskill.report.wording import arm_titles, fault_words, unique_names

Change = Literal["hurt", "helped", "differs", "mixed", "failed", "passed", "errored"]
"""In the order of the page. Differs: hurt or helped, of a model without a verdict, where that shows nothing. Mixed:
repeats differ, and as many passed as before. Failed and passed: every time, with the skill or without it. Errored: no
repeat was scored on both sides."""
CHANGES: tuple[Change, ...] = get_args(Change)
PASSED, FAILED, ERRORED = 1, 0, 2
"""How a trial ended."""
Ends = Mapping[int, Mapping[int, int]]
"""By arm and repeat: how each trial that counts ended."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedRow:
    """One case and one model."""

    student: int
    case: int
    change: Change
    difference: float
    """The pass rate after minus the pass rate before, over the repeats scored on both sides."""
    repeat: int
    """The repeat that shows it best."""


def changed_row(student: int, case: int, ends: Ends, compared: tuple[int, int] | None) -> ChangedRow:
    """Compare the repeats that were scored on both sides; without a comparison, only how they ended."""
    before, after = compared or (next(iter(ends), 0),) * 2
    first, second = ends.get(before, {}), ends.get(after, {})
    pairs = {
        repeat: (first[repeat], second[repeat])
        for repeat in sorted(first)
        if repeat in second and ERRORED not in (first[repeat], second[repeat])
    }
    if not pairs:
        repeats = [repeat for mine in ends.values() for repeat in mine]
        return ChangedRow(student=student, case=case, change="errored", difference=0.0, repeat=min(repeats, default=1))
    difference = sum(end - start for start, end in pairs.values()) / len(pairs)
    change = _change(difference, list(pairs.values()))
    telling = {"hurt": (PASSED, FAILED), "helped": (FAILED, PASSED)}.get(change)
    repeat = next((repeat for repeat, pair in pairs.items() if pair == telling), next(iter(pairs)))
    return ChangedRow(student=student, case=case, change=change, difference=difference, repeat=repeat)


def _change(difference: float, pairs: Sequence[tuple[int, int]]) -> Change:
    if difference:
        return "helped" if difference > 0 else "hurt"
    ends = {end for pair in pairs for end in pair}
    return "mixed" if len(ends) > 1 else "passed" if ends == {PASSED} else "failed"


def without_verdict(row: ChangedRow) -> ChangedRow:
    """The row of a model whose answers do not show what the skill does: it says only that the two sides differ."""
    return replace(row, change="differs") if row.difference else row


def in_order(rows: Iterable[ChangedRow]) -> list[ChangedRow]:
    """Hurt and helped first, the largest difference first among them; then the rest, cases in their own order."""
    return sorted(rows, key=lambda row: (CHANGES.index(row.change), -abs(row.difference), row.case, row.student))


def counted(rows: Sequence[ChangedRow], *, compared: bool, better: str = "helped", worse: str = "hurt") -> str:
    """`Helped 8, hurt 1, same 3`: how many of the rows are of each kind."""
    number = {change: sum(row.change == change for row in rows) for change in CHANGES}
    same = number["mixed"] + number["failed"] + number["passed"]
    judged = [f"{better} {number['helped']:,}", f"{worse} {number['hurt']:,}"]
    if number["differs"]:
        differ = f"{number['differs']:,} differ (no verdict)"
        judged = [differ] if not (number["helped"] or number["hurt"]) else [*judged, differ]
    said = (
        [*judged, f"same {same:,}"]
        if compared
        else [f"passed {number['passed']:,}", f"failed {number['failed']:,}", f"mixed {number['mixed']:,}"]
    )
    said += [f"errored {number['errored']:,}"] if number["errored"] else []
    said_all = ", ".join(said)
    return said_all[:1].upper() + said_all[1:]


def scope(cases: int, models: int) -> str:
    """Cases and models that the counts are of."""
    return count(cases, "case") + (f" × {count(models, 'model')}" if models > 1 else "")


ROOM = 1_900_000
"""Bytes for all texts of a page together, where there are few."""
ROOM_PER_TRIAL = 250
"""A page of very many trials may be larger."""
STEPS_ROOM = 2_500_000
"""Bytes for the steps of agents, beside all other texts."""
STEP_BYTES = 300
"""About what a step takes when it is cut as short as can be."""
MOST_STEPS = 40
LONGEST = 8_000
"""No text is shown in more characters, however much room there is."""
SHORTEST = 160


class Texts:
    """Hands out a number for each text; equal texts have the same."""

    def __init__(self, *, longest: int = LONGEST) -> None:
        self._longest = longest
        self._numbers: dict[str, int] = {}
        self._texts: list[str] = []
        self._lengths: list[int] = []

    def add(self, text: str) -> int:
        """Keep a text, at most its beginning; its length is remembered."""
        shown = plain(text[: self._longest])
        # Two long texts with the same beginning are still two.
        key = shown if len(text) <= self._longest else f"{shown}\0{len(text)}"
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._texts)
            self._texts.append(shown)
            self._lengths.append(len(text))
        return number

    def cut_to(self, room: int) -> list[Json]:
        """All texts in so many bytes: as they are, or as `[beginning, length of the whole]` where they are too long."""
        sizes = [written_bytes(text) for text in self._texts]
        level = _level(sizes, room)
        cut: list[Json] = []
        for text, length, size in zip(self._texts, self._lengths, sizes, strict=True):
            most = len(text) if size <= level else max(SHORTEST, int(level * len(text) / size))
            cut.append(text if len(text) == length <= most else [text[:most], length])
        return cut


def room_for(trials: int) -> int:
    """Bytes for the texts of so many trials."""
    return max(ROOM, ROOM_PER_TRIAL * trials)


def longest_for(trials: int) -> int:
    """So long that what is held in memory stays within bounds."""
    return max(SHORTEST, min(LONGEST, 60_000_000 // max(1, trials)))


def steps_for(trials: int) -> int:
    """How many steps of each of so many agents there is room for; 0 where a few would tell nothing."""
    room = min(MOST_STEPS, STEPS_ROOM // (STEP_BYTES * max(1, trials)))
    return room if room >= 4 else 0


def written_bytes(text: str) -> int:
    """What a text takes once it is written: `<` becomes six characters, a line's end two. About right is enough."""
    most = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return most + 5 * sum(text.count(char) for char in "<>&") + sum(text.count(char) for char in '"\\\n\t\r')


def _level(sizes: Sequence[int], room: int) -> float:
    """The size at which to cut so that all together fit: short ones stay whole, long ones share what is left."""
    left = float(room)
    for number, size in enumerate(sorted(sizes)):
        share = left / (len(sizes) - number)
        if size > share:
            return share
        left -= size
    return float(room)


FILES_SHOWN, FILES_NAMED = 10, 50
"""Files of each trial, where there are few trials."""
FILE_BYTES = 32_000
"""A longer file is shown by its name and size only."""
SAW_CHARACTERS = 1_500
ROWS_WITHOUT_SCRIPT = 1_000
Signs = dict[int, str]
"""Per arm, a sign for each repeat."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangedData:
    """What the script of the page reads, and the same in short for a reader without scripts."""

    json: dict[str, Json]
    rows: tuple[ChangedRow, ...]
    """In the order of the page."""
    signs: Mapping[tuple[int, int], Signs]
    """By student and case."""
    arms: tuple[str, ...]
    sides: tuple[str, ...]
    """The two arms that the verdict compares, the one it is about last; one arm where nothing was compared."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sides:
    """Two runs in place of two arms: the older one has the arm `previous`, the newer one `with_skill`."""

    titles: tuple[str, str]
    better: str
    worse: str
    """What is said of a case whose result differs."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Gathered:
    """What grows while the trials are read, one at a time."""

    texts: Texts
    files_shown: int
    files_named: int
    grades: dict[tuple[tuple[str, bool, int], ...], int] = field(default_factory=dict)
    logs: dict[str, int] = field(default_factory=dict)
    originals: dict[tuple[int, str], int] = field(default_factory=dict)
    """Text of a case's own file, by case and path, where some student changed it."""
    trials: list[Json] = field(default_factory=list)
    ends: dict[tuple[int, int], dict[int, dict[int, int]]] = field(default_factory=dict)
    signs: dict[tuple[int, int], Signs] = field(default_factory=dict)


def changed_section(
    evaluation: Evaluation, cases: Sequence[CaseText], trials: Iterable[LoggedTrial], *, sides: Sides | None = None
) -> Markup:
    """Its controls are there from the start. `trials` may come one at a time; `sides` are two runs instead of arms."""
    expected = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
    data = changed_data(evaluation, cases, trials, expected=expected, sides=sides)
    names = unique_names([report.student.name for report in evaluation.students])
    return render(
        "changed.html",
        students=names,
        counted=counted(data.rows, compared=len(data.sides) > 1, **_words(sides)),
        **_words(sides),
        scope=scope(len({row.case for row in data.rows}), len(names)),
        compared=len(data.sides) > 1,
        judged=sides is not None or any(report.verdict != "invalid" for report in evaluation.students),
        sides=data.sides,
        repeated=any(len(signs) > 1 for arms in data.signs.values() for signs in arms.values()),
        arms=data.arms,
        rows=list(_without_script(data, cases, names)),
        more=max(0, len(data.rows) - ROWS_WITHOUT_SCRIPT),
        data=Markup(json_in_html(data.json)),
    )


def changed_data(
    evaluation: Evaluation,
    cases: Sequence[CaseText],
    logged: Iterable[LoggedTrial],
    *,
    expected: int,
    sides: Sides | None = None,
) -> ChangedData:
    """Numbers in place of names, every text once. `expected` is how many trials there will be, about."""
    students = [report.student.name for report in evaluation.students]
    harness = evaluation.students[0].harness if evaluation.students else DEFAULT_HARNESS
    number_of_student = {name: number for number, name in enumerate(students)}
    number_of_case = {case.id: number for number, case in enumerate(cases)}
    ran = {arm.arm for report in evaluation.students for arm in report.arms}
    arms = [arm for arm in ARMS if arm in ran]
    compared = _compared(evaluation, arms) if sides is None else (0, 1)
    found = _Gathered(
        texts=Texts(longest=longest_for(expected)),
        files_shown=min(FILES_SHOWN, 10_000 // max(1, expected)),
        files_named=max(5, min(FILES_NAMED, 100_000 // max(1, expected))),
    )
    known = _cases(evaluation, cases, found.texts)
    stepped = False
    for one in logged:
        trial = one.trial
        if trial.arm not in arms or trial.case_id not in number_of_case or trial.student not in number_of_student:
            continue
        place = (number_of_student[trial.student], number_of_case[trial.case_id])
        _add(found, one, place, arms.index(trial.arm), cases[place[1]])
        stepped = stepped or one.steps is not None
    silent = {number for number, report in enumerate(evaluation.students) if report.verdict == "invalid"}
    changed = (changed_row(*place, ends, compared) for place, ends in found.ends.items())
    rows = in_order(without_verdict(row) if row.student in silent and sides is None else row for row in changed)
    titles = arm_titles(evaluation, arms) if sides is None else sides.titles
    words = _words(sides)
    json: dict[str, Json] = {
        "students": list(students),
        "names": list[Json](unique_names(students)),
        "arms": [[arm, title] for arm, title in zip(arms, titles, strict=True)],
        "compared": None if compared is None else list(compared),
        "kinds": [f"▼ {words['worse']}", f"▲ {words['better']}"],
        "silent": [] if sides else list[Json](sorted(silent)),
        # Where nothing is decided, what fails with the skill too tells why.
        "unfolded": [str(CHANGES.index("failed"))] * any(one.verdict == "undecided" for one in evaluation.students),
        "tools": harness_info(harness).with_tools,
        "cases": known,
        "rows": [[row.student, row.case, CHANGES.index(row.change), row.repeat] for row in rows],
        "grades": [[[kind, passed, saw] for kind, passed, saw in grade] for grade in found.grades],
        "logs": list(found.logs),
        "originals": [[case, path, text] for (case, path), text in found.originals.items()],
        "trials": found.trials,
        "texts": found.texts.cut_to(room_for(len(found.trials)) + (STEPS_ROOM if stepped else 0)),
    }
    return ChangedData(
        json=json,
        rows=tuple(rows),
        signs=found.signs,
        arms=titles,
        sides=tuple(titles[arm] for arm in compared) if compared else titles[-1:],
    )


def _words(sides: Sides | None) -> dict[str, str]:
    """What is said of a case that passes more often on the second side, and of one that passes less often."""
    better, worse = ("helped", "hurt") if sides is None else (sides.better, sides.worse)
    return {"better": better, "worse": worse}


def _compared(evaluation: Evaluation, arms: Sequence[Arm]) -> tuple[int, int] | None:
    """Which two arms the verdict compares, the older first; `None` where nothing was compared."""
    if not evaluation.students or not evaluation.students[0].lifts:
        return None
    measured, against = evaluation.students[0].compared
    return (arms.index(against), arms.index(measured)) if measured in arms and against in arms else None


def _cases(evaluation: Evaluation, cases: Sequence[CaseText], texts: Texts) -> list[Json]:
    states = {one.case_id: one for one in evaluation.case_states}
    return [
        [
            case.id,
            None if case.prompt is None else texts.add(case.prompt),
            states[case.id].state if case.id in states else "",
            list(states[case.id].labels) if case.id in states else [],
            case.use or "",
            list[Json](sorted(case.files)),
            [[kind, texts.add(said)] for kind, said in case.checks],
        ]
        for case in cases
    ]


def _add(found: _Gathered, one: LoggedTrial, place: tuple[int, int], arm: int, case: CaseText) -> None:
    trial = one.trial
    state, detail = _outcome(trial, found)
    signs = found.signs.setdefault(place, {})
    signs[arm] = signs.get(arm, "") + "✗✓!"[state]
    ends = found.ends.setdefault(place, {})
    if one.counted:
        ends.setdefault(arm, {})[trial.repeat] = state
    found.trials.append(
        [
            *place,
            arm,
            trial.repeat,
            state,
            detail,
            found.texts.add(said) if (said := trial.said) else -1,
            one.line,
            trial.usage.input_tokens,
            trial.usage.output_tokens,
            None if trial.usage.cost is None else float(f"{trial.usage.cost:.3g}"),
            None if trial.seconds is None else round(trial.seconds, 1),
            found.logs.setdefault(one.log, len(found.logs)) if one.log else -1,
            one.sample or 0,
            _more(one, found, place[1], case),
        ]
    )


def _outcome(trial: Trial, found: _Gathered) -> tuple[int, Json]:
    """The state, and what is behind it: the number of the grade, with the end where it is unusual; or the fault."""
    outcome = trial.outcome
    if isinstance(outcome, Errored):
        return ERRORED, [fault_words(outcome.fault), found.texts.add(outcome.message[:SAW_CHARACTERS])]
    seen = tuple((one.kind, one.passed, found.texts.add(one.saw[:SAW_CHARACTERS])) for one in outcome.grade.results)
    number = found.grades.setdefault(seen, len(found.grades))
    return (PASSED if outcome.passed else FAILED), (number if outcome.end == "answered" else [number, outcome.end])


def _more(one: LoggedTrial, found: _Gathered, number: int, case: CaseText) -> Json:
    """What most trials have nothing of; 0 then."""
    trial = one.trial
    more: dict[str, Json] = {}
    if not one.counted:
        more["late"] = True
    if one.tries > 1:
        more["tries"] = one.tries
    if trial.turns:
        more["turns"] = trial.turns
    if trial.stored_at:
        more["stored"] = trial.stored_at
    if trial.skill_use is not None and trial.skill_use.present:
        more["loaded"] = trial.skill_use.loaded
        more["read"] = list(trial.skill_use.files)
        if trial.skill_use.turn is not None:
            more["load_turn"] = trial.skill_use.turn
    if trial.skill_use is not None and trial.skill_use.others:
        more["other_skills"] = list(trial.skill_use.others)
    if trial.removed:
        more["removed"] = list(trial.removed)
    if trial.files:
        more["files"] = _files(trial.files, found, number, case.files)
    if one.steps is not None:
        more["steps"] = _steps(one.steps, trial.answer, found.texts)
    return more or 0


def _files(files: Files, found: _Gathered, number: int, given: Files) -> Json:
    """Name, size and text of the first files; of the others the name and size."""
    listed: list[Json] = []
    for path, data in sorted(files.items())[: found.files_named]:
        text = _shown(data) if len(listed) < found.files_shown else None
        listed.append([path, len(data), -1 if text is None else found.texts.add(text)])
        if text is not None and path in given and (number, path) not in found.originals:
            original = _shown(given[path])
            found.originals[number, path] = -1 if original is None else found.texts.add(original)
    return [listed, len(files)]


def _shown(data: bytes) -> str | None:
    return readable_text(data) if len(data) <= FILE_BYTES else None


def _steps(steps: AgentSteps, answer: str, texts: Texts) -> Json:
    """Each step as a list, and how many are left out after the first ones. The answer itself is shown elsewhere."""
    all_steps = [*steps.first, *steps.last]
    if all_steps and all_steps[-1].kind == "says" and answer.strip().startswith(all_steps[-1].text):
        all_steps.pop()
    gap: Json = [len(steps.first), steps.left_out] if steps.left_out else 0
    return [[_step(step, texts) for step in all_steps], gap]


def _step(step: AgentStep, texts: Texts) -> Json:
    if step.kind == "says":
        return [texts.add(step.text)]
    seconds = None if step.seconds is None else round(step.seconds, 1)
    arguments, output = (texts.add(text) if text else -1 for text in (step.arguments, step.output))
    return [step.tool, arguments, output, step.failed, seconds]


def _without_script(
    data: ChangedData, cases: Sequence[CaseText], students: Sequence[str]
) -> Iterator[tuple[str, str, str, list[str]]]:
    for row in data.rows[:ROWS_WITHOUT_SCRIPT]:
        signs = data.signs[row.student, row.case]
        cells = [signs.get(arm, "") for arm in range(len(data.arms))]
        yield cases[row.case].id, students[row.student], row.change, cells
