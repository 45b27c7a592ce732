"""Measures when models load a skill: prompts are asked, an answer ends when the skill is loaded, and loads are scored.

For `upskill trigger`, and for `generate` where it revises a description. Writes no record of the whole.
"""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from upskill.core.models import MeteredClient
from upskill.core.models.preflight import THE_SERVER
from upskill.core.nouns import Errored, RunEnd, Scored, Skill, Trial, digest_of
from upskill.core.nouns.harness import choose_harness, harness_info, harness_names
from upskill.core.nouns.lift import Verdict
from upskill.core.nouns.look import Asked, LookTerms, sketch_of_text
from upskill.core.nouns.skill import Among
from upskill.core.nouns.text import count
from upskill.core.nouns.trigger import Company, TriggerPrompt, TriggerScore, TriggerVerdict
from upskill.core.progress import SILENT, CountedAnswers, Progress, RunProgress
from upskill.core.runs.look_ledger import LookLedger
from upskill.core.runs.records import Status, now
from upskill.core.runs.run_folders import RunFolder
from upskill.core.settings import ResolvedSettings, Settings
from upskill.core.statistics.intervals import FIRST_LEVEL
from upskill.core.statistics.looks import NextLook, look_terms, same_look
from upskill.core.statistics.triggering import last_tries, score_triggering, tally_prompts
from upskill.core.trials.measure import clean_run_logs, measure
from upskill.core.trials.schedule import Schedule
from upskill.errors import UsageError
from upskill.evaluation.conclude import by_student, cut_listing_notes, end_notes, students_end
from upskill.evaluation.estimate import Estimate
from upskill.evaluation.evaluate import ended_in, first_record
from upskill.evaluation.looks import counted_students, look_notes, next_look, open_ledger
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import ChosenCases, PreparedEvaluation, prepare
from upskill.evaluation.replay import planned_only
from upskill.redaction import redactor_from
from upskill.report.wording import faults_words
from upskill.sandbox import Backend

ENOUGH_PROMPTS = 24
"""Held-out prompts of each kind that are written. With so many, a description that is right in 95% of all prompts of
both kinds is found to trigger well in 97% of all measurements; at most 2 of each kind may go wrong."""
FEWEST_TO_PASS = 10
"""Prompts of each kind below which not even an answer that is always right shows that a skill triggers well."""
NO_OTHERS = Among()


@dataclass(frozen=True, kw_only=True, slots=True)
class PreparedTriggering:
    """A measurement that was checked and planned: a plan for each company, alone first."""

    skill: Skill
    prompts: tuple[TriggerPrompt, ...]
    source: Path
    """Where the prompts come from."""
    parts: tuple[tuple[Company, PreparedEvaluation], ...]
    notes: tuple[str, ...] = ()

    @property
    def answers(self) -> int:
        """The answers of all models in all companies."""
        return sum(len(part.experiment.plan) for _, part in self.parts)

    @property
    def estimate(self) -> "TriggerEstimate":
        """What all of it will take."""
        return TriggerEstimate.total(part.estimate for _, part in self.parts)

    @property
    def lines(self) -> tuple[str, ...]:
        """What it takes, for a person."""
        should = sum(prompt.should_load for prompt in self.prompts)
        near = count(len(self.prompts) - should, "near miss", "near misses")
        return f"{count(should, 'prompt')} that should load it, {near}", self.estimate.words


def prepare_triggering(
    skill: Path,
    prompts: tuple[TriggerPrompt, ...],
    settings: Settings,
    *,
    source: Path,
    repeats: int = 1,
    among: Among = NO_OTHERS,
    sandbox: Backend = "bubblewrap",
    agent_bin: Path | None = None,
    accept_findings: bool = False,
    search: bool = False,
    unchosen: Collection[str] = (),
    progress: Progress = SILENT,
    announce: Callable[[str], None] = lambda _: None,
    needs_keys: bool = True,
) -> PreparedTriggering:
    """Resolve, probe and plan: prompts are asked with the skill alone, and again `among` other skills.

    `source` is where the prompts come from. Settings that are `unchosen` follow what the servers have room for. Raises,
    with what to do, if no call could succeed.
    """
    harness = choose_harness(settings.harness, tools=True)
    if not harness_info(harness).with_tools:
        able = ", ".join(name for name in harness_names() if harness_info(name).with_tools)
        raise UsageError(f"with the harness {harness} a model cannot load a skill", hint=f"choose one of {able}")
    alone = EvaluationOrder(
        skill=skill,
        repeats=repeats,
        baseline=False,
        sandbox=sandbox,
        agent_bin=agent_bin,
        accept_findings=accept_findings,
    )
    companies: dict[Company, EvaluationOrder] = {"alone": alone}
    if among:
        companies["among"] = replace(alone, among=among)
    asked = ChosenCases(cases=tuple(prompt.as_case for prompt in prompts), path=source, loads_only=True)
    parts = tuple(
        (
            company,
            prepare(
                order,
                replace(settings, harness=harness),
                chosen=asked,
                search=search,
                unchosen=unchosen,
                progress=progress,
                announce=announce if company == "alone" else lambda _: None,
                needs_keys=needs_keys,
            ),
        )
        for company, order in companies.items()
    )
    noted = dict.fromkeys(note for _, part in parts for note in part.notes)
    return PreparedTriggering(
        skill=parts[0][1].experiment.skill,
        prompts=prompts,
        source=source,
        parts=parts,
        notes=(*noted, *_few_prompts(prompts)),
    )


