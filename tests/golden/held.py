"""Values that no single command prints: written down once in `expected/`, and compared by `hold`."""

import json
import os
from pathlib import Path
from typing import Any

from golden.commands import EXPECTED, differences

RECORDS = os.environ.get("RECORD_GOLDEN") == "1"
"""Whether values are written down instead of compared. See README.md."""
MOST_SHOWN = 20


def hold(name: str, seen: dict[str, Any], *, in_order: bool = False) -> None:
    """Fail where a value is not as it is in `expected/NAME.json`; with `RECORDS` write it there.

    With `in_order` the keys must be in the same order, too.
    """
    path = EXPECTED / f"{name}.json"
    if RECORDS:
        _write(path, seen)
    _compare(_read(path), seen, path.name, in_order=in_order)


def hold_entry(name: str, entry: str, seen: Any) -> None:
    """The same of one entry of a file that several tests share."""
    path = EXPECTED / f"{name}.json"
    if RECORDS:
        _write(path, {**(_read(path) if path.exists() else {}), entry: seen})
    _compare({entry: _read(path)[entry]}, {entry: seen}, path.name)


def _compare(frozen: dict[str, Any], seen: dict[str, Any], name: str, *, in_order: bool = False) -> None:
    now = json.loads(json.dumps(seen))
    found = list(differences(frozen, now))
    assert not found, "\n".join([*found[:MOST_SHOWN], f"{len(found)} differences from {name}"])
    assert not in_order or json.dumps(now) == json.dumps(frozen), f"{name}: keys are in another order"


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return value


def _write(path: Path, seen: dict[str, Any]) -> None:
    """One line for each entry of a table; requests and what else is deep are laid out."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.parent.name == "requests":
        text = json.dumps(seen, indent=1, ensure_ascii=False)
    else:
        rows = [f"{json.dumps(name)}: {json.dumps(value, ensure_ascii=False)}" for name, value in seen.items()]
        text = "{\n" + ",\n".join(rows) + "\n}"
    path.write_text(text + "\n", encoding="utf-8")
