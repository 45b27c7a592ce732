"""Values in the shape of secrets, made at run time: no file of this repository holds one whole."""

import hashlib
import random
import string
from typing import NamedTuple

LETTERS = string.ascii_letters
DIGITS = string.digits
ALNUM = LETTERS + DIGITS
LOWER = string.ascii_lowercase + DIGITS
HEX = "0123456789abcdef"
WORDY = ALNUM + "-_"
BASE64 = ALNUM + "+/"
ALPHABETS = {
    **{"ALNUM": ALNUM, "BASE64": BASE64, "DIGITS": DIGITS, "HEX": HEX, "LOWER": LOWER, "WORDY": WORDY},
    **{
        "UPPER": string.ascii_uppercase + DIGITS,
        "BASE32": string.ascii_uppercase + "234567",
        "SYMBOLS": ALNUM + "!@#%^&*(-_=+)",
    },
}


class Planted(NamedTuple):
    """A secret in the words around it. Nothing of `secrets` may be left of `text`."""

    name: str
    secrets: tuple[str, ...]
    text: str


def made_up(name: str, length: int, alphabet: str = ALNUM) -> str:
    """The same name gives the same characters, with a digit and a letter among them where the alphabet has both."""
    seed = 0
    while True:
        chance = random.Random(hashlib.sha256(f"{name}/{seed}".encode()).digest())
        value = "".join(chance.choice(alphabet) for _ in range(length))
        mixed = any(c.isdigit() for c in value) and any(c.isalpha() for c in value)
        if (mixed or not (set(alphabet) & set(DIGITS) and set(alphabet) & set(LETTERS))) and value[0].isalnum():
            return value
        seed += 1


def plant(name: str, text: str, *secrets: str) -> Planted:
    """`text` has `{}` for each secret, in order; other braces are doubled."""
    return Planted(name, secrets, text.format(*secrets))
