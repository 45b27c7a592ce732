"""Commands are typed as in the tests of the command line."""

from cli.conftest import environment, here, home, upskill

__all__ = ["environment", "here", "home", "upskill"]
