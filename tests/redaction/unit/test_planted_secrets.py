"""Secrets in every form that was written down before the patterns were."""

import json
from typing import Any

import pytest

from secret_corpus.leaks import left_of
from secret_corpus.made_up import Planted
from secret_corpus.planted import all_planted, held_apart, second_list
from secret_corpus.recorded import Recorded, ten_recordings
from upskill.redaction import redactor_from

PLANTED = all_planted()
RECORDINGS = ten_recordings()
NOT_FOUND = {
    "kraken": "only the provider's name is before it",
    "mattermost": "only the provider's name is before it",
    "okta": "only the provider's name is before it",
    "sidekiq": "only the provider's name is before it",
    "sidekiq address": "the user's name is half of the secret",
}
"""Forms held apart that leak. The page on redaction lists them."""


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [text for item in value for text in _texts(item)] if isinstance(value, list) else []


def test_the_corpus_holds_a_hundred_secrets_in_ten_recordings() -> None:
    assert len(PLANTED) >= 100
    assert len({planted.name for planted in PLANTED}) == len(PLANTED)
    assert len(RECORDINGS) == 10
    assert all(len(recorded.planted) >= 12 for recorded in RECORDINGS)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_nothing_of_a_secret_is_left(planted: Planted) -> None:
    assert left_of(planted, planted.text) == list(planted.secrets)
    assert left_of(planted, redactor_from({}).clean(planted.text)) == []


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_nothing_is_left_in_a_recording_as_it_is_on_the_disk(recorded: Recorded) -> None:
    cleaned = redactor_from({}).clean(recorded.text)
    assert [planted.name for planted in recorded.planted if left_of(planted, cleaned)] == []


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_nothing_is_left_in_the_texts_that_a_reader_takes_from_it(recorded: Recorded) -> None:
    redactor = redactor_from({})
    try:
        texts = _texts([json.loads(line) for line in recorded.text.splitlines()])
    except ValueError:
        texts = recorded.text.split("\n\n")
    cleaned = "\n".join(redactor.clean(text) for text in texts)
    assert [planted.name for planted in recorded.planted if left_of(planted, cleaned)] == []
    assert redactor.found.total >= len(recorded.planted)


@pytest.mark.parametrize("recorded", RECORDINGS, ids=lambda recorded: recorded.name)
def test_a_document_is_still_one_afterwards(recorded: Recorded) -> None:
    def parsed(text: str) -> Any:
        try:
            return [json.loads(line) for line in text.splitlines()]
        except ValueError:
            return json.loads(text)

    try:
        before = parsed(recorded.text)
    except ValueError:
        pytest.fail("no JSON") if recorded.name not in ("plain", "quoted") else None
        return
    after = parsed(redactor_from({}).clean(recorded.text))
    assert len(after) == len(before)


@pytest.mark.parametrize("planted", PLANTED, ids=lambda planted: planted.name)
def test_cleaning_twice_changes_nothing_more(planted: Planted) -> None:
    redactor = redactor_from({})
    once = redactor.clean(planted.text)
    counted = redactor.found
    assert redactor.clean(once) == once
    assert redactor.found == counted


def test_what_was_found_is_counted_by_kind_and_never_shown() -> None:
    redactor = redactor_from({})
    for planted in PLANTED:
        redactor.clean(planted.text)
    shown = repr(redactor.found)
    assert redactor.found.by_kind["github token"] == 4
    assert redactor.found.by_kind["private key"] >= 5
    assert [planted.name for planted in PLANTED if any(secret in shown for secret in planted.secrets)] == []


def test_of_the_forms_held_apart_only_the_known_ones_leak() -> None:
    redactor = redactor_from({})
    leaked = {planted.name for planted in held_apart() if left_of(planted, redactor.clean(planted.text))}
    assert len(held_apart()) == 49
    assert leaked == set(NOT_FOUND)


def test_of_a_second_list_one_leaks() -> None:
    redactor = redactor_from({})
    leaked = {planted.name for planted in second_list() if left_of(planted, redactor.clean(planted.text))}
    assert len(second_list()) == 18
    assert leaked == {"twitter access"}


def test_the_step_can_still_be_understood() -> None:
    token = "gh" + "p_" + "a1B2" * 9
    cleaned = redactor_from({}).clean(f"git push https://{token}@github.com/acme/tools.git\npassword: hunter2!\n")
    assert cleaned == (
        "git push https://[redacted: github token]@github.com/acme/tools.git\npassword: [redacted: password]\n"
    )
