"""Why there is no sandbox, in words."""

from upskill.errors import EXIT_FAILED
from upskill.sandbox.backends import install_command, unavailable


def test_a_refusal_names_what_is_missing_and_a_command() -> None:
    refusal = unavailable("bubblewrap is not installed")
    assert refusal.exit_code == EXIT_FAILED
    assert refusal.message == "no sandbox: bubblewrap is not installed"
    assert refusal.hint == install_command()
    assert "bubblewrap" in (refusal.hint or "")


def test_every_refusal_has_a_next_step() -> None:
    for what in ("bwrap: setting up uid map: Permission denied", "there is no system call filter for riscv64", ""):
        assert unavailable(what).hint
