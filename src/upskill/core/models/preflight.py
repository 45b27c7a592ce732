"""Probes an endpoint before any trial: is the key there, does the server answer, how long may a prompt be."""

import difflib
import importlib.metadata
import json
import ssl
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from upskill.core.models import connections
from upskill.core.models.endpoint import CUSTOM, Endpoint
from upskill.core.models.responses import MOST_NAME_CHARACTERS
from upskill.core.nouns import digest_of
from upskill.core.nouns.text import count, on_one_line
from upskill.core.settings import Settings
from upskill.errors import ProviderError, UpskillError, UsageError

Announce = Callable[[str], None]
SECONDS = 5.0
"""For a whole reply."""
COUNT_SECONDS = 120.0
"""A server busy with answers counts tokens late; an estimate in the place of its count misleads."""
FIRST_WORDS = "Say OK."
"""The short request by which a name is tried that a server does not list."""
_STABLE_KEYS = ("id", "root", "parent", "meta", "size", "digest", "max_model_len", "context_length", "owned_by")
"""What a server's listing says of a model and does not change from one request to the next."""
_OF_THE_FILE = ("digest", "meta")
"""What it says of the file itself: `root` is often the name once more."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ServedModel:
    """What a server says of itself."""

    window: int | None = None
    """Tokens of one answer with its question."""
    slots: int | None = None
    """How many answers the server writes at once, where it says so (llama.cpp, Ollama)."""
    offers: tuple[str, ...] = ()
    """The models that the server lists."""
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


def probe(endpoint: Endpoint, *, needs_key: bool = True, announce: Announce = lambda _: None) -> ServedModel:
    """Raise `ProviderError`, in one line that says what to do, if no call could succeed.

    Without `needs_key`, for a plan that asks nobody, a key that is not set is a note and no error. It is `announce`d
    when a busy server is waited for.
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
    return _ask_server(endpoint, endpoint.base_url, tries=needs_key, announce=announce)


class Servers:
    """Asks servers what they say of themselves, whenever somebody wants to know."""

    def probe(self, endpoint: Endpoint, *, needs_key: bool = True, announce: Announce = lambda _: None) -> ServedModel:
        """As the function of this name does."""
        return probe(endpoint, needs_key=needs_key, announce=announce)

    def count_tokens(self, endpoint: Endpoint, text: str) -> int | None:
        """As the function of this name does."""
        return count_tokens(endpoint, text)


class ServersAskedOnce(Servers):
    """For a plan of many evaluations: every model is probed once, and no server is asked to count tokens."""

    def __init__(self) -> None:
        self._known: dict[Endpoint, ServedModel] = {}

    def probe(self, endpoint: Endpoint, *, needs_key: bool = True, announce: Announce = lambda _: None) -> ServedModel:
        if endpoint not in self._known:
            self._known[endpoint] = super().probe(endpoint, needs_key=needs_key, announce=announce)
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


SMALL_WINDOW = 8_192
"""Up to here the room for an answer is taken from that for the skill."""
THE_SERVER = "the server"
"""The origin of settings that follow from what a server has room for."""


