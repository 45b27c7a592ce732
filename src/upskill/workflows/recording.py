"""What every run records of itself, whatever it is a run of: its versions and its settings, and the way back."""

import importlib.metadata
import platform
from collections.abc import Mapping
from dataclasses import asdict

from upskill import __version__
from upskill.settings import Resolved, Settings
from upskill.storage.runs import SettingRecord


def versions() -> dict[str, str]:
    """Of what the numbers of a run rest on."""
    return {
        "upskill": __version__,
        "inspect-ai": importlib.metadata.version("inspect-ai"),
        "python": platform.python_version(),
    }


def settings_record(settings: Resolved) -> dict[str, SettingRecord]:
    """Every setting with its value and where it came from."""
    values = asdict(settings.values)
    return {name: SettingRecord(value=values[name], origin=origin) for name, origin in settings.origins.items()}


def recorded_settings(record: Mapping[str, SettingRecord]) -> Resolved:
    """The settings a run was begun with. What a later version added keeps its default."""
    known = {name: entry for name, entry in record.items() if name in Settings.__dataclass_fields__}
    values = {name: entry.value for name, entry in known.items()}
    models = values.get("models")
    settings = Settings(**{**values, "models": tuple(models) if isinstance(models, list) else ()})  # type: ignore[arg-type]
    return Resolved(values=settings, origins={name: entry.origin for name, entry in known.items()})
