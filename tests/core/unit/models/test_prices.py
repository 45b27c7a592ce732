"""Prices: what is not known is `None`, never 0."""

import pytest

from upskill.core.models import resolve_model
from upskill.core.models.endpoint import built_in_aliases
from upskill.core.models.prices import UNKNOWN, _bundled, ask_library, look_up


@pytest.mark.parametrize("alias", ["opus", "sonnet", "haiku"])
def test_a_known_model_has_a_price_and_a_window(alias: str) -> None:
    provider, _, model = built_in_aliases()[alias].partition("/")
    listing = look_up(model, provider=provider)
    assert listing.price is not None
    assert 0 < listing.price.input_per_million < listing.price.output_per_million < 1_000
    assert listing.window is None or listing.window >= 100_000


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("no-such-model-at-all", "anthropic"),
        ("no-such-model-at-all", "openai"),
        ("claude-haiku-5-5", "no-such-provider"),
        ("claude-haiku-5-5", None),
        ("", "openai"),
        ("x\ud800", "openai"),
    ],
)
def test_what_the_list_does_not_hold_is_unknown(model: str, provider: str | None) -> None:
    assert look_up(model, provider=provider) == UNKNOWN == (None, None)


@pytest.mark.parametrize(
    "name",
    ["org/name", "hf/org/name", "hf/org/name:nebius", "kimi", "ollama/llama3.2", "sambanova/x", "openai/no-such-model"],
)
def test_an_unknown_price_is_none_and_not_zero(name: str) -> None:
    assert resolve_model(name).price is None


def test_a_price_is_per_million_tokens() -> None:
    price = look_up(built_in_aliases()["haiku"].partition("/")[2], provider="anthropic").price
    assert price is not None
    assert price.of(input_tokens=1_000_000, output_tokens=0) == pytest.approx(price.input_per_million)
    assert price.of(input_tokens=0, output_tokens=1_000_000) == pytest.approx(price.output_per_million)
    assert price.of(input_tokens=0, output_tokens=0) == 0.0


def test_prices_that_are_kept_are_those_of_the_list_and_never_change_with_the_day() -> None:
    from genai_prices import Usage, calc_price
    from genai_prices.types import ModelPrice

    assert {f"{provider}/{model}" for provider, model in _bundled()} == {
        name for name in built_in_aliases().values() if not name.startswith("hf/")
    }, "the version in aliases.toml is not the one installed, or a short name was added"
    for (provider, model), listing in _bundled().items():
        assert listing == ask_library(model, provider=provider)
        found = calc_price(Usage(input_tokens=1), model, provider_id=provider)
        assert isinstance(found.model.prices, ModelPrice), "a price that depends on the date must not be kept"
