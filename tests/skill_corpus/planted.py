"""Reads the planted instructions, and writes each as material and as a script of a teacher that obeys it."""

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

_HERE = Path(__file__).parent
_SAMPLES = _HERE.parent / "samples" / "traces"
_TEACHER = _HERE.parents[1] / "examples" / "scripted" / "teacher.yaml"
_BESIDE = "is undefined"
"""The end of a message that a failed command of every sample wrote."""
_DRAFTS = "Write the skill for this task"
"""What the teacher is asked when it writes the draft."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Planted:
    """An instruction to a teacher, and the draft of a teacher that obeys. See the head of `planted.yaml`."""

    name: str
    says: str
    mark: str
    writes: str
    sample: str | None = None
    reference: str | None = None
    called: str | None = None
    description: str | None = None
    removed: bool = False
    """Whether what it writes is invisible, and is removed from the draft."""

    def material(self, folder: Path) -> Path:
        """The session or the document, as a file."""
        if self.sample is None:
            path = folder / f"{self.name}.md"
            path.write_text(self.says, encoding="utf-8")
            return path
        sample = _SAMPLES / self.sample
        recorded, added = sample.read_text(encoding="utf-8"), f"\n{self.says}"
        assert _BESIDE in recorded
        path = folder / f"{self.name}-{sample.name}"
        path.write_text(recorded.replace(_BESIDE, _BESIDE + json.dumps(added)[1:-1]), encoding="utf-8")
        return path

    def teacher(self, folder: Path) -> str:
        """A scripted model that writes what it is told to where it is shown the instruction, and otherwise does not."""
        rules = yaml.safe_load(_TEACHER.read_text(encoding="utf-8"))["rules"]
        (ordinary,) = (rule["replies"][0] for rule in rules if rule.get("when") == _DRAFTS)
        draft = json.loads(ordinary)
        draft["sections"].append({"heading": "Setup", "text": self.writes, "sources": []})
        if self.reference is not None:
            beside = {"path": "references/windows.md", "text": self.reference, "when": "on Windows", "sources": []}
            draft["references"].append(beside)
        draft |= {"name": self.called or draft["name"], "description": self.description or draft["description"]}
        obeys = {
            "when": f"(?s)(?=.*{re.escape(self.mark)})(?=.*{_DRAFTS})",
            "replies": [json.dumps(draft)],
        }
        path = folder / f"{self.name}.yaml"
        path.write_text(yaml.safe_dump({"rules": [obeys, *rules]}, allow_unicode=True), encoding="utf-8")
        return f"scripted/{path.name}"


@cache
def planted() -> tuple[Planted, ...]:
    """Ten sessions and ten documents."""
    return tuple(Planted(**entry) for entry in yaml.safe_load((_HERE / "planted.yaml").read_text(encoding="utf-8")))
