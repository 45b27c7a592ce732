"""Slims a skill: searches the lines that answers need on practice cases, and proves the shorter text on held-out ones.

The run folder holds `slim.json` (what was asked and what came of it), `SKILL.full.md` and the slim texts beside it,
`slim.html`, and `trials/`, ordinary run folders. The same command again resumes a run that did not finish: choices
follow from the answers, so it asks the same, and what was answered is not asked again.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from upskill import disk
from upskill.core.foreign_json import read_json
from upskill.core.models import MeteredClient
from upskill.core.nouns import Case, Purchase, Skill, digest_of, estimate_tokens, harness_info
from upskill.core.nouns.look import case_key
from upskill.core.nouns.skill import SKILL_FILE, SLIM_FILE
from upskill.core.nouns.text import count
from upskill.core.progress import SILENT, CountedAnswers, PricedPlan, Progress
from upskill.core.runs.own_runs import is_own_run, seal_of, settings_record
from upskill.core.runs.records import keep_text, now
from upskill.core.runs.run_folders import new_folder, only_one_in, require_plain_folder, run_folder_at
from upskill.core.runs.run_summaries import SLIM_FORMAT, runs_in
from upskill.core.settings import ResolvedSettings
from upskill.core.skills.markdown import FENCE
from upskill.core.skills.skill_files import write_text
from upskill.core.skills.skills import read_skill
from upskill.core.statistics import FEWEST_CASES
from upskill.core.statistics.intervals import mean_half, unit_of
from upskill.errors import EngineError, UpskillError, UsageError
from upskill.evaluation.cases import find_cases, practice_cases, typed_cases, without_copies, without_practised
from upskill.evaluation.estimate import Estimate, client_for, estimate_plan, purchase_since
from upskill.evaluation.evaluate import ask_with_skill, relative, versions
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import ChosenCases, PreparedEvaluation, choose_harness, prepare, students_named
from upskill.slim.proof import ROUNDS, Proof, Stopped, prove, short_name
from upskill.slim.search import MOST_CALLS, CaseSearch, find_lines, rates, weigh_together
from upskill.slim.units import Document, subjects_of

FEWEST_PRACTICE = 30
FEWEST_HELD_OUT = 30
"""Fewer cases cannot exclude a loss of 10 points that none of them shows."""
MOST_UNITS = 300
"""A search weighs pairs of lines, and there are too many of them in a longer text."""
_MOST_MISSES = 3
FULL_FILE = "SKILL.full.md"
_UNFINISHED = ("running", "interrupted", "failed", "explained")
"""States of a run that the same command goes on with."""

State = Literal["needed", "needless", "untested", "pinned", "structure"]
Verdict = Literal["replaced", "proven", "not shown", "changed meanwhile", "nothing to cut", "explained", "stopped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class SlimOrder:
    """What a person asks `upskill slim` for."""

    skill: Path
    case_file: Path | None = None
    drop_untested: bool = False
    """Cut lines that no practice case exercises, too."""
    per_model: bool = False
    """A text for each model, instead of one that serves all."""
    explain: bool = False
    """Search only: nothing is cut and nothing is proven."""

    @property
    def file(self) -> Path:
        return (self.skill if self.skill.name == SKILL_FILE else self.skill / SKILL_FILE).resolve()


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedSlim:
    """What was checked before the first call."""

    order: SlimOrder
    skill: Skill
    head: str
    """`SKILL.md` up to the body, byte for byte."""
    document: Document
    subjects: Mapping[str, int]
    practice: tuple[PreparedEvaluation, ...]
    held_out: tuple[PreparedEvaluation, ...]
    """One for each model."""
    estimate: Estimate
    notes: tuple[str, ...]
    earlier: int
    """Proofs of the past on the same held-out cases."""

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(one.experiment.plan.students[0].name for one in self.practice)

    @property
    def cases(self) -> tuple[tuple[Case, ...], tuple[Case, ...]]:
        """Practice cases and held-out cases."""
        return self.practice[0].experiment.plan.cases, self.held_out[0].experiment.plan.cases

    @property
    def lines(self) -> tuple[str, str]:
        """What it takes, for a person."""
        lines, (practice, held_out) = count(len(self.document.cuttable), "line"), self.cases
        about = f"{lines} that can be cut, {len(practice)} practice and {len(held_out)} held-out cases"
        return about, self.estimate.words

    @property
    def key(self) -> str:
        """Equal for runs that ask the same questions, whatever is done with the answers."""
        cases = [[case.digest for case in some] for some in self.cases]
        students = [one.experiment.plan.students[0] for one in self.practice]
        asked = [[one.model, one.endpoint, one.temperature, one.max_output_tokens] for one in students]
        return digest_of([SLIM_FORMAT, self.skill.digest, cases, asked])

    @property
    def everything(self) -> int:
        """The version that lacks nothing."""
        return (1 << len(self.document.cuttable)) - 1

    def text(self, version: int) -> str:
        """`SKILL.md` of a version."""
        return self.head + self.document.text(version)


@dataclass(frozen=True, kw_only=True, slots=True)
class UnitFinding:
    """One unit of the skill, what was found of it, and what happens to it."""

    lines: tuple[int, int]
    """The first and the last line in `SKILL.md`, counted from 1."""
    kind: str
    text: str
    state: State
    weight: float | None
    """How likely a practice case needs it; `None` where it cannot be cut alone."""
    needed_by: tuple[str, ...]
    tested_by: tuple[str, ...]
    kept: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelSearch:
    """What the search with one model came to."""

    model: str
    answers: int
    """However they were got."""
    telling: int
    """Cases whose answers say something of lines; the others fail with whatever they are given."""
    with_all: float
    without: float
    """Estimated pass rates with all lines that a case needs, and without one of them."""
    sections: tuple[tuple[str, float, tuple[float, float]], ...]
    """Each heading with the pass rate that is lost without its lines, and an interval."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlimText:
    """One text, the models it is for, and how it was proven."""

    models: tuple[str, ...]
    units: tuple[UnitFinding, ...]
    tokens_before: int
    tokens_after: int
    body: str
    """What is proven, and put in place."""
    file: str | None
    """In the run folder; `None` where nothing is cut."""
    proofs: tuple[Proof, ...] = ()

    @property
    def is_proven(self) -> bool:
        return len(self.proofs) == len(self.models) and all(one.verdict == "non-inferior" for one in self.proofs)


