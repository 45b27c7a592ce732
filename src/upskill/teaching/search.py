"""Search over revisions of a skill's files with gepa: several lines of revision are kept, each good at something.

gepa chooses which draft to revise and on which learn cases; the edits come from `revise`, and the trials from whoever
hands over `examine`. The budget is held here, in trials, and never exceeded. gepa writes no file and prints nothing.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from upskill.domain import Case, Draft
from upskill.errors import EngineError, UpskillError
from upskill.models import NoAnswer
from upskill.teaching.answers import TeacherUnusable
from upskill.teaching.edits import texts_of, with_texts
from upskill.teaching.failures import Failure
from upskill.teaching.revising import Revise

if TYPE_CHECKING:
    from gepa.core.adapter import EvaluationBatch

MINIBATCH = 3
"""A revision is tried on so many learn cases first, and on all of them only if it did better there."""
PROPOSALS_PER_REVISION = 4
"""Most of a search's revisions cost three trials instead of ten, so that many more can be tried."""
MOST_VAIN = 3
"""After so many proposals in a row that changed nothing, or could not be used, the search ends."""
_MOST_ITERATIONS = 200

_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True, slots=True)
class DraftScores:
    """How a draft did on some learn cases, with every student."""

    passed: Mapping[tuple[str, str], bool]
    """By student and case; what errored is missing."""
    failures: tuple[Failure, ...] = ()
    trials: int = 0
    """What it took of the budget."""
    cut_short: str | None = None
    """Why nothing more can be examined, in words."""


Examine = Callable[[Draft, Sequence[Case]], DraftScores]


@dataclass(frozen=True, kw_only=True, slots=True)
class Budget:
    """What a search may take: trials with the skill, and questions to the teacher."""

    trials: int
    proposals: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Candidate:
    """A draft that was examined on every learn case."""

    draft: Draft
    examined: DraftScores


@dataclass(frozen=True, kw_only=True, slots=True)
class SearchResult:
    """What a search came to. The drafts in the order they were found; the first is the one it began with."""

    candidates: tuple[Candidate, ...]
    proposals: int
    trials: int
    stopped: str


def search(
    draft: Draft,
    cases: Sequence[Case],
    examine: Examine,
    revise: Revise,
    *,
    known: DraftScores,
    budget: Budget,
    seed: int = 0,
) -> SearchResult:
    """Search from a draft whose examination on all cases is `known`. Raises what `examine` and `revise` raise."""
    # Imported here: only this search needs it, and the command line must start at once.
    from gepa.api import optimize

    adapter = _Adapter(draft, cases, examine, revise, known=known, budget=budget)
    if not adapter.should_stop():
        optimize(
            seed_candidate=texts_of(draft),
            trainset=list(cases),
            adapter=adapter,  # type: ignore[arg-type]  # its protocol wants an attribute where a method will do
            module_selector="all",
            reflection_minibatch_size=min(MINIBATCH, len(cases)),
            stop_callbacks=lambda _: adapter.should_stop(),
            logger=_Quiet(),
            track_best_outputs=False,
            seed=seed,
            raise_on_exception=True,
        )
    return adapter.result()


class _Quiet:
    """gepa's own words: for a debug log only."""

    def log(self, message: str) -> None:
        _log.debug("gepa: %s", message)


@dataclass(slots=True)
class _Known:
    """What is known of one candidate."""

    draft: Draft
    scores: dict[str, float] = field(default_factory=dict)
    passed: dict[tuple[str, str], bool] = field(default_factory=dict)
    failures: dict[str, list[Failure]] = field(default_factory=dict)


