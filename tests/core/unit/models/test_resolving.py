"""From what a person types to an endpoint: the documented order, row by row."""

import tomllib
from importlib.resources import files

import pytest
from hypothesis import given
from hypothesis import strategies as st

from upskill.core.models import resolve_model
from upskill.core.models.endpoint import PROVIDERS, built_in_aliases
from upskill.errors import UsageError

URL = "http://localhost:8080/v1"


# 1. A script


def test_a_script_is_no_model_and_costs_nothing() -> None:
    endpoint = resolve_model("scripted/examples/student.yaml")
    assert (endpoint.model, endpoint.is_scripted, endpoint.base_url) == ("scripted/examples/student.yaml", True, None)
    assert (endpoint.key_required, endpoint.key_variables) == (False, ())
    assert endpoint.price is not None
    assert endpoint.price.of(input_tokens=10**9, output_tokens=10**9) == 0.0


def test_a_script_goes_before_a_base_url_and_before_aliases() -> None:
    endpoint = resolve_model("scripted/x.yaml", base_url=URL, aliases={"scripted/x.yaml": "haiku"})
    assert endpoint.is_scripted


# 1. A hand-off


def test_a_hand_off_needs_no_key_has_no_price_and_does_not_tell_its_folder_to_records() -> None:
    endpoint = resolve_model("handoff/some/folder", base_url=URL)
    assert (endpoint.name, endpoint.model, endpoint.base_url) == ("handoff", "handoff", None)
    assert (endpoint.is_handoff, endpoint.key_required, endpoint.price) == (True, False, None)
    assert endpoint.folder is not None
    assert endpoint.folder.endswith("/some/folder")
    assert resolve_model("handoff").folder is None
    assert resolve_model("me", aliases={"me": "handoff/x"}).is_handoff
    assert not resolve_model("handoffs/x").is_handoff


# 2. Any name with a base URL


@pytest.mark.parametrize(
    "name",
    [
        "unsloth/GLM-4.7-Flash-GGUF:Q4_0",
        "haiku",
        "mine",
        "hf/org/name",
        "openai/gpt-5",
        "a/b/c/d:e@f",
        "smollm2",
        "model with spaces",
        "llama3.2:3b",
        "C:\\models\\x.gguf",
        "/models/x.gguf",
        "日本",
    ],
)
def test_any_name_goes_to_a_base_url_as_it_is_and_needs_no_key(name: str) -> None:
    endpoint = resolve_model(name, base_url=URL, aliases={"mine": "haiku"})
    assert (endpoint.name, endpoint.model, endpoint.base_url) == (name, f"openai-api/endpoint/{name}", URL)
    assert (endpoint.key_required, endpoint.key_variables) == (False, ("UPSKILL_ENDPOINT_KEY",))
    assert (endpoint.price, endpoint.window) == (None, None), "what a stranger's server costs is not known"


@given(name=st.text(min_size=1).filter(lambda name: bool(name.strip()) and not name.strip().startswith("scripted/")))
def test_no_name_is_refused_with_a_base_url(name: str) -> None:
    endpoint = resolve_model(name, base_url=URL)
    assert (endpoint.name, endpoint.model) == (name, f"openai-api/endpoint/{name.strip()}")


@pytest.mark.parametrize("url", [URL, URL + "/", f" {URL}// "])
def test_slashes_and_spaces_around_a_base_url_do_not_count(url: str) -> None:
    assert resolve_model("x", base_url=url).base_url == URL


@pytest.mark.parametrize("url", ["localhost:8080", "8080", "ftp://x/v1", "", "file:///etc/passwd"])
def test_a_base_url_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="not a base URL") as caught:
        resolve_model("x", base_url=url)
    assert caught.value.hint == "it starts with http:// and usually ends with /v1"


# 3. Aliases


def test_ones_own_alias_goes_before_the_built_in_one() -> None:
    own = resolve_model("opus", aliases={"opus": "openai/gpt-5"})
    assert (own.name, own.model) == ("opus", "openai/gpt-5")
    assert own.how == "your alias for openai/gpt-5; openai's own API"
    built_in = resolve_model("opus", aliases={"other": "openai/gpt-5"})
    assert built_in.model == built_in_aliases()["opus"]
    assert built_in.how.startswith(f"built-in alias for {built_in.model}; ")


def test_an_alias_may_lead_to_hugging_face() -> None:
    endpoint = resolve_model("small", aliases={"small": "hf/org/name"})
    assert endpoint.model == "hf-inference-providers/org/name"


def test_an_alias_that_leads_nowhere_is_refused_by_the_name_that_was_typed() -> None:
    with pytest.raises(UsageError, match=r"^small: unknown model"):
        resolve_model("small", aliases={"small": "nowhere"})


