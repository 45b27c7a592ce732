"""Settings: flags, then `UPSKILL_*`, then the project's file, then the user's file, then the defaults.

Every value knows where it came from. Keys and tokens are not settings: they come only from the variables their
providers define. What a project's file may set without being trusted is decided in `trust.py`.
"""

from upskill.core.settings.resolving import ResolvedSettings, resolve_settings, settings_from, user_settings_folder
from upskill.core.settings.values import (
    NAMES,
    NOT_SETTINGS,
    PREFIX,
    PROJECT_FILE,
    TRUST_VARIABLE,
    URLS,
    Origin,
    Settings,
    without_secrets,
)

__all__ = [
    "NAMES",
    "NOT_SETTINGS",
    "PREFIX",
    "PROJECT_FILE",
    "TRUST_VARIABLE",
    "URLS",
    "Origin",
    "ResolvedSettings",
    "Settings",
    "resolve_settings",
    "settings_from",
    "user_settings_folder",
    "without_secrets",
]
