"""Completion of commands and options, as a shell asks for it."""

import pytest

from typed import Upskill


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_ask(shell: str, upskill: Upskill) -> None:
    done = upskill("completion", shell)
    assert done.returncode == 0, done.stderr
    assert f"_UPSKILL_COMPLETE={shell}_complete" in done.stdout


@pytest.mark.parametrize(("typed", "offered"), [("upskill ev", "eval"), ("upskill eval --prac", "--practice")])
def test_commands_and_options_are_offered(typed: str, offered: str, upskill: Upskill) -> None:
    last = str(len(typed.split()) - 1)
    done = upskill(_UPSKILL_COMPLETE="bash_complete", COMP_WORDS=typed, COMP_CWORD=last)
    assert f"plain,{offered}" in done.stdout.splitlines()
