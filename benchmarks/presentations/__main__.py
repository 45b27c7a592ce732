"""The same thirty facts in four presentations, measured on a very small real model with the same thirty cases.

    python -m benchmarks.presentations                       temperature 0, one run of each case: about 20 minutes
    python -m benchmarks.presentations --temperature default --runs 3

Prints a Markdown table. The baseline is measured once: the four evaluations share a trial store of their own. Each is
judged as the first look at the cases; whoever picks the best of the four must ask more of it.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

from tools.local_model import served_model

HERE = Path(__file__).parent
PRESENTATIONS = ("prose", "examples", "questions", "table")
COMMAND = str(Path(sys.executable).parent / "upskill")


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """One presentation on one student."""

    name: str
    tokens: int
    student: dict[str, Any]
    rates: Mapping[str, float]
    """The pass rate of each case with the skill."""


def main() -> int:
    """Serve the model, evaluate each presentation, compare them in pairs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.presentations")
    parser.add_argument("--temperature", default="0", help="a number, or `default` for the server's own")
    parser.add_argument("--runs", default="1")
    parser.add_argument("--runs-dir", type=Path, default=None, help="where the run folders stay")
    parser.add_argument("--only", nargs="+", choices=PRESENTATIONS, default=PRESENTATIONS)
    parser.add_argument("--ceiling", action="store_true", help="also with each case's passage in the prompt")
    flags = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, served_model() as url:
        words = ["--model", "smollm2", "--base-url", f"{url}/v1", "--runs", flags.runs, "--concurrency", "1"]
        words += ["--tests", str(HERE / "cases.json"), "--yes", "--json"]
        variables = {"UPSKILL_MAX_OUTPUT_TOKENS": "64", "UPSKILL_REPORT": "false", "XDG_CACHE_HOME": name}
        variables["UPSKILL_RUNS_DIR"] = str((flags.runs_dir or Path(name, "runs")).resolve())
        variables |= {} if flags.temperature == "default" else {"UPSKILL_TEMPERATURE": flags.temperature}
        first = {"UPSKILL_CEILING": "true"} if flags.ceiling else {}
        done = [_evaluate(flags.only[0], url=url, words=words, variables={**variables, **first})]
        done += [_evaluate(one, url=url, words=words, variables=variables) for one in flags.only[1:]]
    print(table(done))
    return 0


def _evaluate(name: str, *, url: str, words: Sequence[str], variables: Mapping[str, str]) -> Measured:
    cache = variables["XDG_CACHE_HOME"]
    skill, rows = HERE / name, Path(cache, "answers.csv")
    ran = subprocess.run(
        [COMMAND, "eval", str(skill), *words, "--write", str(rows)],
        cwd=cache,  # not where a setting of this repository would be found
        env={**os.environ, **variables, "UPSKILL_LEDGER": str(Path(cache, f"{name}.jsonl"))},
        stdout=subprocess.PIPE,
        check=True,
    )
    (student,) = json.loads(ran.stdout)["students"]
    passed: dict[str, list[bool]] = {}
    with rows.open(newline="", encoding="utf-8") as answers:
        for row in csv.DictReader(answers):
            if row["arm"] == "with_skill":
                passed.setdefault(row["case"], []).append(row["passed"] == "true")
    rates = {case: fmean(found) for case, found in passed.items()}
    return Measured(name=name, tokens=_tokens(skill / "SKILL.md", url), student=student, rates=rates)


def _tokens(file: Path, url: str) -> int:
    body = json.dumps({"content": file.read_text(encoding="utf-8")}).encode()
    with urllib.request.urlopen(f"{url}/tokenize", data=body) as response:
        return len(json.load(response)["tokens"])


def table(done: Sequence[Measured]) -> str:
    """A row per presentation, with its interval, and how it fared case by case against the first."""
    lines = ["| presentation | tokens | baseline | with skill | lift, 95% CI | verdict | cases against the first |"]
    lines.append("|---|---|---|---|---|---|---|")
    for one in done:
        for lift in one.student["lifts"]:
            cells = [
                one.name,
                str(one.tokens),
                *_rates(lift),
                one.student["verdict"],
                against(one.rates, done[0].rates),
            ]
            if lift["arm"] == "ceiling":
                cells = ["passage of the case", "", *_rates(lift), "", ""]
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rates(lift: Mapping[str, Any]) -> list[str]:
    low, high = (100 * end for end in lift["interval"])
    rates = [f"{100 * lift[which]:.0f}%" for which in ("rate_against", "rate")]
    return [*rates, f"{100 * lift['mean']:+.0f} ({low:+.0f} to {high:+.0f})"]


def against(rates: Mapping[str, float], others: Mapping[str, float]) -> str:
    """How many cases are better and worse than in the other, and the p value of the exact sign test."""
    better = sum(rates[case] > others[case] for case in rates)
    worse = sum(rates[case] < others[case] for case in rates)
    if better + worse == 0:
        return "the same"
    tail = sum(comb(better + worse, k) for k in range(min(better, worse) + 1)) / 2 ** (better + worse)
    return f"{better} better, {worse} worse, p = {min(1.0, 2 * tail):.2f}"


if __name__ == "__main__":
    sys.exit(main())
