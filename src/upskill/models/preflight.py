"""Probes an endpoint before any trial: is the key there, does the server answer, how long may a prompt be."""

import importlib.metadata
import json
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Any

from upskill.domain import digest_of
from upskill.errors import ProviderError
from upskill.models.endpoint import CUSTOM, Endpoint

SECONDS = 5.0
_STABLE_KEYS = ("id", "root", "parent", "meta", "size", "digest", "max_model_len", "context_length", "owned_by")
"""What a server's listing says of a model and does not change from one request to the next."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """What a server says of itself."""

    window: int | None = None
    fingerprint: str | None = None
    """Changes when something else is served under the same name, as far as the server tells."""
    parameters: int | None = None
    """How many the model has, where the server says so (llama.cpp)."""
    weights: str | None = None
    """The same for all names by which a server serves one model, as far as the server tells."""
    notes: tuple[str, ...] = ()


def probe(endpoint: Endpoint) -> ServedModel:
    """Raise `ProviderError`, in one line that says what to do, if no call could succeed."""
    if endpoint.is_scripted:
        from upskill.models.scripted import load_script

        load_script(endpoint.model.removeprefix("scripted/"))
        return ServedModel(
            notes=(f"{endpoint.name}: a script answers, not a model; the result says nothing about any model",)
        )
    if endpoint.is_handoff:
        return ServedModel()
    if endpoint.package and not is_installed(endpoint.package):
        raise ProviderError(
            f"{endpoint.name}: needs the package {endpoint.package}", hint=f"install it: pip install {endpoint.package}"
        )
    if endpoint.key_required and endpoint.key_variable() is None:
        wanted = " or ".join(endpoint.key_variables)
        raise ProviderError(
            f"{endpoint.name}: no key, {wanted} is not set",
            hint=f"export {endpoint.key_variables[0]}=…, or use a local server with --base-url",
        )
    if endpoint.base_url is None or not endpoint.is_custom:
        return ServedModel(window=endpoint.window)
    return _ask_server(endpoint, endpoint.base_url)


def is_installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _ask_server(endpoint: Endpoint, base_url: str) -> ServedModel:
    listed = _get(f"{base_url}/models", endpoint)
    model = endpoint.model.removeprefix(CUSTOM)
    data = (listed or {}).get("data")
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    names = [str(entry.get("id")) for entry in entries]
    notes: tuple[str, ...] = ()
    if names and model not in names:
        shown = ", ".join(names[:3]) + (" …" if len(names) > 3 else "")
        notes = (f"the server at {base_url} lists {shown}, not {model}",)
    served = next((entry for entry in entries if entry.get("id") == model), entries[0] if entries else {})
    window = _whole(served.get("max_model_len")) or _whole(served.get("context_length"))
    if window is None:
        # llama.cpp tells the window of one slot only here.
        properties = _get(f"{base_url.removesuffix('/v1')}/props", endpoint, optional=True) or {}
        generation = properties.get("default_generation_settings")
        window = _whole(generation.get("n_ctx")) if isinstance(generation, dict) else None
    stable = {key: served[key] for key in _STABLE_KEYS if key in served}
    fingerprint = digest_of(stable) if stable else None
    weights = fingerprint if len(entries) == 1 else _weights(served) if model in names else None
    meta = served.get("meta")
    parameters = _whole(meta.get("n_params")) if isinstance(meta, dict) else None
    return ServedModel(window=window, parameters=parameters, fingerprint=fingerprint, weights=weights, notes=notes)


def _weights(served: dict[str, Any]) -> str | None:
    """What vLLM (`root`, of an adapter with its `parent`) and others (`digest`) say is behind a name."""
    known = {key: served[key] for key in ("root", "parent", "digest") if served.get(key)}
    return digest_of(known) if known else None


def count_tokens(endpoint: Endpoint, text: str) -> int | None:
    """How many tokens the server makes of a text, where it can tell (llama.cpp); `None` elsewhere."""
    if endpoint.base_url is None or not endpoint.is_custom:
        return None
    answer = _get(f"{endpoint.base_url.removesuffix('/v1')}/tokenize", endpoint, body={"content": text}, optional=True)
    tokens = (answer or {}).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _get(
    url: str, endpoint: Endpoint, *, body: dict[str, Any] | None = None, optional: bool = False
) -> dict[str, Any] | None:
    """JSON from the server; `None` where it has no such page. An optional page may fail in any way."""
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if key := endpoint.key():
        request.add_header("Authorization", f"Bearer {key}")
    try:
        with urllib.request.urlopen(request, timeout=SECONDS) as response:
            value = json.loads(response.read(10_000_000))
    except urllib.error.HTTPError as error:
        if error.code in (401, 403) and not optional:
            raise ProviderError(
                f"{endpoint.name}: {endpoint.base_url} refuses the key (HTTP {error.code})",
                hint=f"put the server's key into {endpoint.key_variables[0]}",
            ) from None
        return None
    except ValueError:
        return None
    except OSError as error:
        if optional:
            return None
        reason = getattr(error, "reason", None) or error
        raise ProviderError(
            f"{endpoint.name}: nothing answers at {endpoint.base_url} ({reason})",
            hint="start the server, or correct --base-url",
        ) from None
    return value if isinstance(value, dict) else None
