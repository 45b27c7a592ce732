"""The whole GitHub Action on a repository with three skills: one push makes a skill worse, the next one mends it.

The scripts run in the order of `action.yml`, against a provider and a GitHub API on loopback.
"""

import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from forking import Forker
from provider import Behaviour, Provider, ReceivedRequest
from share.cli.forked_upskill import ForkedUpskill
from share.cli.gate import ACTION, TOKEN, Gate, new_gate
from share.cli.github_api import GitHub

ALL = range(1, 13)
MENDED = "Answer with the code alone."


def code(name: str, item: int) -> str:
    return f"{name[0]}{item}{item * 37 % 100}x"


def write_skill(gate: Gate, name: str, known: Iterable[int], more: str = "") -> None:
    """A skill that knows the codes of these items, with a case for each of twelve."""
    facts = "\n".join(f"- The code of item {item} of {name} is {code(name, item)}." for item in known)
    head = (
        f"---\nname: {name}\ndescription: Knows codes. Use when asked for a code of {name}.\n---\n# Codes of {name}\n"
    )
    gate.write(f"skills/{name}/SKILL.md", f"{head}\n{more}\n\n{facts}\n")
    cases = [
        {
            "id": f"code-{item}",
            "input": f"The code of item {item} of {name}?",
            "expected": {"contains": code(name, item)},
        }
        for item in ALL
    ]
    gate.write(f"skills/{name}/skill_meta.json", json.dumps({"cases": cases}))


def look_up(asked: ReceivedRequest) -> Behaviour:
    """A model that answers from the skill, and knows nothing else."""
    (question,) = re.findall(r"item \d+ of \w+", asked.prompt)
    found = re.search(rf"{question} is (\w+)", asked.system)
    return Behaviour(text=f"It is {found[1]}." if found else "I do not know.")


def scripts() -> list[str]:
    """Those that the action runs, in its order, without installing and naming the cache."""
    steps: list[dict[str, Any]] = yaml.safe_load((ACTION / "action.yml").read_text("utf-8"))["runs"]["steps"]
    named = [re.sub(r'.*/|"', "", step["run"]) for step in steps if "run" in step]
    return [name for name in named if name not in ("install.sh", "cache-key.sh")]


def test_a_push_that_makes_a_skill_worse_and_one_that_mends_it(tmp_path: Path, forker: Forker) -> None:
    gate = new_gate(tmp_path)
    write_skill(gate, "anchor", range(1, 9))
    write_skill(gate, "beacon", ALL)
    write_skill(gate, "cable", ALL)
    base = gate.commit("base")
    write_skill(gate, "anchor", ALL)
    write_skill(gate, "beacon", range(1, 3))
    gate.commit("change")
    with (
        Provider(look_up) as provider,
        GitHub() as api,
        ForkedUpskill(forker, tmp_path / "bin") as upskill,
    ):
        gate.variables = {
            "PATH": f"{upskill.folder}:{os.environ['PATH']}",
            "GATE_BASE": base,
            "GATE_SKILLS": "skills",
            "GATE_MODELS": "any",
            "GATE_BASE_URL": provider.url,
            "GATE_REQUIRE": "no-harm",
            "GATE_MAX_COST": "2",
            "GATE_TOKEN": TOKEN,
            "GATE_PULL_REQUEST": "7",
            "GATE_REPORT_URL": "https://github.com/team/skills/actions/runs/1/artifacts/2",
            "GITHUB_API_URL": api.url,
            "GITHUB_REPOSITORY": "team/skills",
        }
        order = ["changed-skills.sh", "lint.sh", "evaluate.sh", "summary.sh", "comment.sh"]
        assert scripts() == order
        codes = {name: gate.script(name).returncode for name in order}
        assert codes == dict.fromkeys(order, 0) | {"evaluate.sh": 1}
        assert gate.folders("changed") == ["skills/anchor", "skills/beacon"]
        # Each case twice in both versions of both skills; what looks broken in beacon, up to four copies of an answer.
        assert len(provider.requests) == 2 * 2 * 2 * 12 + 2 * 2 * 10

        (comment,) = api.comments
        said = comment["body"].replace("\u00a0", " ")
        assert said.startswith("<!-- upskill -->\n### upskill: 1 of 2 skills breaks 10 cases (code-10 and 9 more)\n")
        broken = "beacon breaks 10 of 12 cases (code-10, code-11, code-12 and 7 more) for any"
        assert f"**{broken}: from 100% to 17%, −83 points (95% CI" in said
        assert "| beacon | any | ▼ breaks | `···●━━━━━━━━━━━━━━━━○` | 100% → 17% |" in said
        assert "| anchor | any | ? undecided | `·············○╌╌╌╌╌╌●` | 67% → 100% |" in said
        assert "10 cases of beacon pass less often than before" in said
        assert "- code-3 (any): 4 of 4 passed, now 0\n" in said
        assert "- beacon: body\n" in said
        assert "**Lint**: no findings in 2 skills." in said
        assert "136 calls (price unknown), 0 answers from the cache" in said
        assert "[Reports with every answer](<https://github.com/team/skills/actions/runs/1/artifacts/2>)" in said
        assert f"upskill eval skills/anchor skills/beacon --model any --compare git:{base} --require no-harm" in said
        assert "cable" not in said
        assert (gate.home / "summary.md").read_text("utf-8") == comment["body"]
        assert json.loads((gate.out / "lint.sarif").read_text("utf-8"))["version"] == "2.1.0"
        results = json.loads((gate.out / "results.json").read_text("utf-8"))
        assert [one["folder"] for one in results["skills"]] == ["skills/anchor", "skills/beacon"]
        suites = ElementTree.parse(gate.out / "junit.xml").getroot()
        assert [suite.get("name") for suite in suites] == ["anchor / any", "beacon / any"]
        assert len(list(gate.out.glob("runs/*/report.html"))) == 2

        provider.requests.clear()
        write_skill(gate, "beacon", ALL, more=MENDED)
        gate.commit("mend")
        assert [gate.script(name).returncode for name in order] == [0] * len(order)
        assert len(provider.requests) == 24
        assert all(MENDED in asked.system for asked in provider.requests)
        (comment,) = api.comments
        assert "### upskill: 2 skills measured, none is shown to be worse\n" in comment["body"]
        assert "24 calls (price unknown), 72 answers from the cache" in comment["body"]
        assert api.methods == ["GET", "POST", "GET", "PATCH"]
