"""Probes an endpoint before any trial: is the key there, does the server answer, how long may a prompt be."""

import http.client
import importlib.metadata
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass
from typing import Any

from upskill.core.models.endpoint import CUSTOM, Endpoint
from upskill.core.models.responses import MOST_NAME_CHARACTERS, OtherOrigin, opener_for
from upskill.core.nouns import digest_of
from upskill.errors import ProviderError

SECONDS = 5.0
"""For a whole reply: a server can send a byte in time for every read, and never come to an end."""
COUNT_SECONDS = 120.0
"""A server busy with answers counts tokens late; an estimate in the place of its count misleads."""
MOST_BYTES = 10_000_000
_STABLE_KEYS = ("id", "root", "parent", "meta", "size", "digest", "max_model_len", "context_length", "owned_by")
"""What a server's listing says of a model and does not change from one request to the next."""
_OF_THE_FILE = ("digest", "meta")
"""What it says of the file itself: `root` is often the name once more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """What a server says of itself."""

    window: int | None = None
    fingerprint: str | None = None
    """Changes when something else is served under the same name, as far as the server tells."""
    parameters: int | None = None
    """How many the model has, where the server says so (llama.cpp)."""
    weights: str | None = None
    """The same for one model on all servers and by all names, as far as the server tells."""
    is_known: bool = False
    """Whether the server describes the file that it serves, so that another one behind the name would be seen."""
    only: str | None = None
    """The fingerprint of the only model of its server, which answers to any name; `None` where there are more."""
    notes: tuple[str, ...] = ()
    missing_key: str | None = None
    """The variable that must hold a key before anything can be asked; `None` where nothing is missing."""


def missing_keys(served: Iterable[ServedModel]) -> tuple[str, ...]:
    """The variables that must hold a key before all of these can be asked, each once."""
    return tuple(dict.fromkeys(one.missing_key for one in served if one.missing_key is not None))


def probe(endpoint: Endpoint, *, needs_key: bool = True) -> ServedModel:
    """Raise `ProviderError`, in one line that says what to do, if no call could succeed.

    Without `needs_key`, for a plan that asks nobody, a key that is not set is a note and no error.
    """
    if endpoint.is_scripted:
        from upskill.core.models.scripted import load_script

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
        if not needs_key:
            note = f"{endpoint.name}: {wanted} is not set; a real run needs it"
            return ServedModel(window=endpoint.window, missing_key=endpoint.key_variables[0], notes=(note,))
        raise ProviderError(
            f"{endpoint.name}: no key, {wanted} is not set",
            hint=f"export {endpoint.key_variables[0]}=…, or use a local server with --base-url",
        )
    if endpoint.base_url is None or not endpoint.is_custom:
        return ServedModel(window=endpoint.window)
    return _ask_server(endpoint, endpoint.base_url)


class Servers:
    """Asks servers what they say of themselves, whenever somebody wants to know."""

    def probe(self, endpoint: Endpoint, *, needs_key: bool = True) -> ServedModel:
        """As the function of this name does."""
        return probe(endpoint, needs_key=needs_key)

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        """As the function of this name does."""
        return count_tokens(endpoint, text)


class ServersAskedOnce(Servers):
    """For a plan of many evaluations: every model is probed once, and no server is asked to count tokens."""

    def __init__(self) -> None:
        self._known: dict[Endpoint, ServedModel] = {}

    def probe(self, endpoint: Endpoint, *, needs_key: bool = True) -> ServedModel:
        if endpoint not in self._known:
            self._known[endpoint] = super().probe(endpoint, needs_key=needs_key)
        return self._known[endpoint]

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        return None


SERVERS = Servers()


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
        shown = ", ".join(name[:MOST_NAME_CHARACTERS] for name in names[:3]) + (" …" if len(names) > 3 else "")
        notes = (f"the server at {base_url} offers {shown}, not {model}",)
    served = next((entry for entry in entries if entry.get("id") == model), entries[0] if entries else {})
    window = _whole(served.get("max_model_len")) or _whole(served.get("context_length"))
    properties: dict[str, Any] = {}
    if window is None:
        # llama.cpp tells the window of one slot and its build only here.
        properties = _get(f"{base_url.removesuffix('/v1')}/props", endpoint, optional=True) or {}
        generation = properties.get("default_generation_settings")
        window = _whole(generation.get("n_ctx")) if isinstance(generation, dict) else None
    stable = {key: served[key] for key in _STABLE_KEYS if key in served}
    stable |= {key: properties[key] for key in ("build_info", "model_path") if key in properties}
    fingerprint = digest_of(stable) if stable else None
    is_alone = len(entries) == 1
    meta = served.get("meta")
    return ServedModel(
        window=window,
        parameters=_whole(meta.get("n_params")) if isinstance(meta, dict) else None,
        fingerprint=fingerprint,
        weights=_weights(served) if model in names or is_alone else None,
        is_known=any(served.get(key) for key in _OF_THE_FILE),
        only=fingerprint if is_alone else None,
        notes=notes,
    )


def _weights(served: dict[str, Any]) -> str | None:
    """What vLLM (`root`, of an adapter with its `parent`), llama.cpp (`meta`) and others say is behind a name."""
    known = {key: served[key] for key in ("root", "parent", "digest", "meta") if served.get(key)}
    return digest_of(known) if known else None


def count_tokens(endpoint: Endpoint, text: str) -> int | None:
    """How many tokens the server makes of a text, where it can tell (llama.cpp); `None` elsewhere."""
    if endpoint.base_url is None or not endpoint.is_custom:
        return None
    answer = _get(
        f"{endpoint.base_url.removesuffix('/v1')}/tokenize",
        endpoint,
        body={"content": text},
        optional=True,
        seconds=COUNT_SECONDS,
    )
    tokens = (answer or {}).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _about_the_key(endpoint: Endpoint) -> str:
    if (withheld := endpoint.withheld_key) is not None and endpoint.url_origin is not None:
        return f"{withheld} was not sent: `upskill trust` allows it ({endpoint.url_origin.where}), or type --base-url"
    if not endpoint.key_variables:
        return "name the server with --base-url, and set its key in UPSKILL_ENDPOINT_KEY"
    return f"set the server's key in {endpoint.key_variables[0]}"


def _get(
    url: str,
    endpoint: Endpoint,
    *,
    body: dict[str, Any] | None = None,
    optional: bool = False,
    seconds: float = SECONDS,
) -> dict[str, Any] | None:
    """JSON from the server; `None` where it has no such page. An optional page may fail in any way."""
    request = urllib.request.Request(url, data=None if body is None else json.dumps(body).encode())
    request.add_header("Content-Type", "application/json")
    if key := endpoint.key():
        request.add_header("Authorization", f"Bearer {key}")

    def read() -> bytes:
        with opener_for(url)(request, timeout=seconds) as response:
            return bytes(response.read(MOST_BYTES))

    try:
        value = json.loads(_in_time(read, seconds))
        json.dumps(value, allow_nan=False)  # raises for numbers such as 1e999, of which no digest can be made
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403) and not optional:
            raise ProviderError(
                f"{endpoint.name}: {endpoint.base_url} rejects the key (HTTP {error.code})",
                hint=_about_the_key(endpoint),
            ) from None
        return None
    except (ValueError, RecursionError):
        return None
    except OtherOrigin as error:
        if optional:
            return None
        raise ProviderError(
            f"{endpoint.name}: {error}", hint="check --base-url, or ask the operator of the server"
        ) from None
    except (OSError, http.client.HTTPException) as error:
        if optional:
            return None
        reason = getattr(error, "reason", None) or error
        raise ProviderError(
            f"{endpoint.name}: no server answers at {endpoint.base_url} ({reason})",
            hint=f"start the server, or correct {origin.where if (origin := endpoint.url_origin) else '--base-url'}",
        ) from None
    return value if isinstance(value, dict) else None


def _in_time(read: Callable[[], bytes], seconds: float) -> bytes:
    """What it returns or raises; `TimeoutError` after one deadline. The thread that is left ends with the process."""
    ended: Future[bytes] = Future()

    def body() -> None:
        try:
            ended.set_result(read())
        except BaseException as error:  # noqa: BLE001 - the boundary of a thread: raised again by whoever waits
            ended.set_exception(error)

    threading.Thread(target=body, name="upskill-probe", daemon=True).start()
    if wait((ended,), timeout=seconds).not_done:
        raise TimeoutError(f"no complete reply within {seconds:g} seconds")
    return ended.result()
