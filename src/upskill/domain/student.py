"""A student: which model, where it is served, and how it is asked."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Dollars per million tokens."""

    input_per_million: float
    output_per_million: float

    def of(self, *, input_tokens: int, output_tokens: int) -> float:
        """The price in dollars of one call."""
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Student:
    """A model that is measured, with everything that can change its answers."""

    name: str
    """The name as typed, shown in every table."""
    model: str
    """The exact model id, `provider/name`, in the engine's spelling."""
    endpoint: str | None = None
    """The base URL, if it is not the provider's own."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    price: Price | None = None
