"""Which model teaches, and which one writes cases: the one that was named, or the strongest for which a key is set."""

import os
from collections.abc import Mapping
from dataclasses import replace

from upskill.core.models.endpoint import ENDPOINT_KEY, TEACHER_KEY, Endpoint, resolve_model
from upskill.core.models.preflight import is_installed
from upskill.core.settings import Settings, without_secrets
from upskill.errors import ProviderError, UsageError

STRONGEST_FIRST = (
    "opus",
    "openai/gpt-5.5",
    "google/gemini-3.1-pro-preview",
    "grok/grok-4.7",
    "moonshot/kimi-k3.1-pro",
    "deepseek/deepseek-v4-pro",
    "mistral/mistral-large-4",
    "kimi",
    "openrouter/anthropic/claude-opus-5.5",
)
"""The teacher is the first of these for which there is a key, unless one is named."""


def teacher_for(
    settings: Settings, *, environment: Mapping[str, str] | None = None, needs_key: bool = True
) -> Endpoint:
    """The teacher that was named, or the strongest for which a key is present. Raises where there is none; for a plan
    that asks nobody, without `needs_key`, the strongest of all takes its place."""
    environment = os.environ if environment is None else environment
    if settings.teacher is not None:
        return _with_own_key(
            resolve_model(
                settings.teacher,
                base_url=settings.teacher_base_url,
                aliases=settings.aliases,
                url_origin=settings.untyped.get("teacher_base_url"),
                alias_origin=settings.untyped.get("aliases"),
            ),
            settings,
        )
    if settings.teacher_base_url is not None:
        raise UsageError(
            f"{without_secrets(settings.teacher_base_url)}: no model was named for this server",
            hint="name one with --model; any name works",
        )
    try:
        return strongest(settings, environment)
    except ProviderError:
        if needs_key:
            raise
        return _known_teacher(STRONGEST_FIRST[0], settings)


def has_teacher(settings: Settings) -> bool:
    """Whether a teacher can be asked here without one being named."""
    try:
        teacher = teacher_for(settings)
    except (ProviderError, UsageError):
        return False
    return not teacher.key_required or teacher.key_variable(os.environ) is not None


def case_writer_for(
    settings: Settings, *, environment: Mapping[str, str] | None = None, needs_key: bool = True
) -> Endpoint:
    """The case writer: the model named for it, or the teacher. It is at the teacher's server unless its name resolves
    to another."""
    name = settings.test_gen_model
    if name is None or name == settings.teacher:
        return teacher_for(settings, environment=environment, needs_key=needs_key)
    try:
        return resolve_model(name, aliases=settings.aliases, alias_origin=settings.untyped.get("aliases"))
    except UsageError:
        if settings.teacher_base_url is None:
            raise
        origin = settings.untyped.get("teacher_base_url")
        return _with_own_key(resolve_model(name, base_url=settings.teacher_base_url, url_origin=origin), settings)


def strongest(settings: Settings, environment: Mapping[str, str]) -> Endpoint:
    """The first of the known teachers whose key is set and whose package is there."""
    wanted: list[str] = []
    for name in STRONGEST_FIRST:
        endpoint = _known_teacher(name, settings)
        wanted += (variable for variable in endpoint.key_variables if variable not in wanted)
        ready = endpoint.key_variable(environment) is not None or not endpoint.key_required
        if ready and (endpoint.package is None or is_installed(endpoint.package)):
            return endpoint
    raise ProviderError(
        f"there is no teacher, because none of these keys is set: {', '.join(wanted)}",
        hint="set one of them, or use a local model: --model NAME --base-url http://localhost:8080/v1",
    )


def _known_teacher(name: str, settings: Settings) -> Endpoint:
    return resolve_model(name, aliases=settings.aliases, alias_origin=settings.untyped.get("aliases"))


def _with_own_key(endpoint: Endpoint, settings: Settings) -> Endpoint:
    """A teacher at a base URL has its own key; it may use the students' key only where they share a server."""
    if not endpoint.is_custom:
        return endpoint
    apart = settings.base_url is not None and settings.base_url.strip().rstrip("/") != endpoint.base_url
    return replace(endpoint, key_variables=(TEACHER_KEY,) if apart else (TEACHER_KEY, ENDPOINT_KEY))
