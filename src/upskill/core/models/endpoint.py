"""Where a model is served and what is needed to reach it: from what a person types to an endpoint, in one order.

An endpoint holds the name of a key's variable, never the key. The order:

1. `scripted/<file>`: a script instead of a model; `handoff` or `handoff/<folder>`: files instead of a model;
2. any name at all when a base URL is given: an OpenAI-compatible server (llama.cpp, Ollama, vLLM);
3. an alias: the person's own, then the built-in ones;
4. `hf/org/name`: Hugging Face Inference Providers;
5. `provider/model` for a known provider, or `ollama/model` for Ollama on this machine;
6. `org/name`: Hugging Face Inference Providers.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from upskill import disk
from upskill.core.models.prices import UNKNOWN, look_up
from upskill.core.nouns import Price
from upskill.core.nouns.text import on_one_line
from upskill.core.settings import Origin, Settings, without_secrets
from upskill.errors import UsageError


class Provider(NamedTuple):
    """What has to be there before a provider can be used."""

    key_variables: tuple[str, ...]
    package: str | None = None
    prices: str | None = None
    """The provider's name in the price list."""


PROVIDERS: dict[str, Provider] = {
    "anthropic": Provider(("ANTHROPIC_API_KEY",), prices="anthropic"),
    "openai": Provider(("OPENAI_API_KEY",), prices="openai"),
    "google": Provider(("GOOGLE_API_KEY", "GEMINI_API_KEY"), "google-genai", "google"),
    "grok": Provider(("XAI_API_KEY", "GROK_API_KEY"), "xai-sdk", "x-ai"),
    "mistral": Provider(("MISTRAL_API_KEY",), "mistralai", "mistral"),
    "groq": Provider(("GROQ_API_KEY",), "groq", "groq"),
    "deepseek": Provider(("DEEPSEEK_API_KEY",), prices="deepseek"),
    "fireworks": Provider(("FIREWORKS_API_KEY",), prices="fireworks"),
    "moonshot": Provider(("MOONSHOT_API_KEY",), prices="moonshotai"),
    "openrouter": Provider(("OPENROUTER_API_KEY",), prices="openrouter"),
    "perplexity": Provider(("PERPLEXITY_API_KEY",), prices="perplexity"),
    "sambanova": Provider(("SAMBANOVA_API_KEY",)),
    "together": Provider(("TOGETHER_API_KEY",), prices="together"),
}

LOCAL_SERVERS = {"ollama": "http://localhost:11434/v1"}
"""Servers that people run themselves and name like a provider, with the address they listen on."""

HUGGING_FACE = Provider(("HF_TOKEN",))


ENDPOINT_KEY = "UPSKILL_ENDPOINT_KEY"
"""The only key that is ever sent to a student's endpoint given by a base URL."""

TEACHER_KEY = "UPSKILL_TEACHER_KEY"
"""Sent to a teacher's endpoint given by a base URL, and to nobody else."""

CUSTOM = "openai-api/endpoint/"
"""How the engine's name of a model at a base URL begins."""
_HUGGING_FACE_ENGINE = "hf-inference-providers"
_ENGINE_URL = "INSPECT_EVAL_MODEL_BASE_URL"
"""The engine sends requests for any provider there, with the provider's key."""
_OTHER_VARIABLES = {"grok": ("XAI_BASE_URL",)}
HANDOFF = "handoff"


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A model name, resolved."""

    name: str
    """What the person typed."""
    model: str
    """The engine's name for it, `provider/model`."""
    how: str
    """Why it resolved this way, in words for a person."""
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    """Variables any of which may hold the key; empty when none is needed."""
    key_required: bool = True
    package: str | None = None
    """A Python package the provider needs, where it does not come with upskill."""
    price: Price | None = None
    window: int | None = None
    """Tokens of prompt and answer together; `None` if unknown."""
    folder: str | None = None
    """The folder of a hand-off, absolute; `None` for the one in the run folder."""
    url_origin: Origin | None = None
    """Where the base URL comes from, if it was not typed with the command."""
    alias_origin: Origin | None = None
    """Where the alias comes from that the name was replaced by, if it is not a built-in one."""

    def key_variable(self, environment: Mapping[str, str] | None = None) -> str | None:
        """The variable that holds the key to be sent; `None` if none of them does, or if none may be sent."""
        return None if self._is_withheld else self._variable_set(environment)

    @property
    def withheld_key(self) -> str | None:
        """The variable that holds a key which is not sent, since nobody trusted the file that names the server."""
        return self._variable_set(None) if self._is_withheld else None

    @property
    def _is_withheld(self) -> bool:
        return self.url_origin is not None and not self.url_origin.keys

    def _variable_set(self, environment: Mapping[str, str] | None) -> str | None:
        environment = os.environ if environment is None else environment
        return next((name for name in self.key_variables if environment.get(name, "").strip()), None)

    def key(self) -> str | None:
        """The key that is set now. Sent to this endpoint, and never kept."""
        name = self.key_variable()
        return None if name is None else os.environ[name].strip()

    @property
    def is_custom(self) -> bool:
        """Whether a person named the server, by --base-url, instead of a provider."""
        return self.model.startswith(CUSTOM)

    @property
    def is_scripted(self) -> bool:
        return self.model.startswith("scripted/")

    @property
    def is_handoff(self) -> bool:
        """Whether questions are written to files, for somebody to answer."""
        return self.model == HANDOFF


