"""What is found before any call: a missing key, a missing package, a script that does not parse."""

from importlib.util import find_spec

import pytest

from upskill.core.models import Endpoint, ServedModel, probe, resolve_model
from upskill.core.models.endpoint import PROVIDERS
from upskill.core.models.preflight import count_tokens
from upskill.errors import ProviderError, UsageError

KEYS = ("HF_TOKEN", *(name for entry in PROVIDERS.values() for name in entry.key_variables))


@pytest.fixture
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KEYS:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("name", "variable"), [("haiku", "ANTHROPIC_API_KEY"), ("openai/gpt-5", "OPENAI_API_KEY")])
def test_a_missing_key_is_named_before_any_call(no_keys: None, name: str, variable: str) -> None:
    with pytest.raises(ProviderError, match=f"^{name}: no key, {variable} is not set$") as caught:
        probe(resolve_model(name))
    assert caught.value.hint == f"export {variable}=…, or use a local server with --base-url"


def test_a_missing_token_for_hugging_face_is_named(no_keys: None) -> None:
    with pytest.raises(ProviderError, match="no key, HF_TOKEN is not set"):
        probe(resolve_model("Qwen/Qwen3-8B"))


@pytest.mark.parametrize("blank", ["", "  ", "\n"])
def test_a_blank_key_is_no_key(no_keys: None, monkeypatch: pytest.MonkeyPatch, blank: str) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", blank)
    with pytest.raises(ProviderError, match="ANTHROPIC_API_KEY is not set"):
        probe(resolve_model("haiku"))


def test_a_key_that_is_there_is_enough_and_never_shown(no_keys: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret-value")
    endpoint = resolve_model("haiku")
    assert probe(endpoint) == ServedModel(window=endpoint.window)
    assert endpoint.key_variable() == "ANTHROPIC_API_KEY"
    assert "secret-value" not in repr(endpoint)


def test_any_of_several_variables_may_hold_the_key() -> None:
    endpoint = resolve_model("google/gemini-x")
    assert endpoint.key_variable({"GEMINI_API_KEY": "k"}) == "GEMINI_API_KEY"
    assert endpoint.key_variable({"GOOGLE_API_KEY": "k", "GEMINI_API_KEY": "k"}) == "GOOGLE_API_KEY"
    assert endpoint.key_variable({}) is None


@pytest.mark.skipif(find_spec("xai_sdk") is not None, reason="the package is there")
def test_a_package_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XAI_API_KEY", "k")
    with pytest.raises(ProviderError, match=r"^grok/grok-4: needs the package xai-sdk$") as caught:
        probe(resolve_model("grok/grok-4"))
    assert caught.value.hint == "install it: pip install xai-sdk"


def test_a_script_that_cannot_be_used_is_found_before_any_call() -> None:
    with pytest.raises(UsageError, match="no such file"):
        probe(resolve_model("scripted/missing.yaml"))


def test_tokens_cannot_be_counted_without_a_server() -> None:
    assert count_tokens(Endpoint(name="x", model="openai/x", how=""), "text") is None
