"""When the next request to an endpoint may leave, so that a provider's rate limit is kept. Has no clock, sends nothing.

Requests leave evenly spaced, and never in a burst: workers that share a limit do not know of each other. How long an
answer will be is known only when it has come: a request reserves the output tokens of a mean answer, and what its own
answer used more or less moves the next request.
"""

from dataclasses import dataclass

from upskill.domain.rate_limit import RateLimit

LATE_SECONDS = 0.1
"""So much of what a late timer or a busy event loop costs is made good. More would leave as a burst."""
FIRST_SHARE = 0.25
"""Of the longest answer: expected until the first has come."""
LONGEST_ANSWER = 2_048
"""Tokens, where nobody limits an answer."""


@dataclass(slots=True)
class Pace:
    """The pace of one endpoint. Moments are seconds on any clock that does not go back."""

    limit: RateLimit
    longest_answer: int = LONGEST_ANSWER
    _request_at: float = float("-inf")
    """When the limit on requests allows the next one."""
    _tokens_at: float = float("-inf")
    """When the limit on output tokens allows it."""
    _answers: int = 0
    _tokens: int = 0

    def seconds_until_next(self, now: float) -> float:
        """Until the next request may leave; 0 where it may."""
        return max(0.0, self._request_at - now, self._tokens_at - now)

    def send(self, now: float) -> float:
        """A request leaves now. The output tokens that are reserved for it."""
        expected = self.expected_tokens
        if requests := self.limit.requests_per_minute:
            self._request_at = max(self._request_at, now - LATE_SECONDS) + 60 / requests
        if tokens := self.limit.output_tokens_per_minute:
            needed = expected * 60 / tokens
            # Answers are longer and shorter in turn: what short ones left is kept, as much as one answer needs.
            kept = max(LATE_SECONDS, needed) if self._answers else LATE_SECONDS
            self._tokens_at = max(self._tokens_at, now - kept) + needed
        return expected

    def answered(self, reserved: float, tokens: int) -> None:
        """The answer to a request came, with so many output tokens."""
        self._answers += 1
        self._tokens += tokens
        self._correct(tokens - reserved)

    def refused(self, reserved: float) -> None:
        """A request was turned away before an answer began."""
        self._correct(-reserved)

    @property
    def expected_tokens(self) -> float:
        """Of the next answer."""
        return self._tokens / self._answers if self._answers else self.longest_answer * FIRST_SHARE

    def _correct(self, tokens: float) -> None:
        if limit := self.limit.output_tokens_per_minute:
            self._tokens_at += tokens * 60 / limit
