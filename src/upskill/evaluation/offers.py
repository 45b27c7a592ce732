"""What an evaluation asks of other plug-ins, if they are there: the work of a teacher, several skills at once."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from upskill.plugin import Offer

if TYPE_CHECKING:
    from upskill.core.models import MeteredClient
    from upskill.core.progress import PricedPlan, Progress
    from upskill.core.settings import ResolvedSettings
    from upskill.evaluation.order import EvaluationOrder
    from upskill.evaluation.report import Report
    from upskill.sandbox import Backend


class WriteMissingCases(Protocol):
    """Lets a teacher write the cases of a skill that has none, and saves them with it."""

    def __call__(
        self,
        order: "EvaluationOrder",
        *,
        settings: "ResolvedSettings",
        progress: "Progress",
        confirm: "Callable[[PricedPlan], bool]",
        client: "MeteredClient",
    ) -> None: ...


class PlanMissingCases(Protocol):
    """Prices the cases that would be written first."""

    def __call__(self, skill: Path, chosen: "ResolvedSettings", *, as_json: bool) -> None: ...


class MeasureTogether(Protocol):
    """Measures several skills alone and beside one another, prints what came out, and gives the exit code."""

    def __call__(
        self,
        skills: Sequence[Path],
        settings: Mapping[str, object],
        *,
        repeats: int | None,
        sandbox: "Backend",
        accept_findings: bool,
        dry_run: bool,
        as_json: bool,
        yes: bool,
        prompts: bool = False,
    ) -> int: ...


class TeachingReport(Protocol):
    """A run of `generate` as it is shown."""

    @property
    def measured(self) -> "Report | None":
        """Its held-out test; `None` where there is none yet."""

    def page(self) -> str:
        """All of it as HTML."""


class ReadTeachingReport(Protocol):
    """Reads a run of `generate`."""

    def __call__(self, run: Path, *, enough: float) -> TeachingReport: ...


WRITE_MISSING_CASES: Offer[WriteMissingCases] = Offer("write missing cases")
PLAN_MISSING_CASES: Offer[PlanMissingCases] = Offer("plan missing cases")
MEASURE_TOGETHER: Offer[MeasureTogether] = Offer("measure skills together")
READ_TEACHING_REPORT: Offer[ReadTeachingReport] = Offer("read the report of a teaching")
