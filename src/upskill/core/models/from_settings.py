"""Show how a model name resolves, without calling it and without showing a key."""

from collections.abc import Mapping
from dataclasses import replace

from upskill.core.models import Endpoint, resolve_model
from upskill.core.models.endpoint import ENDPOINT_KEY, TEACHER_KEY, built_in_aliases
from upskill.core.settings import Settings
from upskill.errors import UsageError


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
