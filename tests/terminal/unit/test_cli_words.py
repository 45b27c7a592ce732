"""What is typed, before any command sees it."""

import pytest

from upskill.cli import with_hyphens


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("–model", "--model"),
        ("—model=haiku — fast", "--model=haiku — fast"),
        ("––no-baseline", "--no-baseline"),
        ("–m", "-m"),
        ("‑v", "-v"),
        ("--model", "--model"),
        ("– a task that begins so", "– a task that begins so"),
        ("–model of a task", "–model of a task"),
        ("a–b", "a–b"),
        ("–", "–"),
        ("–7", "–7"),
    ],
)
def test_long_dashes_of_a_pasted_command_are_hyphens(typed: str, meant: str) -> None:
    assert with_hyphens(typed) == meant
