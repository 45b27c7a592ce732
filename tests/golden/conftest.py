"""Commands are typed as in the tests of the command line."""

from typed import environment, here, home, upskill

__all__ = ["environment", "here", "home", "upskill"]
