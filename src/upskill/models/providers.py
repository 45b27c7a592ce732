"""The providers whose models can be named `provider/model`: which variable holds the key, what must be installed."""

from typing import NamedTuple


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
