"""When no verdict may be given: too many errors, or errors that fell on one arm."""

from upskill.measuring.fisher import fisher_greater
from upskill.measuring.pairs import Pairing

MOST_DROPPED = 0.20
"""A larger share of dropped pairs is no random loss any more."""


def reason_to_refuse(pairing: Pairing) -> str | None:
    """Why these pairs allow no verdict, in words; `None` if they do."""
    seen = len(pairing.pairs) + pairing.dropped
    if seen == 0:
        return "no pair was run"
    if not pairing.pairs:
        return f"all {seen} pairs were dropped because an answer errored"
    if pairing.dropped / seen > MOST_DROPPED:
        return f"{pairing.dropped} of {seen} pairs were dropped because an answer errored"
    more, fewer = sorted((pairing.errored, pairing.errored_against), reverse=True)
    if fisher_greater(more, seen, fewer, seen) < 0.05:
        against = pairing.against.replace("_", " ")
        return f"errors fell on one side: {pairing.errored_against} in {against}, {pairing.errored} with the skill"
    return None
