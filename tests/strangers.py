"""A package of a stranger, installed for one test: a module, and the metadata that an installer writes."""

from pathlib import Path

import pytest


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, module: str, text: str, name: str = "stranger") -> None:
    """Put a module whose `PLUGIN` is named under the entry point group `upskill` on the search path."""
    (folder / f"{module}.py").write_text(text)
    about = folder / f"{module}-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module.replace('_', '-')}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[upskill]\n{name} = {module}:PLUGIN\n")
    monkeypatch.syspath_prepend(str(folder))
