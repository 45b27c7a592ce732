"""Which batches of questions are out at a provider: written down before one is sent, and found by a later process.

The engine gathers questions into batches and collects the answers (`batchers.py`), but forgets a batch when its process
ends. Knows no engine.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from upskill.atomic_file import write_atomically
from upskill.core.models.endpoint import Endpoint
from upskill.errors import EngineError, UsageError

if TYPE_CHECKING:
    from pydantic import TypeAdapter

PROVIDERS = ("openai", "anthropic")
"""Their batches are used; how each names and ends one is in `batchers.py`."""
PRICE_SHARE = 0.5
"""What both ask for an answer in a batch, as a share of the list price."""
MOST_HOURS = 24
"""So long an answer may take at both; what is not answered by then expires, and is not charged."""
MOST_IN_BATCH = 50_000
"""Questions in one batch: what the narrower of the two takes."""


def in_batches(endpoint: Endpoint) -> Endpoint:
    """The endpoint at the price of batches. Raises where its provider has none that are used."""
    provider = endpoint.model.partition("/")[0]
    if provider not in PROVIDERS:
        raise UsageError(
            f"--batch: {endpoint.name} has no batches ({endpoint.how})",
            hint=f"remove --batch, or name a model of {' or '.join(PROVIDERS)}, for example anthropic/NAME",
        )
    if (price := endpoint.price) is None:
        return endpoint
    return replace(
        endpoint,
        price=replace(
            price,
            input_per_million=price.input_per_million * PRICE_SHARE,
            output_per_million=price.output_per_million * PRICE_SHARE,
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class SentBatch:
    """Questions that were, or were about to be, sent together."""

    requests: tuple[str, ...]
    """By their identity, under which the provider hands back the answers."""
    at: float
    """When, in seconds of the clock."""
    file: str | None = None
    """The file with the questions, where the provider has one."""
    id: str | None = None
    """The provider's name for the batch; `None` until it has said so."""


@cache
def _of_sent() -> "TypeAdapter[list[SentBatch]]":
    from pydantic import TypeAdapter  # not for commands that only look

    return TypeAdapter(list[SentBatch])


class BatchLog:
    """`batches.json` of a run folder: every batch of the run, oldest first."""

    def __init__(self, path: Path, *, said: Callable[[str], None] = lambda _: None) -> None:
        """`said` hears of each batch that is sent or found again. Raises `EngineError` for a damaged file."""
        self._path = path
        self.said = said
        try:
            self._sent = _of_sent().validate_json(path.read_bytes()) if path.exists() else []
        except (ValueError, OSError) as error:
            raise EngineError(
                f"{path}: cannot be read ({error})",
                hint="batches that are out would be bought again; put the file back, or start a new run",
            ) from None

    def holding(self, request: str) -> Iterator[SentBatch]:
        """The batches with this question, newest first."""
        return (sent for sent in reversed(self._sent) if request in sent.requests)

    def keep(self, sent: SentBatch, *, after: SentBatch | None = None) -> None:
        """Write a batch down, in the place of what was known of it before."""
        self._sent = [one for one in self._sent if one is not after] + [sent]
        self._write()

    def drop(self, sent: SentBatch) -> None:
        """Forget a batch that was never made."""
        self._sent = [one for one in self._sent if one is not sent]
        self._write()

    def knows(self, batch_id: str) -> bool:
        """Whether a batch of this name is one of the run."""
        return any(sent.id == batch_id for sent in self._sent)

    def _write(self) -> None:
        write_atomically(self._path, _of_sent().dump_json(self._sent, indent=1).decode() + "\n", mode=0o600)


@dataclass(frozen=True, kw_only=True, slots=True)
class Batching:
    """How the questions of one student are asked in batches."""

    log: BatchLog
    in_flight: Callable[[], int]
    """Answers that are waited for: a batch is sent once every one of them is asked for."""
