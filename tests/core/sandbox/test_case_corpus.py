"""The corpus of cases whose worth is known: what of it is rejected or labelled, and what is not.

The corpus is not changed to suit the code. If a figure falls here, the code has become worse.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from golden.held import hold
from upskill.core import checks
from upskill.core.cases.files import read_skill_cases
from upskill.core.cases.states import qualify
from upskill.core.checks import GradingContext
from upskill.core.nouns import Qualification
from upskill.core.skills.skills import read_skill
from upskill.sandbox import open_sandbox

CORPUS = Path(__file__).parents[2] / "corpus"
INDEX: dict[str, dict[str, Any]] = json.loads((CORPUS / "index.json").read_text(encoding="utf-8"))

LEAST_BROKEN_FOUND = 38
MOST_GOOD_REJECTED = 2


@pytest.fixture(scope="module")
def found() -> dict[str, Qualification]:
    """Every case of the corpus, by skill and id, with what is known of it."""
    known: dict[str, Qualification] = {}
    for folder in sorted(path for path in CORPUS.iterdir() if path.is_dir()):
        file = read_skill_cases(folder, check_problems=checks.check_problems)
        assert file is not None
        states = qualify(file.cases, read_skill(folder), context=GradingContext(open_sandbox=open_sandbox))
        known |= {f"{folder.name}/{one.case_id}": one for one in states}
    return known


def test_the_corpus_has_forty_broken_cases_of_eight_kinds_and_forty_good_ones() -> None:
    kinds = [entry["kind"] for entry in INDEX["broken"].values()]
    assert {kind: kinds.count(kind) for kind in INDEX["kinds"]} == dict.fromkeys(INDEX["kinds"], 5)
    assert len(INDEX["kinds"]) == 8
    assert len(INDEX["good"]) == 40


def test_broken_cases_are_rejected_or_labelled_and_good_ones_are_kept(found: dict[str, Qualification]) -> None:
    assert set(found) == {*INDEX["broken"], *INDEX["good"]}
    missed = [
        f"{name} ({entry['kind']})"
        for name, entry in INDEX["broken"].items()
        if found[name].state != "rejected" and "leaks" not in found[name].labels
    ]
    lost = [f"{name}: {found[name].reasons[0].saw}" for name in INDEX["good"] if found[name].state == "rejected"]
    assert len(INDEX["broken"]) - len(missed) >= LEAST_BROKEN_FOUND, missed
    assert len(lost) <= MOST_GOOD_REJECTED, lost


def test_every_case_that_is_not_qualified_says_why_and_what_to_change(found: dict[str, Qualification]) -> None:
    for name, one in found.items():
        if one.state != "qualified":
            assert one.reasons, name
            assert one.reasons[0].change, name


def test_most_good_cases_are_shown_to_be_good(found: dict[str, Qualification]) -> None:
    assert sum(found[name].state == "qualified" for name in INDEX["good"]) >= 28


def test_every_case_has_the_state_and_the_labels_that_it_had(found: dict[str, Qualification]) -> None:
    """Flaky cases are counted above only: first-word passes all its gradings in about 3 of 100 tries."""
    hold(
        "values/cases",
        {
            name: [one.state, sorted(one.labels), one.mutants, len(one.slipped), len(one.reasons)]
            for name, one in sorted(found.items())
            if INDEX["broken"].get(name, {}).get("kind") != "flaky"
        },
    )
