"""`upskill sweep plan` and `sweep status` as a person types them: no model is asked, and it says what is left."""

import json
from pathlib import Path

import pytest

from provider import Provider
from typed import Upskill, make_port_skill

MANIFEST = """format = "upskill.sweep/1"
skills = ["skills/*/"]
students = ["any", "other"]
base_url = "{url}"
[limits.any]
requests_per_minute = 6
"""


@pytest.fixture
def skills(here: Path) -> Path:
    """Two skills with six cases each, and one without."""
    port = make_port_skill(here, cases=6)
    other = port.with_name("other-port")
    other.mkdir()
    (other / "SKILL.md").write_text((port / "SKILL.md").read_text().replace("name: port", "name: other-port"))
    (other / "skill_meta.json").write_bytes((port / "skill_meta.json").read_bytes())
    bare = port.with_name("bare\x1b[31m")
    bare.mkdir()
    (bare / "SKILL.md").write_text("---\nname: bare\ndescription: Has no cases.\n---\nText.\n")
    return port.parent


def test_a_plan_says_what_it_takes_and_asks_nobody(skills: Path, here: Path, upskill: Upskill) -> None:
    with Provider() as provider:
        (here / "sweep.toml").write_text(MANIFEST.format(url=provider.url))
        done = upskill("sweep", "plan", "sweep.toml", "--at", "at", "-j", "2")
        assert done.returncode == 0, done.stderr
        found = json.loads(upskill("sweep", "plan", "sweep.toml", "--at", "at", "--json").stdout)
        assert provider.requests == []
        lines = done.stdout.splitlines()
        assert lines[0] == "3 skills on 2 models: 2 evaluations; 0 done, 2 left"
        assert f"  any, openai-api/endpoint/any at {provider.url}" in lines
        assert done.stderr.splitlines()[0] == f"models are asked at {provider.url} (base_url in sweep.toml)"
    assert "price         unknown for any, other" in lines
    assert "what binds    any: 6 requests per minute" in lines
    assert "  skills/bare\\x1b[31m: bare: there are no cases" in lines
    assert "note: the cap on cost does not count any, other, whose price is unknown" in lines
    assert done.stderr.splitlines()[-1] == "next, run it: upskill sweep run at"
    assert found["schema"] == "upskill.sweep-forecast/1"
    assert (found["skills"], found["evaluations"], found["done"], found["left"]) == (3, 2, 0, 2)
    assert found["price"] == {"expected": None, "at_most": None}
    assert [one["skill"] for one in found["refused"]] == ["skills/bare\x1b[31m"]
    status = upskill("sweep", "status", "at")
    assert "evaluations    0 of 2 done, 2 left" in status.stdout.splitlines()
    assert json.loads(upskill("sweep", "status", "at", "--json").stdout)["schema"] == "upskill.sweep-status/1"


def test_a_server_that_does_not_answer_is_an_error_of_the_plan(skills: Path, here: Path, upskill: Upskill) -> None:
    (here / "sweep.toml").write_text(MANIFEST.format(url="http://127.0.0.1:9/v1"))
    done = upskill("sweep", "plan", "sweep.toml", "--at", "at")
    assert done.returncode != 0
    assert "error: any: no server answers at http://127.0.0.1:9/v1" in done.stderr
    assert not (here / "at").exists()
