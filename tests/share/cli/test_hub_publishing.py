"""Publishing on the Hub: the real client `huggingface_hub`, the command as it is typed, and a stand-in for the Hub."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from arro3.io import read_parquet

from forking import Done
from hub_server import TOKEN, Hub
from share.made_evidence import RESULT, with_report
from typed import Upskill, make_port_skill
from upskill.core.nouns import Interval
from upskill.core.skills.skills import read_skill
from upskill.share.evidence import Evidence, evidence_text, measured_skill, read_evidence

DATASET, NAME = "datasets/team/skills", "team/skills"
PUBLISHED = {
    "README.md",
    "results.parquet",
    "skills/port/SKILL.md",
    "skills/port/evidence.json",
    "skills/port/evidence.md",
}
Typed = Callable[..., Done]


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as hub:
        yield hub


@pytest.fixture
def variables(hub: Hub, tmp_path: Path) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.endpoint, "HF_HOME": str(tmp_path / "hf"), "HF_TOKEN": TOKEN}


@pytest.fixture
def typed(upskill: Upskill, variables: dict[str, str]) -> Typed:
    def run(*words: str, **more: str) -> Done:
        return upskill(*words, **{**variables, **more})

    return run


@pytest.fixture
def skill(here: Path) -> Path:
    """A skill with cases and with evidence for two models, as it is typed."""
    folder = make_port_skill(here, cases=2)
    _measure(folder)
    return folder.relative_to(here)


def _measure(folder: Path, *, look: int = 2, judge: str | None = None) -> Evidence:
    """Write evidence beside a skill, as somebody measured it elsewhere."""
    unclear = {"mean": 0.125, "rate": 0.375, "these_cases": Interval(low=-0.2, high=0.45), "cases_like_these": None}
    cases = tuple(f"{number:064x}" for number in range(12))
    results = (
        replace(RESULT, cases=cases, look=look, level=0.0125, other_looks={"undecided": look - 1}, judge=judge),
        replace(
            with_report(student=("qwen|3", "local/qwen"), verdict="undecided", claim=None, lift=unclear), cases=cases
        ),
    )
    evidence = Evidence(skill=measured_skill(folder, read_skill(folder)), results=results, date="2026-11-15")
    (folder / "evidence.json").write_text(evidence_text(evidence))
    return evidence


def _files(hub: Hub) -> dict[str, bytes]:
    files = hub.repositories[DATASET].files
    return {path: file.data for path, file in files.items() if path != ".gitattributes"}


def _rows(data: bytes) -> list[dict[str, Any]]:
    table = read_parquet(data).read_all()
    columns = {name: [table.column(name)[row].as_py() for row in range(table.num_rows)] for name in table.column_names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _error(done: Done) -> list[str]:
    return done.stderr.splitlines()


def test_what_is_published_is_read_back_with_the_figures_of_its_evidence(
    typed: Typed, hub: Hub, here: Path, skill: Path
) -> None:
    done = typed("publish", str(skill), "--hub", NAME, "--yes")
    assert done.returncode == 0, done.stderr
    (repository,) = hub.repositories.values()
    commit = repository.branches["main"]
    assert done.stdout.splitlines()[0] == f"hf://{DATASET}: new, public"
    assert done.stdout.splitlines()[-1] == f"published: hf://{DATASET}@{commit}"
    assert (repository.messages, repository.private, set(_files(hub))) == (["Publish port"], False, PUBLISHED)
    assert {(one.host, one.token) for one in hub.requests} == {("127.0.0.1", TOKEN), ("localhost", None)}
    assert TOKEN not in done.stdout + done.stderr

    card = _files(hub)["README.md"].decode()
    settings = yaml.safe_load(card.split("---\n")[1])
    assert settings["configs"] == [{"config_name": "results", "data_files": "results.parquet"}]
    assert "**Self-reported:**" in card
    assert "| port | haiku | chat | 25% | 75% | +50 (+10 to +90) | ▲ helps | 12 | 12 | 2 | 2026-11-15 |" in card
    assert re.search(r"\| port \| qwen\S+3 \| chat \| 25% \| 3.% \|.* not counted \| 2026-11-15 \|", card), card

    evidence = read_evidence(here / skill)
    assert evidence is not None
    first, second = _rows(_files(hub)["results.parquet"])
    assert first == {
        "skill": "port",
        "skill_digest": evidence.skill.digest,
        "model": "haiku",
        "how": "chat",
        "against": "baseline",
        "cases": 12,
        "pairs": 12,
        "rate_without": 0.25,
        "rate_with": 0.75,
        "lift": 0.5,
        "low": 0.1,
        "high": 0.9,
        "confidence": 0.95,
        "claim": "cases like these",
        "verdict": "helps",
        "look": 2,
        "other_looks": 1,
        "date": "2026-11-15",
        "self_reported": True,
        "scripted": False,
        "judge": None,
        "upskill": "0.1.0",
    }
    assert (second["model"], second["low"], second["look"], second["verdict"]) == ("qwen|3", -0.2, None, "undecided")

    for words in (["lint"], ["install", "--for", "codex", "--yes"]):
        again = typed(words[0], f"hf://{DATASET}/skills/port", *words[1:])
        assert again.returncode == 0, again.stderr
    copy = here / ".agents/skills/port"
    assert (copy / "evidence.json").read_bytes() == (here / skill / "evidence.json").read_bytes()
    assert typed("publish", str(copy), "--hub", "team/copy", "--yes").returncode == 0
    copied = hub.repositories["datasets/team/copy"].files
    assert copied["results.parquet"] == repository.files["results.parquet"]
