"""Evaluations of five skills whose effects on each other are known, on the real engine and a loopback server."""

from collections import Counter
from pathlib import Path

import pytest

from provider import Provider
from together.made_library import EFFECTS, make_library, student
from upskill.core.settings import resolve_settings
from upskill.evaluation.order import EvaluationOrder
from upskill.together.together import PairEffect, measure_together, prepare_together

EVALUATIONS = 50
CASES = 24


def measured(skills: list[Path], here: Path, luck: str) -> list[PairEffect]:
    with Provider(student(luck)) as provider:
        provider.keep_requests = False
        settings = resolve_settings(
            {
                "models": ("any",),
                "base_url": provider.url,
                "runs_dir": str(here / "runs"),
                "store": False,
                "report": False,
            },
            environment={},
            folder=here,
            user_folder=here,
        )
        prepared = prepare_together(skills, EvaluationOrder(skill=skills[0], fresh=True), settings)
        return list(measure_together(prepared, settings=settings).effects)


@pytest.mark.full
def test_what_skills_do_to_each_other_is_found_and_little_else_is_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    skills = [tmp_path / name for name in make_library(tmp_path, cases=CASES)]
    found: Counter[tuple[str, str]] = Counter()
    intervals = holding = false = 0
    for number in range(EVALUATIONS):
        effects = {
            (one.skill, one.other): one.lift for one in measured(skills, tmp_path, f"luck {number}") if one.other
        }
        claimed = set()
        for pair, effect in effects.items():
            assert effect is not None
            assert effect.interval is not None
            intervals += 1
            holding += effect.interval.low <= EFFECTS.get(pair, 0.0) <= effect.interval.high
            if effect.verdict in ("costs", "helps"):
                claimed.add(pair)
            if effect.verdict == "costs":
                found[pair] += 1
        false += bool(claimed - set(EFFECTS))
    assert intervals == EVALUATIONS * 20
    assert {pair: found[pair] for pair in EFFECTS if found[pair] < 0.9 * EVALUATIONS} == {}
    assert false <= 0.05 * EVALUATIONS
    assert holding >= 0.995 * intervals
