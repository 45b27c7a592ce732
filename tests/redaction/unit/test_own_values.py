"""The user's own keys, by value, however they are written."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from upskill.redaction import forms_of, redactor_from, secrets_in

VALUE = 'q7/W+"ü z9=' + "Kd0"
ENVIRONMENT = {"ACME_API_KEY": VALUE}
MARK = "[redacted: ACME_API_KEY]"


@pytest.mark.parametrize(
    "written",
    [
        VALUE,
        json.dumps(VALUE),
        json.dumps(VALUE, ensure_ascii=False),
        json.dumps(json.dumps(VALUE)),
        quote(VALUE),
        quote(VALUE, safe=""),
        quote(VALUE, safe="").lower().replace("w", "W").replace("kd", "Kd"),
        VALUE.encode().hex(),
        VALUE.encode().hex().upper(),
    ],
)
def test_a_value_is_found_in_each_of_its_forms(written: str) -> None:
    redactor = redactor_from(ENVIRONMENT)
    assert MARK in redactor.clean_own(f"before {written} after")
    assert MARK in redactor.clean(f"before {written} after")


@given(before=st.binary(max_size=7), after=st.binary(max_size=7))
@example(before=b"", after=b"")
def test_nothing_of_a_value_can_be_decoded_from_base64_at_any_alignment(before: bytes, after: bytes) -> None:
    value = "sk-own-Zq9xV3mT7kPw"
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        coded = encode(before + value.encode() + after).decode()
        cleaned = redactor_from({"MY_TOKEN": value}).clean_own(coded)
        assert "[redacted: MY_TOKEN]" in cleaned
        rest = cleaned.replace("[redacted: MY_TOKEN]", "")
        # Two characters at each end can hold bits of the neighbours; no more than a few are left.
        assert len(rest) <= len(coded) - len(value)


@given(st.text(min_size=8, max_size=60).filter(lambda text: len(text.strip()) >= 8))
def test_any_value_at_all_is_taken_out_of_any_json(value: str) -> None:
    redactor = redactor_from({"SOME_PASSWORD": value})
    if not redactor.knows_any:
        return
    line = json.dumps({"a": value.strip(), "b": [f"x{value.strip()}y"]})
    assert "a" in json.loads(redactor.clean_own(line))
    assert json.dumps(value.strip())[1:-1] not in redactor.clean_own(line)


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("OPENAI_API_KEY", "sk-abc123def456", True),
        ("github_token", "abcdefgh1", True),
        ("DB_PASSWORD", "just words here", True),
        ("MYSQL_PWD", "hunter22", True),
        ("GOOGLE_APPLICATION_CREDENTIALS_JSON", '{"private_key": "x1"}', True),
        ("DATABASE_URL", "postgres://app:s3cretpw@db/app", True),
        ("AWS_ACCESS_KEY_ID", "AKIA0000111122223333", True),
        ("OPENAI_API_KEY", "short", False),
        ("OPENAI_API_KEY", "not-needed", False),
        ("PWD", "/home/ada/project7", False),
        ("SSH_AUTH_SOCK", "/run/user/1000/keyring/ssh", False),
        ("TOKENIZERS_PARALLELISM", "disabled-here", False),
        ("AUTH_METHOD", "password", False),
        ("API_KEY_FILE", "/run/secrets/api-key-1", False),
        ("KEYBOARD_LAYOUT", "us-international", False),
        ("HOME", "/home/a1b2c3d4e5", False),
    ],
)
def test_names_decide_which_variables_hold_keys(name: str, value: str, kept: bool) -> None:
    assert bool(secrets_in({name: value})) is kept


def test_a_name_cannot_break_the_placeholder() -> None:
    cleaned = redactor_from({'A"]\nKEY': "Zq9xV3mT7kPw"}).clean_own('{"a": "Zq9xV3mT7kPw"}')
    assert json.loads(cleaned) == {"a": "[redacted: A???KEY]"}


def test_forms_are_long_enough_to_be_no_accident() -> None:
    assert all(len(form) >= 8 for form in forms_of("a1b2c3d4"))


def test_without_keys_there_is_nothing_to_look_for() -> None:
    redactor = redactor_from({"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"})
    assert not redactor.knows_any
    assert redactor.clean_own("x" * 100) == "x" * 100
