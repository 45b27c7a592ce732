"""Two versions of a text as a diff: what is marked, and what a stranger's text cannot make it do."""

import time

from upskill.generation.story import LONGEST_LINE, MOST_COMPARED, MOST_SHOWN, text_diff


def test_added_and_removed_lines_are_marked_with_their_file() -> None:
    found = text_diff({"SKILL.md": "one\ntwo\n", "same.md": "x"}, {"SKILL.md": "one\nthree\n", "same.md": "x"})
    assert [(line.mark, line.text) for line in found.lines] == [
        ("file", "SKILL.md"),
        ("place", "@@ -1,2 +1,2 @@"),
        ("same", " one"),
        ("removed", "-two"),
        ("added", "+three"),
    ]
    assert found.left_out == 0


def test_a_file_that_is_new_or_gone_is_wholly_added_or_removed() -> None:
    found = text_diff({"old.md": "a"}, {"new.md": "b"})
    assert [(line.mark, line.text) for line in found.lines if line.mark in ("added", "removed")] == [
        ("removed", "-a"),
        ("added", "+b"),
    ]


def test_nothing_changed_and_one_line_feed_more_are_no_lines() -> None:
    assert text_diff({"a": "x\n"}, {"a": "x"}).lines == ()
    assert text_diff({}, {}).lines == ()


def test_a_line_that_begins_like_a_diff_is_not_mistaken() -> None:
    found = text_diff({"a": "-- x"}, {"a": "++ x"})
    assert [line.mark for line in found.lines] == ["file", "place", "removed", "added"]


def test_long_texts_and_lines_are_cut_and_counted() -> None:
    old, new = ("\n".join(f"{word} {n}" for n in range(MOST_COMPARED + 50)) for word in ("old", "new"))
    found = text_diff({"a": old}, {"a": new})
    assert len(found.lines) == MOST_SHOWN
    assert found.left_out > 2 * MOST_COMPARED - MOST_SHOWN
    assert len(text_diff({"a": "x"}, {"a": "y" * 10_000}).lines[-1].text) == LONGEST_LINE


def test_lines_that_all_look_alike_are_compared_in_time() -> None:
    lines = [f"{n % 90}" for n in range(MOST_COMPARED)]
    began = time.process_time()
    text_diff({"a": "\n".join(lines)}, {"a": "\n".join(reversed(lines))})
    assert time.process_time() - began < 5
