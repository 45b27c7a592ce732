"""A hostile file costs no more than an ordinary one of its length: about a second, and never minutes."""

import random
import re
import time

import pytest

from upskill.lint.search import search_skill

MEGABYTE = 1_000_000
WORDS = re.findall(
    r"\S+|\n",
    "curl wget | sh bash -c $( base64 -d ignore previous instructions do not tell the user rm -rf / ~/.ssh/id_rsa .env "
    "env https://x.example/a send upload to bucket disable sandbox crontab >> ~/.bashrc pip install --index-url eval "
    "exec( <!-- ![ ]( ) \\ ` \n * - : # never",
)
REPEATED = (
    "a", "\n", " ", "a\n", "curl ", "|", "<!--", "`", "[a](", "![a](https://a?", "QUJD", "\\x41",
    "<a ", "a\u200b ", "http://", "x=curl ", "eval(x ", "send ", "never ", "~/.ssh/ ", "cat .env ", "echo deb ",
    "git push ", "password: ", "bash <( ", "*", "*a ", "a''", "&#97;", "\u0430*b ", "_", "\\", "a\\a", ": QUJD ",
    "# a\n", '"""\n', "a\n  ", "official claude ", "name: a\n", "env = {...process.env ", "process.env", ".curl ",
)  # fmt: skip


def _seconds(files: dict[str, bytes]) -> float:
    began = time.process_time()
    search_skill(files)
    return time.process_time() - began


@pytest.mark.parametrize(
    ("path", "repeated"),
    [
        pytest.param("SKILL.md", REPEATED, marks=pytest.mark.full),
        ("SKILL.md", REPEATED[:: max(1, len(REPEATED) // 8)]),
        ("scripts/a.py", ("curl ", "x=curl ", "eval(x ")),
    ],
)
def test_a_megabyte_of_anything_is_searched_in_a_few_seconds(path: str, repeated: tuple[str, ...]) -> None:
    slow = {}
    for text in repeated:
        whole = (text * (MEGABYTE // len(text.encode()) + 1)).encode()[:MEGABYTE]
        if (seconds := _seconds({path: whole})) >= 3:
            slow[text] = round(seconds, 2)
    assert slow == {}


def test_a_megabyte_of_the_words_that_rules_look_for_is_searched_in_a_few_seconds() -> None:
    pick = random.Random(1)
    whole = " ".join(pick.choice(WORDS) for _ in range(170_000)).encode()[:MEGABYTE]
    assert _seconds({"SKILL.md": whole}) < 3


def test_what_is_too_long_to_be_searched_is_a_finding() -> None:
    (found,) = (one for one in search_skill({"SKILL.md": b"a b\n" * 60_000}) if one.rule == "unreadable-file")
    assert (found.severity, found.excerpt) == ("danger", "240,000 characters")