@cache
def built_in_aliases() -> Mapping[str, str]:
    """The dated table that ships with the package."""
    aliases: dict[str, str] = tomllib.loads(disk.packaged("upskill.core.models", "aliases.toml"))["aliases"]
    return aliases


def resolve_model(
    name: str,
    *,
    base_url: str | None = None,
    aliases: Mapping[str, str] | None = None,
    url_origin: Origin | None = None,
    alias_origin: Origin | None = None,
) -> Endpoint:
    """Resolve one name. Raises `UsageError` when nothing could serve it; looks at no network and no key.

    The origins say where `base_url` and `aliases` come from, if they were not typed.
    """
    typed = name
    name = name.strip()
    if not name:
        raise UsageError("a model needs a name", hint="for example -m haiku, or -m NAME --base-url URL")
    if (instead := _no_model(typed, name)) is not None:
        return instead
    if base_url is not None:
        return _at_base_url(typed, name, base_url, origin=url_origin)
    table = {**built_in_aliases(), **(aliases or {})}
    how = ""
    if name in table:
        own = aliases is not None and name in aliases
        how = f"{'your' if own else 'built-in'} alias for {table[name]}; "
        endpoint = _known_model(typed, table[name], how, table)
        return replace(endpoint, alias_origin=alias_origin) if own else endpoint
    return _known_model(typed, name, how, table)


def _known_model(typed: str, name: str, how: str, table: Mapping[str, str]) -> Endpoint:
    if (instead := _no_model(typed, name)) is not None:  # an alias may stand for one
        return instead
    provider, _, model = name.partition("/")
    if provider == "hf" and all(model.partition("/")[::2]):
        return _hugging_face(typed, model, how)
    if provider in LOCAL_SERVERS and model:
        return _at_local_server(typed, provider, model)
    if provider in PROVIDERS and model:
        return _at_provider(typed, provider, model, how)
    if provider not in ("", "hf") and model and "/" not in model:
        return _hugging_face(typed, name, how)
    raise _unknown(typed, name, table)


def _no_model(typed: str, name: str) -> Endpoint | None:
    """What answers instead of a model: a script or a hand-off; `None` for a model."""
    if name.startswith("scripted/"):
        return _scripted(typed, name)
    kind, _, folder = name.partition("/")
    if kind != HANDOFF:
        return None
    # Named without its folder: the name goes into skills, and a path of this machine must not.
    return Endpoint(
        name=HANDOFF,
        model=HANDOFF,
        how="questions are written to files; a person or a coding agent answers them",
        key_required=False,
        folder=str(Path(folder).expanduser().absolute()) if folder else None,
    )


def _scripted(typed: str, name: str) -> Endpoint:
    return Endpoint(
        name=typed,
        model=name,
        how="a scripted model",
        key_required=False,
        price=Price(input_per_million=0.0, output_per_million=0.0),
    )


def _at_local_server(typed: str, provider: str, model: str) -> Endpoint:
    """Where such servers listen anybody on this machine could: a key goes there only if a variable names the URL."""
    variable = f"{provider.upper()}_BASE_URL"
    if url := os.environ.get(variable, "").strip():
        return _at_base_url(typed, model, url, origin=Origin(where=variable))
    return replace(_at_base_url(typed, model, LOCAL_SERVERS[provider]), key_variables=())


def _at_base_url(typed: str, name: str, base_url: str, *, origin: Origin | None = None) -> Endpoint:
    url = base_url.strip().rstrip("/")
    if not _is_url(url):
        shown = without_secrets(base_url)
        raise UsageError(f"{shown}: is not a base URL", hint="it starts with http:// and usually ends with /v1")
    _refuse_secrets_in(url, key_variable=ENDPOINT_KEY)
    return Endpoint(
        name=typed,
        model=f"{CUSTOM}{name}",
        how=f"an OpenAI-compatible server at {url}",
        base_url=url,
        key_variables=(ENDPOINT_KEY,),
        key_required=False,
        url_origin=origin,
    )


def _is_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a broken address, or a port that is none
        return False


