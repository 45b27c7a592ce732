"""`toml`: TOML 1.0, by the parser of the standard library."""

import tomllib
from typing import Any

from upskill.checks.structured import NotRead, Structured


def parse_toml(text: str) -> Any:
    """The table of a TOML text. Raises `NotRead`."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise NotRead(f"not toml: {' '.join(str(error).split())[:200]}") from None
    except ValueError:
        raise NotRead("not toml: holds a number or a date that does not exist") from None


TOML = Structured("toml", parse_toml, languages=frozenset({"toml"}), exact_numbers=True)
