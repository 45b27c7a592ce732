"""Commands are typed as in the tests of the command line."""

from cli.conftest import environment, forker, here, home, upskill

__all__ = ["environment", "forker", "here", "home", "upskill"]