def _hugging_face(typed: str, model: str, how: str) -> Endpoint:
    base, _, route = model.partition(":")
    listing = look_up(base, provider=f"huggingface_{route}") if route else UNKNOWN
    return Endpoint(
        name=typed,
        model=f"{_HUGGING_FACE_ENGINE}/{model}",
        how=f"{how}Hugging Face Inference Providers",
        key_variables=HUGGING_FACE.key_variables,
        price=listing.price,
        window=listing.window,
    )


def _at_provider(typed: str, provider: str, model: str, how: str) -> Endpoint:
    entry = PROVIDERS[provider]
    # The provider's client follows this variable, so it is part of who the student is.
    base_url, origin = _url_from_variable(provider)
    if base_url is None:
        where, listing = f"{provider}'s own API", look_up(model, provider=entry.prices)
    else:
        _refuse_secrets_in(base_url, key_variable=next(iter(entry.key_variables), ENDPOINT_KEY))
        where, listing = f"{provider}'s API at {base_url}", UNKNOWN
    return Endpoint(
        name=typed,
        model=f"{provider}/{model}",
        how=f"{how}{where}",
        base_url=base_url,
        url_origin=origin,
        key_variables=entry.key_variables,
        package=entry.package,
        price=listing.price,
        window=listing.window,
    )


def _refuse_secrets_in(url: str, *, key_variable: str) -> None:
    """Where a model is served is written into every record, and into the skill."""
    parts = urlsplit(url)
    if parts.username or parts.password or parts.query:
        raise UsageError(
            f"{parts.hostname}: a base URL must not contain a password or a key", hint=f"set the key in {key_variable}"
        )


def _url_from_variable(provider: str) -> tuple[str | None, Origin | None]:
    """The base URL that the engine would take for a provider, and the variable that holds it."""
    for variable in (*_OTHER_VARIABLES.get(provider, ()), f"{provider.upper()}_BASE_URL", _ENGINE_URL):
        if url := os.environ.get(variable, "").strip():
            return url, Origin(where=variable)
    return None, None


def untyped_lines(who: str, endpoints: Iterable[Endpoint]) -> tuple[str, ...]:
    """A line for every server and alias that was not typed with the command: where it is and who says so.

    `who` is asked there: "students are", "the teacher is".
    """
    lines: dict[str, None] = {}
    for one in endpoints:
        if one.alias_origin is not None:
            lines[on_one_line(f"{one.name} stands for {one.model} ({one.alias_origin.where})")] = None
        if one.url_origin is not None:
            key = one.withheld_key
            kept = "" if key is None else f"; {key} is not sent there, unless you trust the file: `upskill trust`"
            lines[on_one_line(f"{who} asked at {one.base_url} ({one.url_origin.where}){kept}")] = None
    return tuple(lines)


def _unknown(typed: str, name: str, table: Mapping[str, str]) -> UsageError:
    listed = [f"{provider}/{name}" for provider, one in PROVIDERS.items() if look_up(name, provider=one.prices).price]
    near = listed or get_close_matches(name, [*table, *PROVIDERS, *LOCAL_SERVERS], n=1)
    guess = f"did you mean {near[0]}? " if near else ""
    return UsageError(
        f"{typed}: unknown model",
        hint=f"{guess}for a local server, add --base-url http://localhost:8080/v1; "
        "otherwise write provider/model, or org/name for Hugging Face",
    )


def show_model(name: str, *, settings: Settings) -> Endpoint:
    """The endpoint that a name resolves to."""
    return resolve_model(
        name,
        base_url=settings.base_url,
        aliases=settings.aliases,
        url_origin=settings.untyped.get("base_url"),
        alias_origin=settings.untyped.get("aliases"),
    )


def student_endpoint(name: str, settings: Settings) -> Endpoint:
    """Where a student is served. It may use the teacher's key only where both have the same base URL, and no file says
    so that is not trusted with keys."""
    endpoint = show_model(name, settings=settings)
    if endpoint.is_handoff:
        raise UsageError(f"{name}: a hand-off can teach, but not be measured", hint="name another model")
    teachers, origin = settings.teacher_base_url, settings.untyped.get("teacher_base_url")
    same = teachers is not None and teachers.strip().rstrip("/") == endpoint.base_url
    if endpoint.is_custom and same and (origin is None or origin.keys):
        return replace(endpoint, key_variables=(ENDPOINT_KEY, TEACHER_KEY))
    return endpoint


def known_aliases(*, settings: Settings) -> Mapping[str, Endpoint]:
    """Every alias, the person's own first."""
    names = {**(settings.aliases or {}), **built_in_aliases()}
    origin = settings.untyped.get("aliases")
    return {name: resolve_model(name, aliases=settings.aliases, alias_origin=origin) for name in names}
