"""Searches revisions of a skill's files with gepa, which keeps several candidates, each good at some cases.

gepa chooses which draft to revise and on which learn cases; the edits come from `revise`, and the trials from
`examine`. This module keeps to the budget, in trials. gepa writes no file and prints nothing.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import TYPE_CHECKING, Any

from upskill.core.models import NoAnswer
from upskill.core.models.teacher_answers import TeacherUnusable
from upskill.core.nouns import Case
from upskill.errors import EngineError, UpskillError
from upskill.generation.draft import Draft
from upskill.generation.edits import texts_of, with_texts
from upskill.generation.failures import Failure
from upskill.generation.revising import Revise

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

MINIBATCH = 3
"""A revision is tried on this many learn cases first, and on all of them only if it did better there."""
PROPOSALS_PER_REVISION = 4
"""Most revisions of a search cost three trials instead of ten, so that many more can be tried."""
MOST_VAIN = 3
"""The search ends after this many proposals in a row that changed nothing or could not be used."""
_MOST_ITERATIONS = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftScores:
    """How a draft did on some learn cases, with every student."""

    passed: Mapping[tuple[str, str], bool]
    """By student and case; what errored is missing."""
    failures: tuple[Failure, ...] = ()
    trials: int = 0
    """How many trials of the budget this cost."""
    cut_short: str | None = None
    """Why nothing more can be examined, in words."""


Examine = Callable[[Draft, Sequence[Case]], DraftScores]


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """The drafts that were examined on every learn case, in the order they were found; the first is the one that the
    search began with."""

    candidates: tuple[tuple[Draft, DraftScores], ...]
    proposals: int
    stopped: str
    """Why the search ended, in words."""


def search(
    draft: Draft,
    cases: Sequence[Case],
    examine: Examine,
    revise: Revise,
    *,
    known: DraftScores,
    trials: int,
    proposals: int,
) -> SearchResult:
    """Search from a draft whose examination on all cases is `known`, with at most so many trials with the skill and
    so many questions to the teacher. Raises what `examine` and `revise` raise."""
    # Imported here: only this search needs it, and the command line must start at once.
    from gepa.api import optimize

    adapter = _Adapter(
        draft=draft,
        cases=cases,
        examine=examine,
        revise=revise,
        known=known,
        trials_left=trials,
        proposals_left=proposals,
    )
    if not adapter.should_stop():
        optimize(
            seed_candidate=texts_of(draft),
            trainset=list(cases),
            adapter=adapter,  # type: ignore[arg-type]  # its protocol wants an attribute where a method will do
            module_selector="all",
            reflection_minibatch_size=min(MINIBATCH, len(cases)),
            stop_callbacks=lambda _: adapter.should_stop(),
            logger=_DebugLogger(),
            track_best_outputs=False,
            seed=0,
            raise_on_exception=True,
        )
    return adapter.result()


class _DebugLogger:
    """Sends gepa's own messages to the debug log."""

    def log(self, message: str) -> None:
        _log.debug("gepa: %s", message)


@dataclass(slots=True)
class _Entry:
    """What is known about one candidate. Scores and failures are by case."""

    draft: Draft
    scores: dict[str, float] = field(default_factory=dict)
    passed: dict[tuple[str, str], bool] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)


