"""A long session with errors and fixes planted far apart: how many does its digest hold?"""

from pathlib import Path

import pytest

from long_session import CORRECTIONS, PLANTED, TASK, held, write_long_session
from upskill.traces import read_traces
from upskill.traces.digesting import Digester


@pytest.fixture(scope="module")
def session(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("long") / "session.jsonl"
    write_long_session(path, megabytes=3)
    return path


def test_all_planted_pairs_are_in_the_digest_and_none_in_the_first_4000_characters(session: Path) -> None:
    (trace,) = read_traces(session).traces
    digesting = Digester()
    summary = digesting.add(trace, name=session.name)
    digest = digesting.digest()
    assert session.stat().st_size > 3_000_000
    assert held(session.read_text(encoding="utf-8")[:4_000]) == 0
    assert held(digest.text) == len(PLANTED)
    assert TASK in digest.text
    assert all(words in digest.text for words in CORRECTIONS)
    assert "`make check` passed: all 412 checks passed" in digest.text
    assert summary.marked_failures > 100


def test_a_quarter_of_the_budget_still_holds_all_of_them(session: Path) -> None:
    (trace,) = read_traces(session).traces
    digesting = Digester(budget=1_500)
    digesting.add(trace, name=session.name)
    digest = digesting.digest()
    assert digest.tokens <= 1_500
    assert held(digest.text) == len(PLANTED)
    assert digest.left_out
