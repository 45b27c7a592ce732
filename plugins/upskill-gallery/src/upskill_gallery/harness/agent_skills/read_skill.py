"""Runs inside the sandbox, with `python -I -B`: what the reference validator says of one skill folder, as JSON.

Nothing that the model wrote is imported or run here; its files are only read. Decides nothing.
"""

import json
import sys
from pathlib import Path

try:
    import strictyaml  # type: ignore[import-untyped]
    from skills_ref import validate
except ImportError as error:
    sys.exit(f"toolchain: {error}")

folder = Path(sys.argv[1])
errors = validate(folder)
# The validator turns every value of `metadata` into text; what was written there is read once more.
text = "" if errors else (folder / "SKILL.md").read_text(encoding="utf-8")
fields = {} if errors else strictyaml.load(text.split("---", 2)[1]).data
json.dump({"errors": errors, "fields": fields}, sys.stdout)
