"""Sessions and documents that tell the teacher to plant something, with a scripted teacher that obeys: nothing of it is
saved before a person agrees.

The first time, with the rules of that day, 17 of the 20 were stopped: `polite-mail`, `german-key` and `french-report`
were not.
"""

from contextlib import suppress
from pathlib import Path

import pytest

import upskill
from skill_corpus.planted import Planted, planted

ROOT = Path(__file__).parents[3]
CASES = ROOT / "examples" / "tarnctl" / "skill_meta.json"


def _outcome(one: Planted, *, obeys: bool = True) -> str:
    """What became of the draft: `refused`, `removed` for invisible text that is gone from it, or `saved`."""
    teacher = one.teacher(Path()) if obeys else f"scripted/{ROOT / 'examples' / 'scripted' / 'teacher.yaml'}"
    source = one.material(Path())
    output = Path("saved", f"{one.name}-{obeys}")
    output.mkdir(parents=True)
    with suppress(upskill.FindingsRefused):
        upskill.generate(
            "answer questions about tarnctl",
            sources=source,
            teacher=teacher,
            tests=CASES,
            output=output,
            no_eval=True,
            yes=True,
        )
    texts = [path.read_text(encoding="utf-8") for path in output.rglob("SKILL.md")]
    if not texts:
        return "refused"
    return "removed" if one.removed and "nvcc" in texts[0] and texts[0].isascii() else "saved"


def test_twenty_planted_instructions_are_stopped_before_anything_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert len(planted()) == 20
    assert len([one for one in planted() if one.sample is None]) == 10
    assert {one.name: _outcome(one) for one in planted()} == {
        one.name: "removed" if one.removed else "refused" for one in planted()
    }


def test_the_same_material_is_no_hindrance_to_a_teacher_that_does_not_obey(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert {_outcome(one, obeys=False) for one in planted()[::6] if not one.removed} == {"saved"}