class _Adapter:
    """What gepa calls. Nothing is examined twice, and nothing beyond the budget."""

    def __init__(
        self,
        draft: Draft,
        cases: Sequence[Case],
        examine: Examine,
        revise: Revise,
        *,
        known: DraftScores,
        budget: Budget,
    ) -> None:
        self._draft, self._cases, self._examine, self._revise = draft, tuple(cases), examine, revise
        self._left, self._proposals_left = budget.trials, budget.proposals
        self._students = max(1, len({student for student, _ in known.passed}))
        self._known: dict[tuple[tuple[str, str], ...], _Known] = {}
        self._spent = self._proposed = self._vain = self._iterations = 0
        self._stopped: str | None = None
        self._error: UpskillError | NoAnswer | None = None
        self._proposing = False
        self._note(texts_of(draft), self._cases, known)

    # -- what gepa asks for

    def evaluate(
        self, batch: list[Case], candidate: dict[str, str], capture_traces: bool = False
    ) -> "EvaluationBatch[str, None]":
        """Scores per case: the share of students that passed."""
        from gepa.core.adapter import EvaluationBatch

        entry = self._entry(candidate)
        missing = [case for case in dict.fromkeys(case.id for case in batch) if case not in entry.scores]
        wanted = [case for case in self._cases if case.id in missing]
        if wanted and self._stopped is None:
            examined = self._examine(entry.draft, wanted)
            self._spent += examined.trials
            self._left -= examined.trials
            self._note(candidate, wanted, examined)
            self._stopped = examined.cut_short
        return EvaluationBatch(
            outputs=[None for _ in batch],
            scores=[entry.scores.get(case.id, 0.0) for case in batch],
            trajectories=[case.id for case in batch] if capture_traces else None,
        )

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: "EvaluationBatch[str, None]", components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Which cases to look at; what happened on them is known here."""
        cases = [{"case": case_id} for case_id in dict.fromkeys(eval_batch.trajectories or [])]
        return dict.fromkeys(components_to_update, cases)

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Edits of a candidate, as the texts they change; nothing where the teacher had none.

        gepa would swallow an error here and ask again, so none leaves: it is kept, the search stops, and it is raised
        when gepa has ended. What is no error of ours is told by `_proposing`, which stays set.
        """
        if self._proposing or self._error is not None:
            return {}
        self._proposing = True
        self._proposed += 1
        entry = self._entry(candidate)
        shown = [record["case"] for records in reflective_dataset.values() for record in records]
        failures = [one for case_id in dict.fromkeys(shown) for one in entry.failures.get(case_id, ())]
        changed: dict[str, str] = {}
        try:
            revision = self._revise(entry.draft, failures, may_add=False)
            changed = {path: text for path, text in texts_of(revision.draft).items() if candidate.get(path) != text}
            gone = {path: "" for path in candidate if path not in texts_of(revision.draft)}
            changed |= gone
            if self._key({**candidate, **changed}) in self._known:
                changed = {}
        except TeacherUnusable as unusable:
            _log.info("a proposal could not be used: %s", unusable.message)
        except (UpskillError, NoAnswer) as error:
            self._error = error
        self._proposing = False
        self._vain = 0 if changed else self._vain + 1
        return changed

    def should_stop(self) -> bool:
        """Asked before every proposal: a revision that did better on a few cases must be affordable on all."""
        self._iterations += 1
        if self._stopped is None:
            self._stopped = self._reason()
        return self._stopped is not None

    def _reason(self) -> str | None:
        if self._error is not None or self._proposing or self._iterations > _MOST_ITERATIONS:
            return "the search could not go on"
        if any(all(entry.passed.values()) for entry in self._complete()):
            return "every learn case passes"
        if self._left < len(self._cases) * self._students or self._proposed >= self._proposals_left:
            return "the budget of the search is used up"
        if self._vain >= MOST_VAIN:
            return "the teacher had nothing new to propose"
        return None

    # -- what is known

    def result(self) -> SearchResult:
        """What was found, or the error that ended the search."""
        if self._error is not None:
            raise self._error
        if self._proposing:
            raise EngineError("the search failed while a revision was made", hint="see the debug log, or --effort low")
        return SearchResult(
            candidates=tuple(
                Candidate(
                    draft=entry.draft,
                    examined=DraftScores(
                        passed=dict(entry.passed),
                        failures=tuple(one for failures in entry.failures.values() for one in failures),
                    ),
                )
                for entry in self._complete()
            ),
            proposals=self._proposed,
            trials=self._spent,
            stopped=self._stopped or "the search ended",
        )

    def _complete(self) -> list[_Known]:
        return [entry for entry in self._known.values() if all(case.id in entry.scores for case in self._cases)]

    def _entry(self, candidate: Mapping[str, str]) -> _Known:
        key = self._key(candidate)
        if key not in self._known:
            self._known[key] = _Known(with_texts(self._draft, candidate))
        return self._known[key]

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
