"""Two thousand lines without a secret: some by hand, the rest made from forms, always the same."""

import base64
import random
import re
import uuid
from collections.abc import Callable
from pathlib import Path

from secret_corpus.made_up import ALPHABETS

LINES = 2_000
_WORDS = ["parser", "kernel", "batch", "tensor", "queue", "worker", "router", "index", "schema", "layout", "socket"]
_WORDS += ["session", "token", "key", "secret", "password", "auth", "credential", "cookie", "signature", "vault"]
Chance = random.Random


def _of(chance: Chance, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


def _word(chance: Chance) -> str:
    return chance.choice(_WORDS)


def _name(chance: Chance) -> str:
    return "_".join(_word(chance) for _ in range(chance.randint(1, 3)))


def _path(chance: Chance) -> str:
    return "/".join(_word(chance) for _ in range(chance.randint(2, 4))) + chance.choice(
        (".py", ".ts", ".rs", ".go", ".yaml")
    )


def _uuid(chance: Chance) -> str:
    return str(uuid.UUID(int=chance.getrandbits(128), version=4))


def _picture(chance: Chance) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + chance.randbytes(90)).decode()


def _stamp(chance: Chance) -> str:
    day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    return f"{day}T{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:07Z"


_MAKERS: dict[str, Callable[[Chance], str]] = {
    "word": _word,
    "name": _name,
    "NAME": lambda chance: _name(chance).upper(),
    "dashed": lambda chance: _name(chance).replace("_", "-"),
    "path": _path,
    "uuid": _uuid,
    "picture": _picture,
    "stamp": _stamp,
}
_FIELD = re.compile(r"<(?:([A-Z]+\d*) (\d+)|(\d+) to (\d+)|(\w+)|([^<>]+\|[^<>]+))>")


def filled(form: str, chance: Chance) -> str:
    """The form with a value for each field: `<HEX 40>`, `<1 to 9>`, `<word>`, `<one|or|other>`."""

    def value(found: re.Match[str]) -> str:
        alphabet, length, least, most, maker, choices = found.groups()
        if alphabet:
            return _of(chance, ALPHABETS[alphabet], int(length))
        if least:
            return str(chance.randint(int(least), int(most)))
        return _MAKERS[maker](chance) if maker else chance.choice(choices.split("|"))

    return _FIELD.sub(value, form)


def lines_of(name: str) -> list[str]:
    return (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()


def harmless_lines() -> list[str]:
    """Exactly two thousand."""
    chance = random.Random(2_000)
    written, forms = lines_of("harmless.txt"), lines_of("harmless_forms.txt")
    made = [filled(forms[number % len(forms)], chance) for number in range(LINES - len(written))]
    return written + made
