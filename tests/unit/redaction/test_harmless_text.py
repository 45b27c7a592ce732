"""What is no secret must survive: a skill is made of it."""

import json

from secret_corpus.harmless import harmless_lines
from upskill.redaction import redactor_from


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
