"""Turns a template and values into HTML. Every value is text and is escaped, unless another template made it."""

from functools import cache
from typing import TYPE_CHECKING

from markupsafe import Markup

from upskill.reporting.html.elements import plain
from upskill.reporting.html.glossary import with_link, word_link

if TYPE_CHECKING:
    from jinja2 import Environment


def render(template: str, **values: object) -> Markup:
    """The HTML of `templates/TEMPLATE`. A name that the template uses and nobody gave is an error, never a gap."""
    return Markup(_environment().get_template(template).render(values))


def _shown(value: object) -> object:
    """A value without characters that cannot be shown; HTML stays HTML, and a number a number."""
    if isinstance(value, Markup):
        return Markup(plain(value))
    return plain(value) if isinstance(value, str) else value


@cache
def _environment() -> "Environment":
    # Loaded where a page is made: no other command pays for it.
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("upskill.reporting.html"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_shown,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.globals.update(word=word_link, with_link=with_link)
    return environment
