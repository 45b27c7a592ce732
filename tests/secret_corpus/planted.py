"""Secrets as they turn up in recorded work: what providers document, in the places where people leave them."""

import base64
import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from urllib.parse import quote

import yaml

from secret_corpus.made_up import ALPHABETS, Planted, made_up, plant

_MADE_UP = re.compile(r"<(\w+) (?:uuid|(\d+) ?(\w*))>")


def _block(label: str, name: str, lines: int = 6) -> tuple[str, tuple[str, ...]]:
    rows = tuple(made_up(f"{name}{row}", 64, ALPHABETS["BASE64"]) for row in range(lines))
    edge = "-" * 5
    return "\n".join([f"{edge}BEGIN {label}{edge}", *rows, f"{edge}END {label}{edge}"]), rows


def _b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _value(found: re.Match[str]) -> str:
    name, length, alphabet = found.groups()
    if length is None:
        return "-".join(made_up(f"{name}{part}", part, ALPHABETS["HEX"]) for part in (8, 4, 4, 4, 12))
    return made_up(name, int(length), ALPHABETS[alphabet or "ALNUM"])


_CODINGS: dict[str, Callable[[str], str]] = {
    "base64": _b64,
    "quoted": lambda text: quote(text, safe=""),
    "hex": lambda text: text.encode().hex(),
    "utf16": lambda text: base64.b64encode(text.encode("utf-16-le")).decode(),
}


def secret_from(template: str) -> str:
    """The secret that a template stands for, made up and, where its first word says so, encoded."""
    value = _MADE_UP.sub(_value, template)
    coding, _, text = value.partition(" ")
    return _CODINGS[coding](text) if coding in _CODINGS else value


@cache
def _listed() -> dict[str, list[Planted]]:
    groups = yaml.safe_load((Path(__file__).parent / "planted.yaml").read_text(encoding="utf-8"))
    return {
        group: [plant(name, text, *map(secret_from, secrets)) for name, text, *secrets in entries]
        for group, entries in groups.items()
    }


def _keys() -> list[Planted]:
    """Private keys, which stand in blocks of lines."""
    rsa, rsa_rows = _block("RSA PRIVATE KEY", "rsa")
    ssh, ssh_rows = _block("OPENSSH PRIVATE KEY", "ssh")
    pgp, pgp_rows = _block("PGP PRIVATE KEY BLOCK", "pgp")
    ec, ec_rows = _block("EC PRIVATE KEY", "ec", 2)
    account, account_rows = _block("PRIVATE KEY", "gcp", 8)
    service = {"type": "service_account", "project_id": "acme-1", "private_key": account + "\n"}
    cluster = _b64(_block("RSA PRIVATE KEY", "kube", 3)[0])
    return [
        Planted("rsa key", rsa_rows, f"$ cat server.key\n{rsa}\n$"),
        Planted("ssh key escaped in json", ssh_rows, json.dumps({"stdout": f"{ssh}\n", "code": 0})),
        Planted("gcp service account", account_rows, json.dumps(service, indent=2)),
        Planted("pgp key", pgp_rows, f"gpg --export-secret-keys\n{pgp}"),
        Planted("ec key in yaml", ec_rows, "tls:\n  key: |\n" + "\n".join("    " + row for row in ec.split("\n"))),
        plant("kubeconfig", "users:\n- name: admin\n  user:\n    client-key-data: {}", cluster),
    ]


def all_planted() -> list[Planted]:
    """Every planted secret; names are unique."""
    return [*_listed()["known_families"], *_listed()["beyond"], *_keys()]


def held_apart() -> list[Planted]:
    """Forms unknown when the patterns were written: taken from public lists and reports afterwards."""
    return [*_listed()["shapes"], *_listed()["places"]]


def second_list() -> list[Planted]:
    """Forms read after the mending; nothing was changed for them."""
    return _listed()["second_list"]
