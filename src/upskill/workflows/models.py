"""Show how a model name resolves, without calling it and without showing a key."""

from collections.abc import Mapping

from upskill.models import Endpoint, resolve_model
from upskill.models.endpoint import built_in_aliases
from upskill.settings import Settings


def show_model(name: str, *, settings: Settings) -> Endpoint:
    """The endpoint that a name resolves to."""
    return resolve_model(
        name,
        base_url=settings.base_url,
        aliases=settings.aliases,
        url_origin=settings.untyped.get("base_url"),
        alias_origin=settings.untyped.get("aliases"),
    )


def known_aliases(*, settings: Settings) -> Mapping[str, Endpoint]:
    """Every alias, the person's own first."""
    names = {**(settings.aliases or {}), **built_in_aliases()}
    origin = settings.untyped.get("aliases")
    return {name: resolve_model(name, aliases=settings.aliases, alias_origin=origin) for name in names}
