"""What `generate` does around its stages: with a scripted teacher, and before anything is measured."""

from pathlib import Path

import pytest
import yaml

from upskill.settings import resolve_settings
from upskill.teaching.answers import TeacherUnusable
from upskill.workflows.generate import GenerateOrder, GeneratePlan, Unheard, generate

CASES = "[" + ", ".join(f'{{"input": "What is {n}?", "expected": {{"contains": ["a{n}"]}}}}' for n in range(6)) + "]"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a skill, a document, and a teacher that says nothing of use."""
    monkeypatch.chdir(tmp_path)
    skill = tmp_path / "skills" / "gauge"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: gauge\ndescription: Reads gauges. Use for gauges.\n---\nRead it.\n")
    (skill / "skill_meta.json").write_text(f'{{"cases": {CASES}}}')
    (tmp_path / "page.html").write_text("<p>The port is 7413.</p>")
    (tmp_path / "teacher.yaml").write_text(yaml.safe_dump({"rules": [{"replies": ["no"]}]}))
    return tmp_path


def test_what_is_edited_while_the_price_is_looked_at_is_what_is_improved(here: Path) -> None:
    class Slow(Unheard):
        def planned(self, plan: GeneratePlan) -> None:
            with (here / "skills" / "gauge" / "SKILL.md").open("a") as file:
                file.write("A line of mine.\n")

    settings = resolve_settings({"teacher": "scripted/teacher.yaml", "models": ("scripted/teacher.yaml",)})
    order = GenerateOrder(sources=("skills/gauge", "page.html"))
    with pytest.raises(TeacherUnusable):
        generate(order, settings=settings, listener=Slow())
    (asked,) = (here / "runs").glob("*/teacher.jsonl")
    assert "A line of mine." in asked.read_text()
