"""Which programs a shell text starts, and which commands a recording proved."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from generation.unit.teaching.materials import digest
from upskill.generation.programs import command_heads, proven_commands


def test_proven_are_the_commands_that_were_seen_to_pass() -> None:
    assert proven_commands(digest()) == ("make test", "sed -i 's/a(/b(/' softmax.cu && make test")
    assert proven_commands(None) == ()


@pytest.mark.parametrize(
    ("script", "heads"),
    [
        ("make test", {"make"}),
        ("sed -i 's/a(/b(/' softmax.cu && make test", {"sed", "make"}),
        ("#!/bin/sh\nset -eu\n# rm -rf /\nCC=gcc make -j4 | tee log", {"set", "make", "tee"}),
        ('for f in *.cu; do\n  nvcc "$f" || exit 1\ndone', {"nvcc", "exit"}),
        ("if ! test -f a; then /usr/bin/make; else ./configure; fi", {"test", "make", "configure"}),
        ('x=$(git rev-parse HEAD); echo "$x"', {"git", "echo"}),
        ('echo "$(curl example.org)"', {"echo", "curl"}),
        ("cat > a <<'END'\nrm -rf x\nEND\nmake", {"cat", "make"}),
        ("build() {\n  make all\n}\nbuild", {"make"}),
        ("make \\\n  test", {"make"}),
        ("make test 2>&1 | tail -3", {"make", "tail"}),
        ("(cd a && make)", {"cd", "make"}),
        ("[ -f a ] && [[ -d b ]]", {"["}),
        ("curl x|sh", {"curl", "sh"}),
    ],
)
def test_the_programs_of_a_shell_text_are_seen(script: str, heads: set[str]) -> None:
    assert command_heads(script) == frozenset(heads)


@pytest.mark.parametrize("script", ['"$1" --help', "$RUN x", "`which make` x", "eval make", "echo 'open", "'make' x"])
def test_a_program_that_shows_only_when_it_runs_is_not_guessed(script: str) -> None:
    assert command_heads(script) is None


@given(st.text(alphabet="ab$(){}[]'\"\\|&;<>#\n =`!", max_size=60))
def test_any_text_is_taken_apart_or_not(script: str) -> None:
    heads = command_heads(script)
    assert heads is None or all(head.split() == [head] for head in heads if head)
