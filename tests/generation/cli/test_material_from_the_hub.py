"""A `generate` from a repository on the Hub, by a stand-in for it: what it was made from is named with its commit."""

import json
from pathlib import Path

from hub_server import Hub
from provider import Behaviour, Provider
from typed import Upskill

NOTES = "# Notes\n\nThe port is 7413.\n"
SKILL = "---\nname: port\ndescription: Knows the port of the service.\n---\nThe port is 7413.\n"


def test_material_from_the_hub_is_recorded_with_its_commit_and_a_skill_in_the_cache_is_not_replaced(
    upskill: Upskill, here: Path, tmp_path: Path
) -> None:
    with Hub() as hub, Provider(lambda _: Behaviour(status=400)) as teacher:
        notes = hub.repository("datasets/team/notes", {"in/notes.md": NOTES}).branches["main"]
        skill = hub.repository("models/team/port", {"port/SKILL.md": SKILL}).branches["main"]
        asked = ("--from", "hf://datasets/team/notes/in/notes.md", "--from", "hf://team/port/port")
        words = ("--model", "any", "--base-url", teacher.url, "--no-eval", "--yes")
        upskill("generate", "the port", *asked, *words, HF_ENDPOINT=hub.endpoint, HF_HOME=str(tmp_path / "hf"))
    (run,) = (here / "runs").glob("*-generate-*")
    material = json.loads((run / "material.json").read_text())
    assert material["sources"] == [f"hf://datasets/team/notes@{notes}/in/notes.md", f"hf://team/port@{skill}/port"]
    assert "7413" in material["documents"][0]["text"]
    target = json.loads((run / "generate.json").read_text())["order"]["target"]
    assert (target["in_place"], target["parent"]) == (False, str(here / "skills"))
