"""Calls through the metered client without an evaluation around them: what one call does, and what it costs."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import anyio
from inspect_ai.util._concurrency import init_concurrency

from upskill.core.models import Bill, Endpoint, MeteredClient, Purpose, billing
from upskill.core.models.endpoint import CUSTOM
from upskill.core.nouns import Price


def endpoint_at(url: str, *, price: Price | None = None) -> Endpoint:
    return Endpoint(name="any", model=f"{CUSTOM}any", how="", base_url=url, key_required=False, price=price)


@dataclass(frozen=True, kw_only=True)
class Called:
    prompt: str
    bill: Bill
    answer: str | None
    """`None` where there was no answer."""
    seconds: float
    """Waiting for a turn included."""
    ended: float
    """On the clock of `provider.Asked.at`."""


def ask(client: MeteredClient, endpoint: Endpoint, prompts: Sequence[str], *, arm: str | None = None) -> list[Called]:
    """Put all prompts at once; what became of each, in the order in which they ended."""
    called: list[Called] = []

    async def one(prompt: str) -> None:
        began, answer = time.monotonic(), None
        with billing(Purpose(role="student", arm=arm)) as bill:
            try:
                answer = (await model.generate(prompt)).completion
            except Exception as error:  # noqa: BLE001 - the boundary of a trial, as in the engine
                if bill.fault is None:
                    bill.blame("crash", f"{type(error).__name__}: {error}")
        ended = time.monotonic()
        called.append(Called(prompt=prompt, bill=bill, answer=answer, seconds=ended - began, ended=ended))

    async def all_of_them() -> None:
        init_concurrency()  # outside an evaluation the engine keeps the limits of whoever asked first
        async with anyio.create_task_group() as group:
            for prompt in prompts:
                group.start_soon(one, prompt)
        await model.api.aclose()

    model = client.open(endpoint)
    anyio.run(all_of_them)
    return called


def faults(called: Sequence[Called]) -> list[str | None]:
    """The faults of calls that brought no answer."""
    return [one.bill.fault for one in called if one.answer is None]