@dataclass(kw_only=True, slots=True)
class _Adapter:
    """What gepa calls. Nothing is examined twice, and nothing beyond the budget."""

    draft: Draft
    cases: Sequence[Case]
    examine: Examine
    revise: Revise
    known: InitVar[DraftScores]
    trials_left: int
    proposals_left: int
    students: int = 1
    entries: dict[tuple[tuple[str, str], ...], _Entry] = field(default_factory=dict)
    proposed: int = 0
    vain: int = 0
    """Proposals in a row that changed nothing."""
    iterations: int = 0
    stopped: str | None = None
    error: UpskillError | NoAnswer | None = None
    proposing: bool = False

    def __post_init__(self, known: DraftScores) -> None:
        self.students = max(1, len({student for student, _ in known.passed}))
        self._note(texts_of(self.draft), self.cases, known)

    def evaluate(
        self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
    ) -> "EvaluationBatch[str, None]":
        """Scores per case: the share of students that passed."""
        from gepa.core.adapter import EvaluationBatch

        entry = self._entry(candidate)
        missing = {case.id for case in batch} - entry.scores.keys()
        wanted = [case for case in self.cases if case.id in missing]
        if wanted and self.stopped is None:
            examined = self.examine(entry.draft, wanted)
            self.trials_left -= examined.trials
            self._note(candidate, wanted, examined)
            self.stopped = examined.cut_short
        return EvaluationBatch(
            outputs=[None for _ in batch],
            scores=[entry.scores.get(case.id, 0.0) for case in batch],
            trajectories=[case.id for case in batch] if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: "EvaluationBatch[str, None]", components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """The ids of the cases to look at; their failures are in `entries`."""
        cases = [{"case": case_id} for case_id in dict.fromkeys(eval_batch.trajectories or [])]
        return dict.fromkeys(components_to_update, cases)

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Edits of a candidate, as the texts they change; nothing where the teacher had none.

        gepa would swallow an error here and ask again. So an error is stored, the search stops, and `result` raises it
        when gepa has ended. After an exception that is not caught here, `proposing` stays set.
        """
        if self.proposing or self.error is not None:
            return {}
        self.proposing = True
        self.proposed += 1
        self.proposals_left -= 1
        entry = self._entry(candidate)
        shown = [record["case"] for records in reflective_dataset.values() for record in records]
        failures = [one for case_id in dict.fromkeys(shown) for one in entry.failures.get(case_id, ())]
        changed: dict[str, str] = {}
        try:
            revision = self.revise(entry.draft, failures, may_add=False)
            texts = dict.fromkeys(candidate, "") | texts_of(revision.draft)
            changed = {path: text for path, text in texts.items() if candidate.get(path) != text}
            if self._key({**candidate, **changed}) in self.entries:
                changed = {}
        except TeacherUnusable as unusable:
            _log.info("a proposal could not be used: %s", unusable.message)
        except (UpskillError, NoAnswer) as error:
            self.error = error
        self.proposing = False
        self.vain = 0 if changed else self.vain + 1
        return changed

    def should_stop(self) -> bool:
        """Asked before every proposal: the budget must allow a trial of the revision on all cases."""
        self.iterations += 1
        if self.stopped is None:
            self.stopped = self._reason()
        return self.stopped is not None

    def _reason(self) -> str | None:
        if self.error is not None or self.proposing or self.iterations > _MOST_ITERATIONS:
            return "the search could not continue"
        if any(all(entry.passed.values()) for entry in self._complete()):
            return "every practice case passes"
        if self.trials_left < len(self.cases) * self.students or self.proposals_left <= 0:
            return "the search budget is used up"
        if self.vain >= MOST_VAIN:
            return "the teacher proposed nothing new"
        return None

    def result(self) -> SearchResult:
        """What was found, or the error that ended the search."""
        if self.error is not None:
            raise self.error
        if self.proposing:
            raise EngineError("the search failed while a revision was made", hint="see the debug log, or --effort low")
        return SearchResult(
            candidates=tuple(
                (
                    entry.draft,
                    DraftScores(
                        passed=dict(entry.passed),
                        failures=tuple(one for failures in entry.failures.values() for one in failures),
                    ),
                )
                for entry in self._complete()
            ),
            proposals=self.proposed,
            stopped=self.stopped or "the search ended",
        )

    def _complete(self) -> list[_Entry]:
        return [entry for entry in self.entries.values() if all(case.id in entry.scores for case in self.cases)]

    def _entry(self, candidate: Mapping[str, str]) -> _Entry:
        key = self._key(candidate)
        if key not in self.entries:
            self.entries[key] = _Entry(with_texts(self.draft, candidate))
        return self.entries[key]

    def _note(self, candidate: Mapping[str, str], cases: Sequence[Case], examined: DraftScores) -> None:
        entry = self._entry(candidate)
        entry.passed.update(examined.passed)
        for failure in examined.failures:
            entry.failures.setdefault(failure.case_id, []).append(failure)
        for case in cases:
            here = [passed for (_, case_id), passed in examined.passed.items() if case_id == case.id]
            entry.scores[case.id] = sum(here) / len(here) if here else 0.0

    @staticmethod
    def _key(candidate: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        return tuple(sorted((path, text) for path, text in candidate.items() if text.strip()))
