"""Workers that share a provider's rate limit, each with its part of it and without talking to each other.

Prints a table: `python -m benchmarks.rate_limits [--workers 4] [--seconds 60]`. A provider on loopback refuses what is
over its limit within a sliding window: of one second, stricter than providers are, and of ten. Last, a whole sweep as
a person runs it, from its first request to its last, with the time between evaluations.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from counted_sweep import CountedSweep
from provider import Behaviour, Provider, RateLimited, ReceivedRequest
from sweep.engine.paced_workers import Shared, share
from upskill.core.models.retrying import USED_SHARE, RateLimit

REQUESTS_PER_SECOND = 12
TOKENS_PER_SECOND = 1_200
SIZES = (10, 50, 200, 140)
"""Output tokens, 100 on average."""
LATENCY_SECONDS = 0.3
CASES, REPEATS = 10, 2
HEAD = """\
| limit | window | kept by us | requests | refused | of 0.9 x limit used |
|---|--:|---|--:|--:|--:|"""


def answer(asked: ReceivedRequest) -> Behaviour:
    """An answer of one of the sizes, by turns."""
    return Behaviour(text="x" * (4 * SIZES[asked.number % len(SIZES)] - 4), latency=LATENCY_SECONDS)


def measure(*, tokens: bool, window: float, workers: int, seconds: float, kept: bool) -> Shared:
    """So many workers at one limit, on output tokens or on requests; without `kept` they do not know of it."""
    if tokens:
        provider = RateLimited(seconds=window, tokens=window * TOKENS_PER_SECOND, answer=answer)
        limit = RateLimit(output_tokens_per_minute=60 * TOKENS_PER_SECOND)
    else:
        provider = RateLimited(seconds=window, requests=window * REQUESTS_PER_SECOND, answer=answer)
        limit = RateLimit(requests_per_minute=60 * REQUESTS_PER_SECOND)
    calls = round(1.5 * seconds * REQUESTS_PER_SECOND / workers)
    return share(provider, [limit.share(workers) if kept else None] * workers, seconds=seconds, calls=calls)


def measure_sweep(*, window: float, workers: int, seconds: float) -> Shared:
    """A sweep of as many evaluations as take about so long at the limit on requests."""
    skills = round(seconds * REQUESTS_PER_SECOND * USED_SHARE / (2 * CASES * REPEATS))
    limit = {"limits.any.requests_per_minute": 60 * REQUESTS_PER_SECOND}
    with tempfile.TemporaryDirectory() as name:
        sweep = CountedSweep(
            Path(name), skills=skills, cases=CASES, runs=REPEATS, latency=LATENCY_SECONDS, concurrency=8, **limit
        )
        limited = RateLimited(seconds=window, requests=window * REQUESTS_PER_SECOND, answer=sweep.behave)
        with Provider(limited) as provider:
            sweep.plan(provider.url)
            out, err = sweep.start("-j", str(workers)).communicate()
        assert json.loads(out), err
        sweep.require_whole()
    return Shared.seen_by(limited, unanswered=0)


def row(shared: Shared, *, tokens: bool, window: float, seconds: float, kept: bool) -> str:
    """A line of the table."""
    limit, used = (TOKENS_PER_SECOND, shared.tokens) if tokens else (REQUESTS_PER_SECOND, shared.accepted)
    what, sent = "output tokens" if tokens else "requests", shared.accepted + shared.refused
    return (
        f"| {limit:,} {what} a second | {window:g} s | {'yes' if kept else 'no'} | {sent:,} "
        f"| {shared.refused:,} ({shared.refusals:.1%}) | {used / seconds / limit / USED_SHARE:.0%} |"
    )


def main() -> None:
    """Measure each kind of limit, and what happens to those who keep none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=60.0)
    options = parser.parse_args()
    print(HEAD, flush=True)
    for tokens, window, kept in (
        (False, 10.0, True),
        (True, 10.0, True),
        (False, 1.0, True),
        (False, 10.0, False),
    ):
        shared = measure(tokens=tokens, window=window, workers=options.workers, seconds=options.seconds, kept=kept)
        print(row(shared, tokens=tokens, window=window, seconds=options.seconds, kept=kept), flush=True)
    shared = measure_sweep(window=10.0, workers=options.workers, seconds=options.seconds)
    print(row(shared, tokens=False, window=10.0, seconds=shared.seconds, kept=True).replace("yes", "yes, in a sweep"))


if __name__ == "__main__":
    main()
