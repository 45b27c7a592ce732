"""The map of cases x arms x repeats: its data as compact JSON, every text once and none longer than there is room for,
and the section that the page's script fills in."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from upskill.domain import DEFAULT_HARNESS, Errored, Evaluation, Files, Trial
from upskill.domain.case import Json
from upskill.domain.trial import ARMS
from upskill.reporting.html.elements import escaped, json_in_html, plain
from upskill.reporting.html.facts import CaseText, LoggedTrial
from upskill.reporting.wording import arm_name

ROOM = 1_900_000
"""Bytes for all texts of a page together, where there are few."""
ROOM_PER_TRIAL = 260
"""A page of very many trials may be larger."""
LONGEST = 8_000
"""No text is shown in more characters, however much room there is."""
SHORTEST = 160
PASSED, FAILED, ERRORED = 1, 0, 2
FILES_SHOWN = 5
FILE_CHARACTERS = 2_000
SAW_CHARACTERS = 400
ROWS_WITHOUT_SCRIPT = 1_000


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


@dataclass(frozen=True, kw_only=True, slots=True)
class MapData:
    """What the script of the page reads, and the same in short for whoever has no script."""

    json: dict[str, Json]
    tallies: dict[tuple[int, int], dict[int, str]]
    """By student and case: per arm, a sign for each repeat."""
    arms: tuple[str, ...]
    trials: int


def map_data(
    evaluation: Evaluation, cases: Sequence[CaseText], logged: Iterable[LoggedTrial], *, expected: int
) -> MapData:
    """Numbers in place of names, every text once. `expected` is how many trials there will be, about."""
    texts = Texts(longest=longest_for(expected))
    grades: dict[tuple[tuple[str, bool, int], ...], int] = {}
    students = [report.student.name for report in evaluation.students]
    harness = evaluation.students[0].harness if evaluation.students else DEFAULT_HARNESS
    number_of_student = {name: number for number, name in enumerate(students)}
    number_of_case = {case.id: number for number, case in enumerate(cases)}
    ran = {arm.arm for report in evaluation.students for arm in report.arms}
    arms = [arm for arm in ARMS if arm in ran]
    prompts: list[Json] = [None if case.prompt is None else texts.add(case.prompt) for case in cases]
    logs: dict[str, int] = {}
    rows: list[Json] = []
    tallies: dict[tuple[int, int], dict[int, str]] = {}
    for one in logged:
        trial = one.trial
        if trial.arm not in arms or trial.case_id not in number_of_case or trial.student not in number_of_student:
            continue
        state, detail = _outcome(trial, texts, grades)
        student, case, arm = number_of_student[trial.student], number_of_case[trial.case_id], arms.index(trial.arm)
        signs = tallies.setdefault((student, case), {})
        signs[arm] = signs.get(arm, "") + "✗✓!"[state]
        rows.append(
            [
                student,
                case,
                arm,
                trial.repeat,
                state,
                detail,
                texts.add(trial.answer) if trial.answer else -1,
                one.line,
                trial.usage.input_tokens,
                trial.usage.output_tokens,
                None if trial.usage.cost is None else float(f"{trial.usage.cost:.3g}"),
                None if trial.seconds is None else round(trial.seconds, 1),
                logs.setdefault(one.log, len(logs)) if one.log else -1,
                one.sample or 0,
                _more(one, texts),
            ]
        )
    states = {one.case_id: one for one in evaluation.case_states}
    known: list[Json] = [
        [
            case.id,
            prompt,
            states[case.id].state if case.id in states else "",
            list(states[case.id].labels) if case.id in states else [],
            case.use or "",
            list(case.files),
        ]
        for case, prompt in zip(cases, prompts, strict=True)
    ]
    json: dict[str, Json] = {
        "students": list(students),
        "arms": [arm_name(arm, harness) for arm in arms],
        "measured": _measured(evaluation, arms),
        "cases": known,
        "grades": [[[kind, passed, saw] for kind, passed, saw in grade] for grade in grades],
        "logs": list(logs),
        "trials": rows,
        "texts": texts.cut_to(room_for(len(rows))),
    }
    return MapData(json=json, tallies=tallies, arms=tuple(arm_name(arm, harness) for arm in arms), trials=len(rows))


def _measured(evaluation: Evaluation, arms: Sequence[str]) -> Json:
    """Which two arms the verdict compares, by number; null where nothing was compared."""
    if not evaluation.students or not evaluation.students[0].lifts:
        return None
    measured, against = evaluation.students[0].compared
    return [arms.index(measured), arms.index(against)] if measured in arms and against in arms else None


def _outcome(trial: Trial, texts: Texts, grades: dict[tuple[tuple[str, bool, int], ...], int]) -> tuple[int, Json]:
    """The state, and what stands behind it: the number of the grade, with the end where it is unusual; or the fault."""
    outcome = trial.outcome
    if isinstance(outcome, Errored):
        return ERRORED, [outcome.fault, texts.add(outcome.message[:SAW_CHARACTERS])]
    seen = tuple((one.kind, one.passed, texts.add(one.saw[:SAW_CHARACTERS])) for one in outcome.grade.results)
    number = grades.setdefault(seen, len(grades))
    return (PASSED if outcome.passed else FAILED), (number if outcome.end == "answered" else [number, outcome.end])


def _more(one: LoggedTrial, texts: Texts) -> Json:
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
    if trial.skill_use is not None:
        more["loaded"] = trial.skill_use.loaded
        more["read"] = list(trial.skill_use.files)
    if trial.removed:
        more["removed"] = list(trial.removed)
    if trial.files:
        more["files"] = _files(trial.files, texts)
    return more or 0


def _files(files: Files, texts: Texts) -> Json:
    """Name, size and text of the first files; of the others the name and size."""
    found: list[Json] = []
    for number, (path, data) in enumerate(sorted(files.items())):
        shown = -1
        if number < FILES_SHOWN and b"\0" not in data[:FILE_CHARACTERS]:
            shown = texts.add(data[: FILE_CHARACTERS * 4].decode("utf-8", "replace")[:FILE_CHARACTERS])
        found.append([path, len(data), shown])
        if number >= 50:
            break
    return found


def changed_section(evaluation: Evaluation, cases: Sequence[CaseText], trials: Iterable[LoggedTrial]) -> Markup:
    """Every trial of a run. `trials` may come one at a time."""
    expected = sum(arm.trials + arm.errored for report in evaluation.students for arm in report.arms)
    return Markup(map_section(evaluation, cases, map_data(evaluation, cases, trials, expected=expected)))


def map_section(evaluation: Evaluation, cases: Sequence[CaseText], data: MapData) -> str:
    """Its controls are there from the start; its rows come as somebody looks at them."""
    students = [report.student.name for report in evaluation.students]
    options = "".join(f'<option value="{number}">{escaped(name)}</option>' for number, name in enumerate(students))
    return f"""<section class="card" aria-labelledby="h-map"><h2 id="h-map">Every trial</h2>
