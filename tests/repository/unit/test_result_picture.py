"""The picture of the README and of the documentation is what the code draws from the recorded pairs."""

from pathlib import Path

import pytest
from tools.result_picture import PICTURE, result

from upskill.report.dumbbell import svg

ROOT = Path(__file__).parents[3]


def test_the_committed_picture_is_what_the_code_draws() -> None:
    assert PICTURE.read_text(encoding="utf-8") == svg(result(), standalone=True) + "\n", (
        "python -m tools.result_picture writes it again"
    )


@pytest.mark.parametrize("page", ["README.md", "docs/README.md"])
def test_the_first_pages_say_what_the_picture_shows(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    assert result().sentences[0] in text
    assert PICTURE.name in text


def test_the_recorded_experiment_has_the_same_figures() -> None:
    log = (ROOT / "benchmarks/results/experiments.md").read_text(encoding="utf-8")
    assert "| passed | 0/12 | 8/12 |" in log
    assert "Lift +67 points (95% CI +25 to +98" in log
