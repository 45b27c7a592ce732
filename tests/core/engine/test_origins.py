"""What is sent to a server stays there: no redirect, proxy or file of passwords takes it elsewhere or adds to it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from calling import ask, endpoint_at
from listening import Quiet, listening
from provider import Behaviour, Provider, ReceivedRequest
from upskill.core.models import Endpoint, MeteredClient, probe, resolve_model
from upskill.core.models.preflight import count_tokens
from upskill.errors import ProviderError

KEY = "made-up-key"


@dataclass
class Server:
    """Answers nothing of its own: notes what came, and sends whoever asks elsewhere, or says 404."""

    elsewhere: str | None = None
    received: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    url: str = ""


@contextmanager
def serving(elsewhere: str | None = None, status: int = 307) -> Iterator[Server]:
    server = Server(elsewhere)

    class Handler(Quiet):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            server.received.append((self.path, headers, body))
            self.send_response(404 if server.elsewhere is None else status)
            if server.elsewhere is not None:
                self.send_header("location", server.elsewhere + self.path)
            self.send_header("content-length", "0")
            self.end_headers()

        do_GET = do_POST

    with listening(Handler) as server.url:
        yield server


def _endpoint(kind: str, url: str, monkeypatch: pytest.MonkeyPatch) -> Endpoint:
    if kind == "custom":
        return endpoint_at(f"{url}/v1")
    monkeypatch.setenv(f"{kind.upper()}_API_KEY", KEY)
    monkeypatch.setenv(f"{kind.upper()}_BASE_URL", url if kind == "anthropic" else f"{url}/v1")
    return resolve_model(f"{kind}/any")


@pytest.mark.parametrize("kind", ["custom", "openai", "anthropic"])
@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_prompt_does_not_follow_a_redirect_to_another_origin(
    kind: str, status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving() as other, serving(other.url, status) as named:
        (called,) = ask(MeteredClient(), _endpoint(kind, named.url, monkeypatch), ["the prompt"])
    assert other.received == []
    # The engine itself asks OpenAI's newer interface a second time.
    assert len(named.received) == (2 if kind == "openai" else 1), "a redirect is not asked for again"
    assert called.answer is None
    assert called.bill.fault == "provider"
    assert f"{named.url} redirects to {other.url}, another origin" in called.bill.fault_message


def test_a_redirect_within_the_origin_is_followed() -> None:
    def behave(asked: ReceivedRequest) -> Behaviour:
        return Behaviour(status=307, headers={"location": "/v2/chat/completions"}) if asked.number == 1 else Behaviour()

    with Provider(behave) as provider:
        (called,) = ask(MeteredClient(), endpoint_at(provider.url), ["the prompt"])
    assert called.answer == "ok"


def test_the_key_does_not_follow_the_list_of_models_to_another_origin(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSKILL_ENDPOINT_KEY", KEY)
    with serving() as other, serving(other.url, 302) as named:
        endpoint = resolve_model("any", base_url=f"{named.url}/v1")
        with pytest.raises(ProviderError, match=f"any: {named.url} redirects to {other.url}, another origin"):
            probe(endpoint)
        assert count_tokens(endpoint, "the prompt") is None
    assert other.received == []
    assert [headers["authorization"] for _, headers, _ in named.received] == [f"Bearer {KEY}"] * 2


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY"])
def test_a_server_on_this_machine_is_reached_without_a_proxy(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy, Provider() as provider:
        monkeypatch.setenv(variable, proxy.url)
        probe(resolve_model("any", base_url=provider.url))
        (called,) = ask(MeteredClient(), endpoint_at(provider.url), ["the prompt"])
    assert called.answer == "answer 1"
    assert proxy.received == []


def test_a_server_elsewhere_is_reached_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        ask(MeteredClient(), endpoint_at("http://models.example/v1"), ["the prompt"])
    assert [path for path, _, _ in proxy.received] == ["http://models.example/v1/chat/completions"]


def test_no_password_is_taken_from_the_netrc_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login somebody password of-another-service\n")
    (tmp_path / ".netrc").chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    with serving() as named:
        with pytest.raises(ProviderError, match="has neither a list of models nor chat completions"):
            probe(resolve_model("any", base_url=f"{named.url}/v1"))
        ask(MeteredClient(), endpoint_at(f"{named.url}/v1"), ["the prompt"])
    assert {headers.get("authorization") for _, headers, _ in named.received} == {None, "Bearer no-key-needed"}
