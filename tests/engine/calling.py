"""Calls through the door without an evaluation around them: what one call does, and what it costs."""

from collections.abc import Sequence

import anyio

from upskill.domain import Price
from upskill.models import Bill, Door, Endpoint, Purpose, billing
from upskill.models.endpoint import CUSTOM


def endpoint_at(url: str, *, price: Price | None = None) -> Endpoint:
    """A model at a loopback provider."""
    return Endpoint(name="any", model=f"{CUSTOM}any", how="", base_url=url, key_required=False, price=price)


def ask(
    door: Door, endpoint: Endpoint, prompts: Sequence[str], *, arm: str | None = None
) -> list[tuple[Bill, str | None]]:
    """Put all prompts at once; the bill of each, and its answer where there is one."""
    asked: list[tuple[Bill, str | None]] = []

    async def one(prompt: str) -> None:
        with billing(Purpose(role="student", arm=arm)) as bill:
            try:
                output = await model.generate(prompt)
            except Exception as error:  # noqa: BLE001 - the boundary of a trial, as in the engine
                if bill.fault is None:
                    bill.blame("crash", f"{type(error).__name__}: {error}")
                asked.append((bill, None))
            else:
                asked.append((bill, output.completion))

    async def all_of_them() -> None:
        async with anyio.create_task_group() as group:
            for prompt in prompts:
                group.start_soon(one, prompt)
        await model.api.aclose()

    model = door.open(endpoint)
    anyio.run(all_of_them)
    return asked


def faults(asked: Sequence[tuple[Bill, str | None]]) -> list[str | None]:
    """The faults of calls that brought no answer."""
    return [bill.fault for bill, answer in asked if answer is None]