<p>A row is a case, and a square is one trial.
<span class="needs-script">Open a square to see the prompt, the answer and what each check saw.
Arrow keys move between squares.</span></p>
<ul class="keys"><li><span class="cell pass" aria-hidden="true">✓</span> passed</li>
<li><span class="cell fail" aria-hidden="true">✗</span> failed</li>
<li><span class="cell error" aria-hidden="true">!</span> errored: measured nothing</li>
<li><span class="cell pass late" aria-hidden="true">✓</span> pale: not counted</li></ul>
<form id="filters" class="needs-script" hidden>
<label{" hidden" if len(students) < 2 else ""}>Student <select id="by-student">{options}</select></label>
<label>Show <select id="by-kind"><option value="all">all cases</option>
<option value="helped">helped by the skill</option>
<option value="hurt">hurt by the skill</option><option value="failed">failed with the skill</option>
<option value="errored">errored</option><option value="unproven">unproven cases</option></select></label>
<label>Find <input id="by-text" type="search" placeholder="case or prompt" autocomplete="off"></label>
<output id="found" for="by-student by-kind by-text"></output></form>
<div id="map" class="scrolls" role="region" aria-label="Map of trials" tabindex="-1"></div>
<noscript><p>Without scripts the squares cannot be opened.
The file <code>trials.jsonl</code> in the run folder has every answer.</p>
{"".join(_without_script(students, cases, data))}</noscript>
<dialog id="trial" aria-labelledby="trial-title"></dialog>
<script type="application/json" id="data">{json_in_html(data.json)}</script></section>"""


def _without_script(students: Sequence[str], cases: Sequence[CaseText], data: MapData) -> Iterator[str]:
    rows = sorted(data.tallies)[:ROWS_WITHOUT_SCRIPT]
    head = "".join(f'<th scope="col">{escaped(arm)}</th>' for arm in data.arms)
    yield f'<table><thead><tr><th scope="col">Case</th><th scope="col">Student</th>{head}</tr></thead><tbody>'
    for student, case in rows:
        signs = data.tallies[student, case]
        cells = "".join(f"<td>{signs.get(arm, '')}</td>" for arm in range(len(data.arms)))
        yield f'<tr><th scope="row">{escaped(cases[case].id)}</th><td>{escaped(students[student])}</td>{cells}</tr>'
    yield "</tbody></table>"
    if len(data.tallies) > len(rows):
        yield f"<p>The first {len(rows):,} of {len(data.tallies):,} rows.</p>"
