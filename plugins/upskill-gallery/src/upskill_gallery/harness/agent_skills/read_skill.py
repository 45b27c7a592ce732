"""Runs inside the sandbox, with `python -I -B`: what the reference validator says of one skill folder, as JSON.

Nothing that the student wrote is imported or run here; its files are only read. Decides nothing.
"""

import json
import sys
from pathlib import Path

try:
    from skills_ref import validate
    from skills_ref.parser import find_skill_md, parse_frontmatter
except ImportError as error:
    sys.exit(f"toolchain: {error}")

folder = Path(sys.argv[1])
found: dict[str, object] = {"errors": validate(folder), "fields": {}, "body": ""}
skill_file = find_skill_md(folder)
if not found["errors"] and skill_file is not None:
    found["fields"], found["body"] = parse_frontmatter(skill_file.read_text(encoding="utf-8"))
json.dump(found, sys.stdout)