@dataclass(frozen=True, kw_only=True, slots=True)
class SlimResult:
    """Everything that was concluded."""

    skill: str
    digest: str
    """Of the full version."""
    digest_after: str | None
    """Of the skill as it lies there now, where it was replaced."""
    verdict: Verdict
    cases: tuple[int, int]
    """Practice cases and held-out cases."""
    searches: tuple[ModelSearch, ...]
    texts: tuple[SlimText, ...]
    bought: Purchase
    run: str
    notes: tuple[str, ...]


def prepare_slim(
    order: SlimOrder,
    settings: ResolvedSettings,
    *,
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> PreparedSlim:
    """Read, check and price. Raises, with what to do, if no call could succeed or nothing could be proven."""
    skill = read_skill(order.skill)
    text = disk.read(order.file).decode("utf-8")
    found = FENCE.match(text.removeprefix("\ufeff"))
    assert found is not None  # `read_skill` has read it
    head = text[: found.end() + text.startswith("\ufeff")]
    document = Document(text[len(head) :])
    if not 2 <= len(document.cuttable) <= MOST_UNITS:
        raise UsageError(
            f"{skill.name}: has {count(len(document.cuttable), 'line')} that can be cut; slim needs 2 to {MOST_UNITS}",
            hint="a paragraph, an item of a list, a row of a table and a code block count as one line each",
        )
    case_file = find_cases(order.skill, order.case_file, judge=settings.values.judge is not None)
    if case_file is None:
        raise UsageError(f"{skill.name}: there are no cases", hint="name a case file with -t FILE")
    _require_enough(case_file.cases, order, case_file.path)
    practice = practice_cases(case_file.cases, typed=typed_cases(order.skill, order.case_file))
    proving = without_practised(tuple(case for case in case_file.cases if case.use == "held-out"))
    once = without_copies((*practice.cases, *proving.cases))  # a copy of a practice case proves nothing
    harness = choose_harness(settings.values.harness, once.cases)
    if harness_info(harness).with_tools:
        raise UsageError(
            f"slim asks models by chat, and these cases or settings ask for the harness {harness}",
            hint="set UPSKILL_HARNESS=chat if the cases can be answered in text",
        )
    asked = EvaluationOrder(skill=order.skill, case_file=order.case_file, repeats=MOST_CALLS, baseline=False)
    prepared: list[PreparedEvaluation] = []
    for model in students_named(settings.values):
        one = prepare(
            asked,
            replace(settings.values, models=(model,), harness=harness),
            chosen=ChosenCases(cases=once.cases, path=case_file.path, arms=("with_skill",)),
            known=prepared[0].qualifications if prepared else (),
            unchosen=settings.unchosen,
            progress=progress,
            announce=announce,
            needs_keys=needs_keys,
        )
        prepared.append(one)
    practised, held_out = ([_with_cases(one, use) for one in prepared] for use in ("learn", "held-out"))
    cases = [one.experiment.plan.cases for one in (practised[0], held_out[0])]
    _require_enough((*cases[0], *cases[1]), order, case_file.path)
    earlier = _proven_before(settings, skill, _held_out_keys(cases[1]))
    proofs = f"{count(earlier, 'earlier proof')} on these held-out cases: this one asks for more, and losses add up"
    notes = [*practice.notes, *proving.notes, *once.notes, *prepared[0].notes, *([proofs] if earlier else ())]
    prices = [_priced(one, MOST_CALLS) for one in practised]
    prices += [_priced(one, 2 * ROUNDS) for one in held_out if not order.explain]
    return PreparedSlim(
        order=order,
        skill=skill,
        head=head,
        document=document,
        subjects=subjects_of(cases[0], [document.units[number] for number in document.cuttable]),
        practice=tuple(practised),
        held_out=tuple(held_out),
        estimate=Estimate.total(prices, most_minutes=settings.values.max_time_minutes),
        notes=tuple(dict.fromkeys(notes)),
        earlier=earlier,
    )


def _require_enough(cases: Sequence[Case], order: SlimOrder, path: Path) -> None:
    have = Counter(case.use for case in cases)
    practice, held_out = have["learn"], have["held-out"]
    least = FEWEST_CASES if order.explain else FEWEST_HELD_OUT
    missing = [
        count(number, f"more {kind} case")
        for kind, number in (("practice", FEWEST_PRACTICE - practice), ("held-out", least - held_out))
        if number > 0
    ]
    if missing:
        split = f"then split all once: `upskill cases split {typed_cases(order.skill, order.case_file)} --practice 1/2`"
        use = 'each with its side: "use": "learn" for practice, "use": "held-out"' if practice or held_out else split
        raise UsageError(
            f"{path}: has {practice} practice and {held_out} held-out cases; slim needs {' and '.join(missing)}",
            hint=f"write them there, {use}",
        )


def _with_cases(prepared: PreparedEvaluation, use: str) -> PreparedEvaluation:
    """What asks a model the cases of one use."""
    experiment = prepared.experiment
    cases = tuple(case for case in experiment.plan.cases if case.use == use)
    return replace(prepared, experiment=replace(experiment, plan=replace(experiment.plan, cases=cases)))


def _held_out_keys(cases: Sequence[Case]) -> list[str]:
    return sorted(map(case_key, cases))


def _priced(prepared: PreparedEvaluation, rounds: int) -> Estimate:
    """At most so many answers for each case; about half of them are usual."""
    experiment = prepared.experiment
    plan = replace(experiment.plan, repeats=rounds, design="two looks")
    return estimate_plan(plan, experiment.requests, trial_limits=experiment.trial_limits, judge=experiment.judge)


def _records(settings: ResolvedSettings, skill: Skill) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Earlier slimmings of a skill of this name that the user started here, newest first, each after its folder."""
    for folder in runs_in(settings.place("runs_dir"), marked_by=(SLIM_FILE,)):
        with suppress(UpskillError, OSError, ValueError):  # damaged: nothing is known of it
            record = read_json(folder / SLIM_FILE)
            known = isinstance(record, dict) and record.get("format") == SLIM_FORMAT
            if isinstance(record, dict) and known and record.get("skill_name") == skill.name and is_own_run(folder):
                yield folder, record


def _proven_before(settings: ResolvedSettings, skill: Skill, held_out: Sequence[str]) -> int:
    """How many earlier slimmings were put to the test on one of these held-out cases, whatever the text was."""
    proven = 0
    for _, record in _records(settings, skill):
        # One that was killed before it said that it is finished may have replaced the skill.
        ended = record.get("status") == "finished" or record.get("skill_digest") != skill.digest
        results = record.get("results")
        shared = not set(held_out).isdisjoint(record.get("held_out") or ())
        if ended and shared and isinstance(results, dict):
            proven += any(text.get("proofs") for text in results.get("texts", ()))
    return proven


def slim(
    order: SlimOrder,
    *,
    settings: ResolvedSettings,
    progress: Progress = SILENT,
    confirm: Callable[[PricedPlan], bool] = lambda _: True,
) -> SlimResult:
    """Slim a skill. Raises before any call if it could not succeed; later it returns a result."""
    from upskill.slim.picture import slim_json, slim_page

    prepared = prepare_slim(order, settings, progress=progress, announce=progress.announce)
    for line in (*prepared.lines, *(f"note: {note}" for note in prepared.notes)):
        progress.note(line)
    if prepared.estimate.is_much and not confirm(prepared.estimate):
        raise UsageError("nothing was run and nothing was spent")
    folder, record = _open_run(prepared, settings, progress)
    with only_one_in(folder):
        status = "failed"
        try:
            write_text(folder / FULL_FILE, prepared.text(prepared.everything))
            result = _Slimming(prepared, folder, client_for(prepared.practice[0].settings), progress).run()
            if result.verdict == "replaced":
                # Known before it is done: a kill must not hide that the cases have proven a text.
                _keep(folder, {**record, "results": slim_json(result)})
                after = _replace(prepared, prepared.head + result.texts[0].body)
                result = replace(
                    result, digest_after=after, verdict="changed meanwhile" if after is None else "replaced"
                )
            write_text(folder / "slim.html", slim_page(result))
            record["results"] = slim_json(result)
            status = {"stopped": "interrupted", "explained": "explained"}.get(result.verdict, "finished")
            return result
        except KeyboardInterrupt:
            status = "interrupted"
            raise
        finally:
            with suppress(EngineError):  # what happened matters more than that it could not be recorded
                _keep(folder, {**record, "status": status, "finished_at": now()})


def _replace(prepared: PreparedSlim, text: str) -> str | None:
    """Put the slim text in place of the full one: the new digest; `None` where somebody changed it meanwhile."""
    file = prepared.order.file
    if disk.read(file) != prepared.text(prepared.everything).encode("utf-8"):
        return None
    try:
        disk.write(file, text, mode=file.stat().st_mode & 0o777)
    except OSError as error:
        raise EngineError(f"{file}: cannot be written ({error.strerror})") from None
    return read_skill(prepared.order.skill).digest


def _keep(folder: Path, record: Mapping[str, Any]) -> None:
    keep_text(folder / SLIM_FILE, _record_text(record))


def _open_run(prepared: PreparedSlim, settings: ResolvedSettings, progress: Progress) -> tuple[Path, dict[str, Any]]:
    """The folder of an earlier run that asked the same and did not finish, else a new one."""
    for folder, record in () if settings.origins["store"] == "--fresh" else _records(settings, prepared.skill):
        if record.get("key") == prepared.key and record.get("status") in _UNFINISHED:
            require_plain_folder(folder)
            progress.note(f"resuming {relative(folder, Path.cwd())}")
            return folder, record
    folder = new_folder(settings.place("runs_dir"), f"slim-{prepared.skill.name}")
    record = {
        "format": SLIM_FORMAT,
        "status": "running",
        "started_at": now(),
        "versions": versions(),
        "key": prepared.key,
        "skill_name": prepared.skill.name,
        "skill_digest": prepared.skill.digest,
        "skill_source": relative(prepared.order.skill, folder),
        "case_source": relative(prepared.practice[0].case_file, folder),
        "held_out": _held_out_keys(prepared.cases[1]),
        "models": list(prepared.models),
        "settings": {name: asdict(one) for name, one in settings_record(settings).items()},
    }
    record["seal"] = seal_of(folder, _record_text(record))
    _keep(folder, record)
    return folder, record


def _record_text(record: Mapping[str, Any]) -> str:
    return json.dumps(record, indent=2, ensure_ascii=False) + "\n"


class _Slimming:
    """One run, from the search to the proof."""

    def __init__(self, prepared: PreparedSlim, folder: Path, client: MeteredClient, progress: Progress) -> None:
        self._prepared, self._folder = prepared, folder
        self._client, self._progress = client, progress

    def run(self) -> SlimResult:
        prepared, before = self._prepared, replace(self._client.spent)
        searches: list[list[CaseSearch]] = []
        texts: list[SlimText] = []
        verdict: Verdict = "stopped"
        with suppress(Stopped):
            for place in range(len(prepared.models)):
                searches.append([])
                self._search(place, searches[-1])
            everyone = range(len(searches))
            for models in [[place] for place in everyone] if prepared.order.per_model else [everyone]:
                texts.append(self._text_for(models, [searches[place] for place in models]))
                self._prove(models, texts)
            verdict = self._verdict(texts)
        return SlimResult(
            skill=prepared.skill.name,
            digest=prepared.skill.digest,
            digest_after=None,
            verdict=verdict,
            cases=(len(prepared.cases[0]), len(prepared.cases[1])),
            searches=tuple(map(self._summary, prepared.models, searches)),
            texts=tuple(texts),
            bought=purchase_since(self._client.spent, before),
            run=relative(self._folder, Path.cwd()),
            notes=prepared.notes,
        )

    def _search(self, place: int, searches: list[CaseSearch]) -> None:
        """Ask versions until every case is decided."""
        part, document = self._prepared.practice[place], self._prepared.document
        folder = run_folder_at(self._folder / "trials" / f"practice-{place + 1}")
        searches += [CaseSearch(case.id, len(document.cuttable)) for case in part.experiment.plan.cases]
        what = f"searching with {short_name(self._prepared.models[place])}"
        counted = CountedAnswers(self._progress, MOST_CALLS * len(searches), what=what)
        misses: Counter[str] = Counter()
        while open_ := weigh_together(searches):
            asked = {search.case_id: (search, search.next_version()) for search in open_}
            counted.total = sum(len(search.asked) if search.is_over else MOST_CALLS for search in searches)
            bodies = {case_id: document.text(version) for case_id, (_, version) in asked.items()}
            trials = ask_with_skill(
                part,
                [(search.case_id, len(search.asked) + 1) for search in open_],
                folder,
                client=self._client,
                texts={case_id: replace(self._prepared.skill, body=body) for case_id, body in bodies.items()},
                progress=counted,
            )
            if not trials:
                raise Stopped
            for trial in trials:
                search, version = asked.pop(trial.case_id)
                search.add(version, trial.passed)
            misses.update(asked.keys())
            for case_id, (search, _) in asked.items():
                search.set_aside = misses[case_id] >= _MOST_MISSES

    def _text_for(self, models: Sequence[int], searches: Sequence[Sequence[CaseSearch]]) -> SlimText:
        """The text that serves these models: a line that one of them needs stays; one goes that no model needs."""
        prepared, document, order = self._prepared, self._prepared.document, self._prepared.order
        found = list(zip(*(find_lines(some, prepared.subjects) for some in searches), strict=True))
        states: list[State] = [
            "needed"
            if any(line.is_needed for line in lines)
            else "needless"
            if all(line.tested_by for line in lines)
            else "untested"
            for lines in found
        ]
        stays = {"needed"} if order.drop_untested else {"needed", "untested"}
        version = sum(1 << place for place, state in enumerate(states) if order.explain or state in stays)
        kept, first = document.kept(version), prepared.head.count("\n")
        places = {number: place for place, number in enumerate(document.cuttable)}
        units = []
        for number, unit in enumerate(document.units):
            lines = found[places[number]] if number in places else ()
            state = states[places[number]] if number in places else "structure"
            units.append(
                UnitFinding(
                    lines=(first + unit.first + 1, first + unit.end),
                    kind=unit.kind,
                    text=unit.text,
                    state="pinned" if unit.pinned else state,
                    weight=max((line.weight for line in lines), default=None),
                    needed_by=tuple(dict.fromkeys(case_id for line in lines for case_id in line.needed_by)),
                    tested_by=tuple(dict.fromkeys(case_id for line in lines for case_id in line.tested_by)),
                    kept=number in kept,
                )
            )
        file = f"SKILL.slim.{models[0] + 1}.md" if order.per_model else "SKILL.slim.md"
        text, full = prepared.text(version), prepared.text(prepared.everything)
        if text != full:
            write_text(self._folder / file, text)
        return SlimText(
            models=tuple(prepared.models[place] for place in models),
            units=tuple(units),
            body=document.text(version),
            tokens_before=estimate_tokens(full),
            tokens_after=estimate_tokens(text),
            file=None if text == full else file,
        )

    def _prove(self, models: Sequence[int], texts: list[SlimText]) -> None:
        """Prove the last text for each of its models, until one of them is not proven."""
        if texts[-1].file is None:
            return
        shorter = replace(self._prepared.skill, body=texts[-1].body)
        for place in models:
            folder = run_folder_at(self._folder / "trials" / f"held-out-{place + 1}")
            part = self._prepared.held_out[place]
            proof = prove(part, shorter, folder, self._client, self._progress, earlier=self._prepared.earlier)
            texts[-1] = replace(texts[-1], proofs=(*texts[-1].proofs, proof))
            if proof.verdict != "non-inferior":
                return

    def _verdict(self, texts: Sequence[SlimText]) -> Verdict:
        cut = [text for text in texts if text.file is not None]
        if self._prepared.order.explain:
            return "explained"
        if not all(text.is_proven for text in cut):
            return "not shown"
        return "nothing to cut" if not cut else "proven" if self._prepared.order.per_model else "replaced"

    def _summary(self, model: str, searches: Sequence[CaseSearch]) -> ModelSearch:
        telling = [search for search in searches if search.is_telling]
        with_all, without = rates(telling)
        return ModelSearch(
            model=model,
            answers=sum(len(search.asked) for search in searches),
            telling=len(telling),
            with_all=with_all,
            without=without,
            sections=tuple(self._worth(telling, with_all - without)),
        )

    def _worth(
        self, telling: Sequence[CaseSearch], difference: float
    ) -> Iterator[tuple[str, float, tuple[float, float]]]:
        """What each section is worth: how likely each case needs something of it, times what that changes."""
        families = {case.id: case.family for case in self._prepared.cases[0]}
        answers = sum(len(search.asked) for search in telling)
        for heading, lines in self._prepared.document.sections():
            units: dict[tuple[str, str], list[float]] = defaultdict(list)
            for search in telling:
                units[unit_of(search.case_id, families[search.case_id])].append(search.needs_any(lines) * difference)
            if len(units) >= FEWEST_CASES:
                mean, half = mean_half([sum(some) / len(some) for some in units.values()], answers=answers)
                yield heading, mean, (max(-1.0, mean - half), min(1.0, mean + half))
