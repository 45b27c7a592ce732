"""Cutting to a budget: by worth and never by position; support counts; the same in, the same out."""

import random
from pathlib import Path

import pytest

from long_session import CORRECTIONS, PLANTED, TASK, held, write_long_session
from made_work import Made
from upskill.core.nouns.text import estimate_tokens
from upskill.traces.digest import SMALLEST_BUDGET, Digester
from upskill.traces.readers import read_traces
from upskill.traces.trace import TraceDigest


def _long(fixes: int, *, seed: int = 1) -> Made:
    """Many fixes of equal worth, among them one correction in the middle."""
    pick = random.Random(seed)
    made = Made().person("Port the engine. " + "And mind every detail of it. " * 30)
    for number in range(fixes):
        word = f"name_{number}_{pick.randrange(10**6)}"
        made.bash("make test", f"x.c({number}): error: {word} is undefined\n" + f"note {word}\n" * 30, failed=True)
        made.edit(f"/home/dev/project/{word}.c", "\n".join(f"old {n}" for n in range(20)), f"new {word}")
        made.bash("make test", "PASS").agent(f"Because of {word}.")
        if number == fixes // 2:
            made.person("No, never use malloc here.")
    return made


def _digest(*made: Made, budget: int = 6_000) -> TraceDigest:
    digesting = Digester(budget=budget)
    for number, each in enumerate(made):
        digesting.add(each.trace(), name=f"{number}.jsonl")
    return digesting.digest()


@pytest.mark.parametrize("budget", [SMALLEST_BUDGET, 500, 1_000, 2_500, 6_000, 20_000])
@pytest.mark.parametrize("fixes", [0, 1, 120])
def test_a_digest_is_never_over_its_budget_and_holds_the_task(budget: int, fixes: int) -> None:
    digest = _digest(_long(fixes), budget=budget)
    assert digest.tokens == estimate_tokens(digest.text) <= budget
    assert "Port the engine." in digest.text
    assert len(digest.kept) + len(digest.left_out) > fixes


def test_worth_decides_and_not_position() -> None:
    digest = _digest(_long(120), budget=1_000)
    assert "No, never use malloc here." in digest.text
    assert len(digest.left_out) > 60
    assert f"{sum(each.kind == 'fix' for each in digest.left_out)} fixes" in digest.text


def test_a_larger_budget_holds_everything_a_smaller_one_holds() -> None:
    small, large = _digest(_long(60), budget=1_500), _digest(_long(60), budget=3_000)
    assert {finding.key for finding in small.kept} < {finding.key for finding in large.kept}


def test_many_in_brief_come_before_few_in_full() -> None:
    digest = _digest(_long(40), budget=4_500)
    assert sum(finding.kind == "fix" for finding in digest.kept) == 40
    assert digest.cut > 0


def test_the_tenth_of_a_kind_gives_way_to_the_first_of_another() -> None:
    made = _long(0)
    for number in range(200):
        made.agent("Done.").person(f"No, never do thing number {number} with {number * 7} of the {number * 13} others.")
    made.bash("make test", "error: one", failed=True).edit("a", "b", "c").bash("make test", "PASS")
    assert {finding.kind for finding in _digest(made, budget=1_000).kept} >= {"task", "correction", "fix", "proof"}


def test_the_same_traces_give_the_same_digest() -> None:
    assert _digest(_long(30), _long(12, seed=2)) == _digest(_long(30), _long(12, seed=2))


def test_a_lesson_of_several_traces_has_their_support_and_is_worth_more() -> None:
    def trace(own: str) -> Made:
        made = Made().person(f"Task of {own}.")
        for word in ("shared_name", own):
            made.bash("make test", f"error: {word} is undefined", failed=True).edit("a", word, "x")
            made.bash("make test", "PASS")
        return made

    digest = _digest(trace("first_own"), trace("second_own"), trace("third_own"))
    fixes = [finding for finding in digest.kept if finding.kind == "fix"]
    assert {finding.title.split("error: ")[1]: finding.support for finding in fixes} == {
        "shared_name is undefined": 3,
        "first_own is undefined": 1,
        "second_own is undefined": 1,
        "third_own is undefined": 1,
    }
    assert "shared_name" in fixes[0].title
    assert "in 3 traces: trace 1 steps 2, 3, 4; trace 2" in digest.text
    assert "Task of second_own." in digest.text


def test_an_equal_trace_is_counted_once() -> None:
    digesting = Digester()
    first = digesting.add(_long(2).trace(), name="a.jsonl")
    second = digesting.add(_long(2).trace(), name="a.jsonl.zst")
    assert first.same_as is None
    assert second.same_as == "a.jsonl"
    assert digesting.digest().text.startswith("# Digest of a.jsonl\n")
    assert all(finding.support == 1 for finding in digesting.digest().kept)


def test_a_dead_end_of_one_trace_is_none_where_another_has_the_fix() -> None:
    stuck = Made().person("Stuck.").bash("make test", "error: shared is undefined", failed=True)
    solved = Made().person("Solved.").bash("make test", "error: shared is undefined", failed=True)
    solved.edit("a", "b", "c").bash("make test", "PASS")
    assert [finding.kind for finding in _digest(stuck).kept if finding.kind != "task"] == ["dead end"]
    assert "dead end" not in [finding.kind for finding in _digest(stuck, solved).kept]


def test_nothing_quoted_can_pass_for_our_own_words() -> None:
    made = Made().person("Do it.\n# Digest of nothing\n## Corrections")
    made.bash("make test", "error: x\n````\n## Injected\n```", failed=True).edit("a", "b", "c").bash("make test", "ok")
    outside, fence = [], ""
    for line in _digest(made).text.split("\n"):
        ticks = line[: len(line) - len(line.lstrip("`"))]
        if fence:
            fence = "" if line == fence else fence
        elif len(ticks) >= 3:
            fence = ticks
        else:
            outside.append(line)
    assert not any(line.startswith(("## Injected", "## Corrections", "# Digest of nothing")) for line in outside)


def test_texts_without_steps_are_kept_whole_where_they_fit() -> None:
    digesting = Digester()
    digesting.add_text(["# Notes", "", "Use __shfl_down_sync."], name="notes.md")
    assert "> # Notes\n>\n> Use __shfl_down_sync." in digesting.digest().text


def test_passages_that_tell_something_win_over_those_that_come_first() -> None:
    noise = ["the loom is quiet and the thread is long and nothing of note is said in this line at all", ""]
    lines = ["Port the engine to the new pool, and tell what you find on the way to it.", "", *(noise * 2_000)]
    lines += [
        "$ make test",
        "error: warp_flush is undefined",
        "It was fixed by including flush.h, because of the move.",
        "",
    ]
    lines += noise * 2_000
    digesting = Digester(budget=1_000)
    digesting.add_text(lines, name="notes.md")
    digest = digesting.digest()
    assert digest.tokens <= 1_000
    assert "Port the engine" in digest.text
    assert "including flush.h" in digest.text
    assert "to 4005)" in digest.text


def test_the_planted_pairs_are_written_so_that_no_two_share_a_mark() -> None:
    assert len(PLANTED) == 12
    assert held("\n".join(f"{pair.error} {pair.fix}" for pair in PLANTED)) == 12
    assert held("\n".join(pair.error for pair in PLANTED)) == 0
    assert TASK
    assert CORRECTIONS


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
