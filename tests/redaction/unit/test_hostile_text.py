"""Texts made to be slow, to be missed or to be broken apart, and texts with nothing to hide."""

import json
import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from secret_corpus.harmless import harmless_lines
from secret_corpus.planted import all_planted
from upskill.redaction import families, redactor_from

LONG = [60_000, pytest.param(1_000_000, marks=pytest.mark.full)]
SECONDS = 20.0
"""A pattern that goes wrong takes minutes to hours on these; a slow and busy machine takes a few seconds."""

PIECES = {
    "letters": "a",
    "capitals": "A",
    "digits": "1",
    "token characters": "aB3_",
    "spaces": " ",
    "lines": "\n",
    "escapes": "\\",
    "quotes": '"',
    "escaped quotes": '\\"',
    "names": "password",
    "assignments": "password=",
    "quoted assignments": 'password="',
    "escaped assignments": 'password\\\\\\":\\\\\\"',
    "flags": "--token ",
    "headers": "Authorization: ",
    "bearers": "Bearer ",
    "cookies": "Cookie: a=",
    "cookie pairs": "Cookie: " + "a=b;" * 50,
    "addresses": "://a:",
    "address users": "://a:b@",
    "beginnings": "-----BEGIN PRIVATE KEY-----",
    "beginnings coded": "LS0tLS1CRUdJTi",
    "logins": "login a password ",
    "mysql": "mysql -p ",
    "users": "curl -u a:",
    "web tokens": "eyJ",
    "web tokens with dots": "eyJaaaaaaaaaaaaaaaaaaaa.",
    "hooks": "hooks.slack.com/services/",
    "dollars": "$2b$",
    "colons": ":5432:a:b:",
    "cells": "token | ",
    "elements": "<password>",
    "values": 'KEY" value="',
    "types": "password: str | None = ",
    "blocks": "token: |\n ",
    "putty": "Private-Lines: 9\nAAAA\n",
    "webs of dashes": "a-b_",
    "non-ASCII": "ü€𝄞",
    "placeholders": "[redacted: password]",
    "columns": "password,password",
    "rows": "user,password\n",
    "tables": "| user | password |\n|---|---|\n",
    "tabs": "password\t",
    "prompts": "Password for a: ",
    "next lines": "password:\n",
    "short flags": "redis-cli -a ",
    "pipes": "echo a | sudo -S ",
    "here strings": "<<<a",
    "inserts": "insert into a (password) values (",
    "queries": "?code=",
    "links": "://magic/",
    "manifests": "kind: Secret\ndata:\n  a: ",
    "codes": "recovery codes:\nab1c-de2f\n",
    "encoded text": "cGFzc3dvcmQ9",
    "dumps": "00000000: 4142 4344  abcd\n",
    "other languages": "\\u043f\\u0430",
    "strings side by side": 'token="a1b2c3d4e5" ',
    "lines behind a backslash": "token=a1b2c3d4e5\\\n",
    "phrases": "passphrase is one two three four ",
    "pairs": 'auth("a", "b1", ',
    "defaults": 'password = getenv("a", ',
    "spoken": "abcd1 as the password ",
    "sent": 'assword:"\nsend "',
    "passwords for": "password for the box of ",
}


@pytest.mark.parametrize("length", LONG)
@pytest.mark.parametrize("piece", PIECES.values(), ids=PIECES)
def test_a_long_text_of_anything_is_read_in_time(piece: str, length: int) -> None:
    text = (piece * (length // len(piece) + 1))[:length]
    started = time.process_time()
    redactor_from({"OWN_KEY": "Zq9xV3mT7kPw"}).clean(text)
    assert time.process_time() - started < SECONDS


@pytest.mark.parametrize("length", [5_000, pytest.param(20_000, marks=pytest.mark.full)])
@pytest.mark.parametrize("anchor", sorted({anchor for family in families.FAMILIES for anchor in family.anchors}))
def test_no_family_is_slow_on_its_own_beginning(anchor: str, length: int) -> None:
    started = time.process_time()
    for body in ("", "a1B2" * 5, "a1b2.", "0" * 14 + "."):
        redactor_from({}).clean(((anchor + body) * (length // len(anchor + body) + 1))[:length])
    assert time.process_time() - started < SECONDS


def test_every_pattern_compiles_by_itself_and_finds_nothing_in_nothing() -> None:
    for family in families.FAMILIES:
        assert re.compile(family.pattern.pattern).search("") is None


@given(
    st.lists(
        st.sampled_from([*[p.text for p in all_planted()], *harmless_lines()[:300], "\n", '"', "\\", "=", ": "]),
        max_size=8,
    )
)
def test_whatever_is_put_together_cleaning_twice_changes_nothing_more(pieces: list[str]) -> None:
    redactor = redactor_from({})
    once = redactor.clean("".join(pieces))
    assert redactor.clean(once) == once


@given(st.text(max_size=300))
def test_no_text_is_too_strange(text: str) -> None:
    redactor = redactor_from({})
    once = redactor.clean(text)
    assert redactor.clean(once) == once


def test_a_secret_on_the_edge_of_two_stretches_is_found() -> None:
    secret = "gh" + "p_" + "a1B2" * 9
    for shift in range(-60, 10, 7):
        text = (
            "word\n" * ((65_536 + shift) // 5)
            + f"machine a\nlogin b\npassword Xy7{shift}kk99\n{secret}\n"
            + "word\n" * 20_000
        )
        cleaned = redactor_from({}).clean(text)
        assert secret not in cleaned
        assert f"Xy7{shift}kk99" not in cleaned


def test_a_private_key_across_stretches_is_found_whole() -> None:
    edge = "-" * 5
    body = "\n".join("aB3d" * 16 for _ in range(200))
    text = (
        "word\n" * 12_500
        + f"{edge}BEGIN RSA PRIVATE KEY{edge}\n{body}\n{edge}END RSA PRIVATE KEY{edge}\n"
        + "word\n" * 9_000
    )
    redactor = redactor_from({})
    assert "aB3daB3d" not in redactor.clean(text)
    assert redactor.found.by_kind == {"private key": 1}


def test_two_thousand_harmless_lines_survive() -> None:
    redactor = redactor_from({})
    lines = harmless_lines()
    changed = [(line, redactor.clean(line)) for line in lines if redactor.clean(line) != line]
    assert len(lines) == 2_000
    assert changed == []
    assert redactor.found.total == 0


def test_they_survive_as_one_text_too() -> None:
    text = "\n".join(harmless_lines())
    assert redactor_from({}).clean(text) == text


def test_they_survive_inside_json_inside_json() -> None:
    redactor = redactor_from({})
    lines = [json.dumps({"event": json.dumps({"out": line})}) for line in harmless_lines()]
    assert [line for line in lines if redactor.clean(line) != line] == []
