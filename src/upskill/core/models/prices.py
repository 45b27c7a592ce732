"""Prices and windows from genai-prices. What is not known there is `None`, never 0."""

import importlib.metadata
import json
import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from upskill import disk
from upskill.core.nouns import Price

if TYPE_CHECKING:
    from inspect_ai.model import ChatMessage, ModelOutput
    from inspect_ai.tool import ToolInfo


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
    listed: dict[str, Any] = tomllib.loads(disk.packaged("upskill.core.models", "aliases.toml"))["listed"]
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


MOST_TOKENS = 10**9
"""More tokens than any answer has: whoever reports so many has reported nothing."""


def reported_tokens(output: "ModelOutput") -> tuple[int, int] | None:
    """Tokens in and out as the provider counted them; `None` where it did not, or not in earnest."""
    usage = output.usage
    if usage is None:
        return None
    sent = usage.input_tokens + (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    written = usage.output_tokens
    return (sent, written) if sent >= 0 and written >= 0 and 0 < sent + written <= MOST_TOKENS else None


def bytes_of_input(messages: "list[ChatMessage]", tools: "list[ToolInfo]") -> int:
    """Bytes of UTF-8 that a model is given to read; pictures and the like are not in it."""
    texts = [message.text for message in messages]
    calls = [call for message in messages for call in getattr(message, "tool_calls", None) or ()]
    texts += [json.dumps(call.arguments, default=str) for call in calls]
    return sum(map(_size, texts)) + sum(len(tool.model_dump_json()) for tool in tools)


def bytes_of_output(output: "ModelOutput") -> int:
    """Bytes of UTF-8 that a model wrote, its thinking and its tool calls included."""
    size = 0
    for choice in output.choices:
        content = choice.message.content
        size += _size(choice.message.text)
        if not isinstance(content, str):
            size += sum(_size(str(getattr(part, "reasoning", ""))) for part in content)
        size += sum(_size(json.dumps(call.arguments, default=str)) for call in choice.message.tool_calls or ())
    return size


def _size(text: str) -> int:
    return len(text.encode("utf-8", "replace"))