def fitted(settings: Settings, served: Iterable[ServedModel], *, unchosen: Collection[str]) -> tuple[Settings, str]:
    """Settings with no more answers at once than the narrowest server has slots, and none longer than an eighth of a
    small window, unless they were chosen; and a line that says so, empty where nothing changed."""
    rooms = tuple(served)
    slots = min((one.slots for one in rooms if one.slots is not None), default=None)
    window = min((one.window for one in rooms if one.window is not None), default=None)
    lines: list[str] = []
    if slots is not None and slots < settings.concurrency and "concurrency" in unchosen:
        settings = replace(settings, concurrency=slots)
        lines.append(f"{count(slots, 'slot')}, so {count(slots, 'answer')} at a time")
    if window is not None and window <= SMALL_WINDOW and "max_output_tokens" in unchosen:
        longest = max(128, window // 8)
        settings = replace(settings, max_output_tokens=longest)
        lines.append(f"a window of {window:,} tokens, so answers of at most {longest:,}")
    return settings, f"the server has {' and '.join(lines)}" if lines else ""


def _ask_server(endpoint: Endpoint, base_url: str, *, tries: bool, announce: Announce) -> ServedModel:
    """What the server says. Raises where it could not answer this model, with the cause."""
    listed = _get(f"{base_url}/models", endpoint, announce=announce)
    data = listed.value.get("data")
    entries = [entry for entry in data if isinstance(entry, dict)] if isinstance(data, list) else []
    if not entries:
        _require_models_here(endpoint, base_url, listed)
    model = endpoint.model.removeprefix(CUSTOM)
    names = [str(entry.get("id")) for entry in entries]
    notes: tuple[str, ...] = ()
    if model not in names and tries:
        _require_answer(model, endpoint, base_url, names)
    elif model not in names and names:
        notes = (f"the server at {base_url} offers {_offered(names)}, not {model}",)
    served = next((entry for entry in entries if entry.get("id") == model), entries[0] if entries else {})
    window = _whole(served.get("max_model_len")) or _whole(served.get("context_length"))
    slots: int | None = None
    properties: dict[str, Any] = {}
    if window is None:
        root = base_url.removesuffix("/v1")
        # llama.cpp tells the window of one slot, their number and its build only here.
        properties = _page(f"{root}/props", endpoint)
        generation = properties.get("default_generation_settings")
        window = _whole(generation.get("n_ctx")) if isinstance(generation, dict) else None
        slots = _whole(properties.get("total_slots"))
        if not properties and _page(f"{root}/api/version", endpoint).get("version"):
            # Ollama lets what comes beside the first wait, unless it was told otherwise, and does not say so.
            slots, window = 1, _loaded_window(_page(f"{root}/api/ps", endpoint), model)
    stable = {key: served[key] for key in _STABLE_KEYS if key in served}
    stable |= {key: properties[key] for key in ("build_info", "model_path") if key in properties}
    fingerprint = digest_of(stable) if stable else None
    is_alone = len(entries) == 1
    meta = served.get("meta")
    return ServedModel(
        window=window,
        slots=slots,
        offers=tuple(names),
        parameters=_whole(meta.get("n_params")) if isinstance(meta, dict) else None,
        fingerprint=fingerprint,
        weights=_weights(served) if model in names or is_alone else None,
        is_known=any(served.get(key) for key in _OF_THE_FILE),
        only=fingerprint if is_alone else None,
        notes=notes,
    )


def _loaded_window(listed: Mapping[str, Any], model: str) -> int | None:
    """The window that Ollama gave a model which it has loaded; it cuts longer prompts without a word."""
    loaded = listed.get("models")
    entries = [entry for entry in loaded if isinstance(entry, dict)] if isinstance(loaded, list) else []
    names = (model, f"{model}:latest")
    return next((_whole(entry.get("context_length")) for entry in entries if entry.get("name") in names), None)


def _require_models_here(endpoint: Endpoint, base_url: str, reply: "_Reply") -> None:
    """Raise where the address is shown to be wrong: the models are one path further, or a web page answers."""
    longer = f"{base_url}/v1"
    if not base_url.endswith("/v1") and isinstance(_page(f"{longer}/models", endpoint).get("data"), list):
        raise UsageError(
            f"{endpoint.name}: there are no models at {base_url}; did you mean {longer}?",
            hint=f"type --base-url {longer}",
        )
    if reply.is_page:
        raise ProviderError(
            f"{endpoint.name}: {base_url} answers with a web page, not as a model server does",
            hint="check the port and the path: the address of a model server usually ends with /v1",
        )


def _require_answer(model: str, endpoint: Endpoint, base_url: str, names: Sequence[str]) -> None:
    """Raise where no model answers to a name that the server does not list, after one short request: llama.cpp answers
    to any name, most others refuse."""
    question = {"model": model, "messages": [{"role": "user", "content": FIRST_WORDS}], "max_tokens": 1}
    try:
        reply = _get(f"{base_url}/chat/completions", endpoint, body=question)
    except ServerBusy:  # it may answer to it: a case will show
        return
    if "choices" in reply.value:
        return
    if names:
        close = difflib.get_close_matches(model, names, n=1, cutoff=0.5)
        raise UsageError(
            f"{endpoint.name}: the server at {base_url} has no model {model}"
            + (f"; did you mean {close[0][:MOST_NAME_CHARACTERS]}?" if close else ""),
            hint=f"it offers {_offered(names)}",
        )
    if reply.status in _NOT_THERE:
        raise ProviderError(
            f"{endpoint.name}: {base_url} has neither a list of models nor chat completions (HTTP {reply.status})",
            hint="it may speak another API, or lie behind another path: the address usually ends with /v1",
        )
    raise ProviderError(
        f"{endpoint.name}: the server at {base_url} refuses a short question to {model} (HTTP {reply.status}"
        + (f": {reply.problem})" if reply.problem else ")"),
        hint="check the name of the model, or ask the operator of the server",
    )


def _offered(names: Sequence[str]) -> str:
    return ", ".join(on_one_line(name)[:MOST_NAME_CHARACTERS] for name in names[:3]) + (" …" if len(names) > 3 else "")


def _weights(served: dict[str, Any]) -> str | None:
    """What vLLM (`root`, of an adapter with its `parent`), llama.cpp (`meta`) and others say is behind a name."""
    known = {key: served[key] for key in ("root", "parent", "digest", "meta") if served.get(key)}
    return digest_of(known) if known else None


def count_tokens(endpoint: Endpoint, text: str) -> int | None:
    """How many tokens the server makes of a text, where it can tell (llama.cpp); `None` elsewhere."""
    if endpoint.base_url is None or not endpoint.is_custom:
        return None
    url = f"{endpoint.base_url.removesuffix('/v1')}/tokenize"
    tokens = _page(url, endpoint, body={"content": text}, seconds=COUNT_SECONDS).get("tokens")
    return len(tokens) if isinstance(tokens, list) else None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _about_the_key(endpoint: Endpoint) -> str:
    if (withheld := endpoint.withheld_key) is not None and endpoint.url_origin is not None:
        return f"{withheld} was not sent: `upskill trust` allows it ({endpoint.url_origin.where}), or type --base-url"
    if not endpoint.key_variables:
        return "name the server with --base-url, and set its key in UPSKILL_ENDPOINT_KEY"
    return f"set the server's key in {endpoint.key_variables[0]}"


class ServerBusy(ProviderError):
    """A server that is there, and does not come to an answer."""


class _Reply(NamedTuple):
    """What a server said to one request."""

    status: int
    value: dict[str, Any]
    """The object that it answered with; empty where it answered with anything else."""
    is_page: bool = False
    """Whether that was a web page."""

    @property
    def problem(self) -> str:
        """What an error says of itself, on one line."""
        error = self.value.get("error")
        said = error.get("message") if isinstance(error, dict) else error
        return on_one_line(said)[:MOST_NAME_CHARACTERS] if isinstance(said, str) else ""


BUSY_SECONDS = 60.0
"""How long a server is waited for that says it is busy or loads its model; one that says nothing is asked twice."""
BETWEEN_SECONDS = 5.0
_OK = 200
_REJECTED = (401, 403)
_NOT_THERE = (404, 405)
_BUSY = (429, 503)


def _get(url: str, endpoint: Endpoint, *, body: object = None, announce: Announce = lambda _: None) -> _Reply:
    """What the server has to say. A busy one is waited for; one that cannot be asked is an error with its cause."""
    address, busy = endpoint.base_url, ""
    began = time.monotonic()
    while True:
        try:
            reply = _asked(url, endpoint, body=body)
        except connections.OtherOrigin as error:
            raise ProviderError(
                f"{endpoint.name}: {error}", hint="check --base-url, or ask the operator of the server"
            ) from None
        except OSError as error:
            if not isinstance(error, TimeoutError) or not connections.listens(url, seconds=SECONDS):
                raise _unreachable(endpoint, error) from None
            why, is_over = str(error), bool(busy)
        else:
            if reply.status in _REJECTED:
                raise ProviderError(
                    f"{endpoint.name}: {address} rejects the key (HTTP {reply.status})", hint=_about_the_key(endpoint)
                )
            if reply.status not in _BUSY:
                return reply
            why, is_over = reply.problem or f"HTTP {reply.status}", time.monotonic() - began >= BUSY_SECONDS
        if is_over:
            raise ServerBusy(
                f"{endpoint.name}: the server at {address} is busy ({why})",
                hint="wait until it has loaded its model or answered others, then type the command again",
            )
        if not busy:
            announce(f"the server at {address} is busy ({why}); it is asked again for up to {BUSY_SECONDS:.0f} s")
        busy = why
        time.sleep(BETWEEN_SECONDS)


def _page(url: str, endpoint: Endpoint, *, body: object = None, seconds: float = SECONDS) -> dict[str, Any]:
    """What a server has at a page that it need not have; empty where that fails in any way."""
    try:
        reply = _asked(url, endpoint, body=body, seconds=seconds)
    except (OSError, connections.OtherOrigin):
        return {}
    return reply.value if reply.status == _OK else {}


def _asked(url: str, endpoint: Endpoint, *, body: object = None, seconds: float = SECONDS) -> _Reply:
    """One request, answered in time."""
    base_url, key = str(endpoint.base_url), endpoint.key()
    status, text = connections.send(url, base_url=base_url, key=key, body=body, seconds=seconds)
    try:
        value = json.loads(text)
        json.dumps(value, allow_nan=False)  # raises for numbers such as 1e999, of which no digest can be made
    except (ValueError, RecursionError):
        return _Reply(status, {}, is_page=text[:500].lstrip().lower().startswith((b"<!doctype html", b"<html")))
    return _Reply(status, value if isinstance(value, dict) else {})


def _unreachable(endpoint: Endpoint, reason: OSError) -> UpskillError:
    """Why no server answers, as far as that can be told from what went wrong."""
    address = str(endpoint.base_url)
    where = origin.where if (origin := endpoint.url_origin) else "--base-url"
    if isinstance(reason, ssl.SSLCertVerificationError):
        return ProviderError(
            f"{endpoint.name}: the certificate of {address} is not accepted ({reason.verify_message})",
            hint="name its authority in SSL_CERT_FILE, or ask the operator of the server",
        )
    if isinstance(reason, ssl.SSLError):
        plain = address.replace("https://", "http://", 1)
        return UsageError(
            f"{endpoint.name}: {address} does not speak https; did you mean {plain}?", hint=f"correct {where}"
        )
    if isinstance(reason, connections.NotHttp | ConnectionResetError):
        return ProviderError(
            f"{endpoint.name}: what listens at {address} does not speak http ({reason})",
            hint=f"check the port, and whether it must be https: correct {where}",
        )
    return ProviderError(
        f"{endpoint.name}: no server answers at {address} ({reason})", hint=f"start the server, or correct {where}"
    )