def test_the_promised_aliases_exist() -> None:
    assert {"opus", "sonnet", "haiku", "kimi", "gpt-oss"} <= set(built_in_aliases())


@pytest.mark.parametrize("alias", sorted(built_in_aliases()))
def test_every_built_in_alias_leads_to_a_known_provider(alias: str) -> None:
    provider, _, model = built_in_aliases()[alias].partition("/")
    assert model
    assert provider in (*PROVIDERS, "hf")
    endpoint = resolve_model(alias)
    assert endpoint.key_variables
    if provider == "hf":
        assert endpoint.key_variables == ("HF_TOKEN",)
    else:
        assert endpoint.price is not None, "the table was checked against the price list"


def test_the_table_of_aliases_says_when_it_was_made() -> None:
    text = files("upskill.core.models").joinpath("aliases.toml").read_text(encoding="utf-8")
    assert "as of 20" in text.splitlines()[0]
    assert set(tomllib.loads(text)) == {"aliases", "listed"}


# 4. to 6. Hugging Face and the providers


@pytest.mark.parametrize("name", ["hf/openai/gpt-oss-20b", "hf/org/name", "hf/org/name:nebius"])
def test_hf_goes_to_hugging_face_also_when_the_organisation_is_a_provider(name: str) -> None:
    endpoint = resolve_model(name)
    assert endpoint.model == f"hf-inference-providers/{name.removeprefix('hf/')}"
    assert (endpoint.key_variables, endpoint.key_required) == (("HF_TOKEN",), True)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "org/name:fastest"])
def test_an_organisation_and_a_name_go_to_hugging_face(name: str) -> None:
    endpoint = resolve_model(name)
    assert (endpoint.model, endpoint.key_variables) == (f"hf-inference-providers/{name}", ("HF_TOKEN",))
    assert endpoint.how == "Hugging Face Inference Providers"


@pytest.mark.parametrize("provider", sorted(PROVIDERS))
def test_a_provider_and_a_model_go_to_the_provider(provider: str) -> None:
    endpoint = resolve_model(f"{provider}/some/model:tag")
    assert endpoint.model == f"{provider}/some/model:tag"
    assert endpoint.key_variables == PROVIDERS[provider].key_variables
    assert endpoint.key_required is bool(endpoint.key_variables)
    assert endpoint.package == PROVIDERS[provider].package
    assert endpoint.base_url is None


# Names that lead nowhere


@pytest.mark.parametrize(
    ("name", "guess"),
    [("haikuu", "did you mean haiku?"), ("sonet", "did you mean sonnet?"), ("gptoss", "did you mean gpt-oss?")],
)
def test_a_name_that_is_nearly_an_alias_is_corrected(name: str, guess: str) -> None:
    with pytest.raises(UsageError, match=f"^{name}: unknown model") as caught:
        resolve_model(name)
    assert caught.value.hint is not None
    assert caught.value.hint.startswith(guess)


def test_a_name_of_ones_own_is_suggested_too() -> None:
    with pytest.raises(UsageError) as caught:
        resolve_model("my-modl", aliases={"my-model": "org/name"})
    assert "did you mean my-model?" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["smollm2", "a/b/c", "anthropic/", "hf/", "x/"])
def test_a_name_that_leads_nowhere_is_told_about_local_servers(name: str) -> None:
    with pytest.raises(UsageError) as caught:
        resolve_model(name)
    assert "--base-url http://localhost:8080/v1" in str(caught.value.hint)


@pytest.mark.parametrize("name", ["", "  ", "\n"])
@pytest.mark.parametrize("base_url", [None, URL])
def test_no_name_at_all_is_refused(name: str, base_url: str | None) -> None:
    with pytest.raises(UsageError, match="a model needs a name"):
        resolve_model(name, base_url=base_url)


@given(name=st.text())
def test_any_text_is_an_endpoint_or_a_usage_error(name: str) -> None:
    try:
        endpoint = resolve_model(name)
    except UsageError:
        return
    if endpoint.is_handoff:  # named without its folder
        assert name.partition("/")[0].strip() == endpoint.name == endpoint.model
        return
    assert endpoint.name == name
    assert "/" in endpoint.model


@pytest.mark.parametrize("url", ["https://me:pa55word@proxy.example/v1", "https://proxy.example/v1?key=pa55word"])
def test_a_secret_in_a_base_url_is_refused_wherever_it_was_set(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", url)
    for name, base_url in (("openai/gpt-5.5", None), ("any", url)):
        with pytest.raises(
            UsageError, match=r"proxy\.example: a base URL must not contain a password or a key"
        ) as error:
            resolve_model(name, base_url=base_url)
        assert "pa55word" not in f"{error.value} {error.value.hint}"
