"""Processes that share a provider's rate limit without talking to each other, as the workers of a sweep do."""

import multiprocessing
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Self

from calling import ask, endpoint_at
from provider import Provider, RateLimited
from upskill.core.models import Budget, CallPolicy, MeteredClient
from upskill.core.models.retrying import RateLimit


@dataclass(frozen=True, kw_only=True)
class Shared:
    """What the provider saw."""

    accepted: int
    tokens: int
    refused: int
    seconds: float
    """From the first request to the last."""
    unanswered: int
    """Calls that were begun and given up for another reason than the end of the time."""

    @classmethod
    def seen_by(cls, limited: RateLimited, *, unanswered: int) -> Self:
        moments = sorted([at for at, _ in limited.accepted] + limited.refused)
        return cls(
            accepted=len(limited.accepted),
            tokens=sum(tokens for _, tokens in limited.accepted),
            refused=len(limited.refused),
            seconds=moments[-1] - moments[0],
            unanswered=unanswered,
        )

    @property
    def refusals(self) -> float:
        """The share of requests that was refused."""
        return self.refused / (self.accepted + self.refused)


def share(
    limited: RateLimited, limits: Sequence[RateLimit | None], *, seconds: float, calls: int, concurrency: int = 8
) -> Shared:
    """One process for each limit, all begun together, each with so many calls: more than there is time for."""
    with Provider() as provider:
        # What the engine loads with its first call takes seconds of CPU: here once, instead of in every process.
        ask(MeteredClient(), endpoint_at(provider.url), ["Are you there?"])
    # Children are made while there are no threads: a fork would copy locks that nobody opens any more.
    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe() for _ in limits]
    children = [
        context.Process(target=_work, args=(there, limit, seconds, calls, concurrency), daemon=True)
        for (_, there), limit in zip(pipes, limits, strict=True)
    ]
    for child in children:
        child.start()
    with Provider(limited) as provider:
        provider.keep_requests = False
        for here, _ in pipes:
            assert _told(here, seconds=60) == "ready"
        for here, _ in pipes:
            here.send(provider.url)
        unanswered = sum(_told(here, seconds=seconds + 120) for here, _ in pipes)
        for child in children:
            child.join(20)
    for here, there in pipes:
        here.close()
        there.close()
    return Shared.seen_by(limited, unanswered=unanswered)


def _told(pipe: Connection, *, seconds: float) -> Any:
    assert pipe.poll(seconds), "a process ended, or hangs"
    return pipe.recv()


def _work(pipe: Connection, limit: RateLimit | None, seconds: float, calls: int, concurrency: int) -> None:
    client = MeteredClient(
        policy=CallPolicy(concurrency=concurrency),
        budget=Budget(max_seconds=seconds),
        limits={} if limit is None else {"any": limit},
    )
    pipe.send("ready")
    asked = ask(client, endpoint_at(pipe.recv()), [f"Question {number}?" for number in range(calls)])
    pipe.send(sum(one.answer is None and one.bill.fault != "budget" for one in asked))
