"""Answers of real models, frozen: the command must reach the kept results of the gallery from the same answers.

Each recording is played back twice: to an empty cache, and to one that remembers the answers. A request that is not in
the recording is a failure: it says that students are asked in another way than they were. CONTRIBUTING.md says how a
recording is made, and when one may be replaced: never because a test here fails.
"""

from pathlib import Path

import pytest

from forking import Forker
from measured_recording import MEASURED, ROOT, Measured, evaluate, figures, recorded
from recorded_student import RecordedStudent

RECORDED = list(recorded())
MODEL = "qwen2.5-coder-1.5b"
FEWEST_ANSWERS = 500
QUICK = "knowledge"
"""The level whose checks run no programs. The others take minutes: `make full` plays them back."""


@pytest.mark.parametrize(
    "measured",
    [pytest.param(one, id=one.name, marks=() if one.level == QUICK else pytest.mark.full) for one in RECORDED],
)
def test_the_same_answers_lead_to_the_kept_result(measured: Measured, tmp_path: Path, forker: Forker) -> None:
    kept = figures(measured.record["results"])
    with RecordedStudent(measured.recording) as student:
        results = evaluate(measured, tmp_path, student, forker)
        assert student.unknown == [], "asked of the student and not recorded"
        assert student.unasked == [], "recorded, and nobody asked for it"
        assert figures(results) == kept
        again = evaluate(measured, tmp_path, student, forker)
        assert student.unknown == [], "typed a second time, the command asked for answers that it had"
        assert figures(again) == kept


def test_every_kept_run_on_questions_is_recorded() -> None:
    runs = [Measured(run=path.parent) for path in MEASURED.glob("*/*/run.json")]
    questions = [one for one in runs if one.model == MODEL and one.level == QUICK]
    assert questions
    assert [one.name for one in questions if one not in RECORDED] == []


def test_at_least_500_answers_are_frozen() -> None:
    held = 0
    for measured in RECORDED:
        with RecordedStudent(measured.recording) as student:
            held += student.sampled if measured.level == QUICK else 0
    assert held >= FEWEST_ANSWERS


def test_a_recording_holds_no_path_of_a_machine() -> None:
    files = [file for measured in RECORDED for file in measured.run.glob("*.jsonl")]
    assert [file for file in files if str(ROOT) in file.read_text(encoding="utf-8")] == []
