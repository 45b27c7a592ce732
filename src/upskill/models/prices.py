"""Prices and windows from genai-prices. What is not known there is `None`, never 0."""

import importlib.metadata
import tomllib
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

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
    return _bundled().get((provider, model)) or ask_library(model, provider=provider)


@cache
def _bundled() -> dict[tuple[str, str], Listing]:
    """What the library of this very version says of the models with short names; empty beside any other version."""
    listed: dict[str, Any] = tomllib.loads(
        files("upskill.models").joinpath("aliases.toml").read_text(encoding="utf-8")
    )["listed"]
    try:
        if importlib.metadata.version("genai-prices") != listed.pop("version"):
            return {}
    except importlib.metadata.PackageNotFoundError:
        return {}
    return {
        (provider, model): Listing(
            Price(input_per_million=row["input"], output_per_million=row["output"]), row["window"]
        )
        for provider, models in listed.items()
        for model, row in models.items()
    }


@cache
def ask_library(model: str, *, provider: str) -> Listing:
    """What the price list itself says; loading it takes most of a second."""
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
