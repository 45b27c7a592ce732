"""A student: which model, where it is served, and how it is asked."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Price:
    """Dollars per million tokens. A model without a known price has `None` in place of this."""

    input_per_million: float
    output_per_million: float

    def of(self, *, input_tokens: int, output_tokens: int) -> float:
        """The price in dollars of one call."""
        return (input_tokens * self.input_per_million + output_tokens * self.output_per_million) / 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Student:
    """The model whose ability is measured, with everything that could change its answers."""

    name: str
    """What the person typed; shown in every table."""
    model: str
    """The exact model id, `provider/name` as the engine spells it."""
    endpoint: str | None = None
    """The base URL where it is not the provider's own."""
    temperature: float | None = None
    max_output_tokens: int | None = None
    price: Price | None = None
