"""Where a model is served and what is needed to reach it. Holds the name of a key's variable, never the key."""

import os
from collections.abc import Mapping
from dataclasses import dataclass

from upskill.domain import Price

ENDPOINT_KEY = "UPSKILL_ENDPOINT_KEY"
"""The only key that is ever sent to a student's endpoint given by a base URL."""

TEACHER_KEY = "UPSKILL_TEACHER_KEY"
"""Sent to a teacher's endpoint given by a base URL, and to nobody else."""

CUSTOM = "openai-api/endpoint/"
"""How the engine's name of a model at a base URL begins."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Endpoint:
    """A model name, resolved."""

    name: str
    """What the person typed."""
    model: str
    """The engine's name for it, `provider/model`."""
    how: str
    """Why it resolved this way, in words for a person."""
    base_url: str | None = None
    key_variables: tuple[str, ...] = ()
    """Variables any of which may hold the key; empty when none is needed."""
    key_required: bool = True
    package: str | None = None
    """A Python package the provider needs, where it does not come with upskill."""
    price: Price | None = None
    window: int | None = None
    """Tokens of prompt and answer together; `None` if unknown."""

    def key_variable(self, environment: Mapping[str, str] | None = None) -> str | None:
        """The variable that holds the key now; `None` if none of them does."""
        environment = os.environ if environment is None else environment
        return next((name for name in self.key_variables if environment.get(name, "").strip()), None)

    def key(self) -> str | None:
        """The key that is set now. Sent to this endpoint, and never kept."""
        name = self.key_variable()
        return None if name is None else os.environ[name].strip()

    @property
    def is_custom(self) -> bool:
        """Whether a person named the server, by --base-url, instead of a provider."""
        return self.model.startswith(CUSTOM)

    @property
    def is_scripted(self) -> bool:
        """Whether this is a script instead of a model."""
        return self.model.startswith("scripted/")
