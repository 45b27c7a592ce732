"""`upskill sweep report`: the table, the files, and an exit code that tells a contradiction."""

import json
from dataclasses import replace
from pathlib import Path

from made_sweeps import MadeSweep, made_result, made_rows
from typed import Upskill


def test_the_report_of_a_sweep(upskill: Upskill, here: Path) -> None:
    sweep = MadeSweep(here / "nightly")
    job = sweep.job("registry/knots")
    sweep.measured(job, {"small": (0.1, 0.9), "large": (0.5, 0.5)})
    sweep.confirmed(job, {"small": (0.1, 0.9)})
    done = upskill("sweep", "report", "nightly")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("1 skill on 2 models: 1 confirmed, 1 undecided.")
    assert done.stdout.endswith("Written to nightly/report\n")
    told = json.loads(upskill("sweep", "report", "nightly", "--json", "--out", "elsewhere").stdout)
    assert told["schema"] == "upskill.sweep-report/1"
    assert [(row["model"], row["state"]) for row in told["rows"]] == [("small", "confirmed"), ("large", "undecided")]
    assert (here / "elsewhere" / "answers.csv.gz").is_file()


def test_a_contradiction_ends_with_3(upskill: Upskill, here: Path) -> None:
    sweep = MadeSweep(here / "nightly")
    job = sweep.job("registry/knots")
    sweep.keep(replace(made_result(job, made_rows({"small": (0.5, 0.5), "large": (0.5, 0.5)})), rows=()))
    done = upskill("sweep", "report", "nightly")
    assert done.returncode == 3
    assert done.stderr.count("error: ") == 2
    assert "its answers give no pair" in done.stderr
    assert "undecided" in done.stdout