def _few_prompts(prompts: Sequence[TriggerPrompt]) -> tuple[str, ...]:
    few = min(sum(prompt.should_load is kind for prompt in prompts) for kind in (True, False))
    if few >= FEWEST_TO_PASS:
        return ()
    return (
        f"with fewer than {FEWEST_TO_PASS} prompts of each kind no description can be shown to trigger well; "
        f"{ENOUGH_PROMPTS} of each are enough for a good one",
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class TriggerEstimate(Estimate):
    """What a measurement of triggering will take; most answers end before their last turn."""

    @property
    def calls(self) -> str:
        """In words."""
        return f"at most {count(self.calls_at_most, 'call')}"

    @property
    def minutes(self) -> str:
        """In words; unknown where there was no run like this one."""
        return "time unknown" if self.minutes_at_most is None else self.duration


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredTriggering:
    """The scores of all models in all companies, and how the asking ended."""

    scores: tuple[TriggerScore, ...]
    end: RunEnd = RunEnd()  # noqa: RUF009 - frozen
    reused: int = 0
    notes: tuple[str, ...] = ()


def measure_triggering(
    prepared: PreparedTriggering,
    *,
    settings: ResolvedSettings,
    client: MeteredClient,
    folder_of: Callable[[Company], RunFolder],
    progress: Progress,
    looks: "TriggerLooks | None" = None,
) -> MeasuredTriggering:
    """Ask every prompt in every company, and score the answers. What errored is never counted as an answer.

    An interruption or a cap ends it with the scores of what was there; an answer that was bought before, by any run, is
    taken from the trial store. Where earlier `looks` are known, J is judged as strictly as they leave it.
    """
    counting = CountedAnswers(progress, prepared.answers)
    parts: list[MeasuredTriggering] = []
    for company, part in prepared.parts:
        parts.append(_measure(prepared, company, part, settings, client, folder_of(company), counting, looks))
        if parts[-1].end.interrupted or parts[-1].end.cap is not None:
            break
    # A company that was not measured has not shown that the skill triggers well in it.
    parts += [
        replace(parts[-1], scores=_scores(prepared, company, part, {}, {}), reused=0, notes=())
        for company, part in prepared.parts[len(parts) :]
    ]
    order = {student: place for place, student in enumerate(_students(prepared))}
    scores = sorted((score for part in parts for score in part.scores), key=lambda score: order[score.student])
    return MeasuredTriggering(
        scores=tuple(scores),
        end=parts[-1].end,
        reused=sum(part.reused for part in parts),
        notes=tuple(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def _students(prepared: PreparedTriggering) -> tuple[str, ...]:
    return tuple(student.name for student in prepared.parts[0][1].experiment.plan.students)


def _measure(
    whole: PreparedTriggering,
    company: Company,
    part: PreparedEvaluation,
    settings: ResolvedSettings,
    client: MeteredClient,
    folder: RunFolder,
    progress: RunProgress,
    looks: "TriggerLooks | None",
) -> MeasuredTriggering:
    plan, endpoints = part.experiment.plan, part.experiment.endpoints.values()
    settings = settings.following(replace(part.settings, harness=settings.values.harness), THE_SERVER)
    record = first_record(part, settings, folder)
    folder.write_record(record)
    with ended_in(folder, record):
        found = measure(
            part.experiment,
            {student.name: Schedule(plan) for student in plan.students},
            client=client,
            folder=folder,
            settings=settings.values,
            before=list(planned_only(folder.trials.load(), record)),  # there are some where a longer run is resumed
            progress=progress,
        )
    unread = clean_run_logs(folder)
    clean = redactor_from(os.environ).clean_own
    end = students_end(found.end, endpoints, clean)
    mine = by_student(found.trials)
    seen = (
        *cut_listing_notes(mine, part.experiment.others, several=len(plan.students) > 1),
        *_fault_notes(mine),
        *_no_tools_notes(mine),
    )
    notes = tuple(map(clean, (*end_notes(end, endpoints), *seen, *found.notes, *unread)))
    status: Status = "interrupted" if end.interrupted else "finished"
    folder.write_record(replace(record, status=status, finished_at=now(), end=end, notes=notes))
    score = partial(_scores, whole, company, part, mine)
    scores: tuple[TriggerScore, ...] = score({})
    told: tuple[str, ...] = ()
    if looks is not None:
        scores, told = looks.scored(company, part, score, again=found.reused == len(plan))
    return MeasuredTriggering(scores=scores, end=end, reused=found.reused, notes=(*told, *notes))


def _scores(
    whole: PreparedTriggering,
    company: Company,
    part: PreparedEvaluation,
    trials: Mapping[str, list[Trial]],
    levels: Mapping[str, float],
) -> tuple[TriggerScore, ...]:
    return tuple(
        score_triggering(
            tally_prompts(whole.prompts, trials.get(student.name, ())),
            student=student.name,
            harness=part.experiment.plan.harness,
            company=company,
            others=_others(part),
            level=levels.get(student.name, FIRST_LEVEL),
        )
        for student in part.experiment.plan.students
    )


def _fault_notes(trials: Mapping[str, list[Trial]]) -> Iterator[str]:
    """Why answers were not counted."""
    for name, mine in trials.items():
        last = last_tries(mine)
        faults = Counter(trial.outcome.fault for trial in last if isinstance(trial.outcome, Errored))
        if faults:
            errored = count(faults.total(), "answer")
            yield f"{name}: {errored} errored and not counted: {faults_words(faults.most_common())}"


def _no_tools_notes(trials: Mapping[str, list[Trial]]) -> Iterator[str]:
    """Notes on models that never called a tool, and so could not load a skill: perhaps their server supports none."""
    for name, mine in trials.items():
        scored = [trial for trial in mine if isinstance(trial.outcome, Scored)]
        if scored and all(trial.tool_calls == 0 for trial in scored):
            answers = count(len(scored), "answer")
            yield f"{name}: called no tool in {answers}, so it could not load a skill; does its server support tools?"


def _others(part: PreparedEvaluation) -> int | None:
    """How many other skills were offered; `None` where the agent brings some of its own."""
    if part.experiment.others is None:
        return 0
    return None if part.experiment.others.bundled else len(part.experiment.others.skills)


_ASKED: Mapping[Company, Asked] = {"alone": "loads", "among": "loads among others"}
_VERDICTS: Mapping[TriggerVerdict, Verdict] = {
    "triggers well": "helps",
    "does not trigger well": "hurts",
    "undecided": "undecided",
}


class TriggerLooks:
    """Looks at descriptions in the ledger: one that is measured again on known prompts is tested more strictly."""

    def __init__(self, ledger: LookLedger, settings: Settings, *, run: str) -> None:
        self._ledger, self._settings, self._run = ledger, settings, run

    def scored(
        self,
        company: Company,
        part: PreparedEvaluation,
        score: Callable[[Mapping[str, float]], tuple[TriggerScore, ...]],
        *,
        again: bool,
    ) -> tuple[tuple[TriggerScore, ...], tuple[str, ...]]:
        """The scores at the levels that earlier looks leave, by student, and what a person is told of those looks.

        A look is added for each score with a verdict. `again`: every answer was there before. The same description on
        the same prompts is then the same look.
        """
        with self._ledger.alone():
            looks, coming = self._ledger.read(), dict(self._coming(company, part))
            same = {name: same_look(looks, one) if again else None for name, one in coming.items()}
            terms = {
                name: look_terms(looks, coming[name]) if look is None else LookTerms(level=look.level)
                for name, look in same.items()
            }
            scores = score({name: one.level for name, one in terms.items()})
            for one in scores:
                if one.verdict in _VERDICTS and one.student in coming and same[one.student] is None:
                    verdict = _VERDICTS[one.verdict]
                    at, level = now(), terms[one.student].level
                    look = coming[one.student].opened(id=Path(self._run).name, at=at, run=self._run, level=level)
                    claim = None if verdict == "undecided" else "new cases"
                    self._ledger.append(
                        replace(
                            look,
                            ended_at=at,
                            verdict=verdict,
                            claim=claim,
                            sentence=one.verdict,
                            end="plan finished",
                        )
                    )
        return scores, (*self._ledger.notes, *look_notes(terms))

    def _coming(self, company: Company, part: PreparedEvaluation) -> Iterator[tuple[str, NextLook]]:
        description = part.experiment.skill.description
        counted = counted_students(part.experiment.endpoints, self._settings)
        for student in part.experiment.plan.students:
            if student.name in counted:
                coming = next_look(part, student, ledger=self._ledger.path)
                version, sketch = digest_of(description), sketch_of_text(description)
                yield student.name, replace(coming, asked=_ASKED[company], version=version, sketch=sketch)


def trigger_looks(prepared: PreparedTriggering, settings: Settings, *, run: str) -> TriggerLooks | None:
    """The looks at descriptions; `None` where scripts answer and no ledger is named."""
    ledger = open_ledger(settings, scripted=prepared.parts[0][1].experiment.is_scripted)
    return None if ledger is None else TriggerLooks(ledger, settings, run=run)
