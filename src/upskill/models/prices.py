"""Prices and windows from genai-prices. What is not known there is `None`, never 0."""

from typing import NamedTuple

from upskill.domain import Price

_TOKENS = 1_000


class Listing(NamedTuple):
    """What the price list says of a model."""

    price: Price | None
    window: int | None


UNKNOWN = Listing(None, None)


def look_up(model: str, *, provider: str | None) -> Listing:
    """The list price of a model at a provider, for prompts of ordinary length. Cached input is priced in full."""
    if provider is None:
        return UNKNOWN
    from genai_prices import Usage, calc_price

    try:
        one_in = calc_price(Usage(input_tokens=_TOKENS), model, provider_id=provider)
        one_out = calc_price(Usage(output_tokens=_TOKENS), model, provider_id=provider)
    except LookupError:
        return UNKNOWN
    if one_in.model_price.input_mtok is None or one_out.model_price.output_mtok is None:
        return Listing(None, one_in.model.context_window)
    per_million = 1_000_000 / _TOKENS
    price = Price(
        input_per_million=float(one_in.total_price) * per_million,
        output_per_million=float(one_out.total_price) * per_million,
    )
    return Listing(price, one_in.model.context_window)
