"""`upskill sweep report`: the table, the files, and an exit code that tells a contradiction."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

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


def test_the_worst_comes_first_with_its_answers_and_fails_in_junit(upskill: Upskill, here: Path) -> None:
    sweep = MadeSweep(here / "nightly")
    for name, without, with_skill in (("good", 0.1, 0.9), ("bad", 0.9, 0.1)):
        job = sweep.job(name)
        sweep.measured(job, {"small": (without, with_skill), "large": (0.5, 0.5)})
    done = upskill("sweep", "report", "nightly")
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith(("good", "bad"))]
    assert [(row[0], row[1]) for row in rows] == [
        ("bad", "small"),
        ("bad", "large"),
        ("good", "large"),
        ("good", "small"),
    ]
    assert "next, read answers of bad on small: upskill report nightly/attempts/" in done.stderr
    assert "; answers: nightly/attempts/" in (here / "nightly" / "report" / "report.html").read_text()
    suites = {
        suite.get("name"): suite for suite in ElementTree.parse(here / "nightly" / "report" / "junit.xml").getroot()
    }
    assert (suites["bad"].get("failures"), suites["good"].get("failures")) == ("1", "0")
    (failed,) = suites["bad"].iter("failure")
    assert "hurts" in str(failed.get("message"))


def test_the_message_of_a_sweep_holds_no_command_of_a_chat_program(upskill: Upskill, here: Path) -> None:
    names = ("<!channel>", "&@everyone")
    sweep = MadeSweep(here / "nightly", students=names)
    job = sweep.job("registry/knots")
    sweep.keep(replace(made_result(job, made_rows(dict.fromkeys(names, (0.5, 0.5)))), rows=()))
    assert upskill("sweep", "report", "nightly").returncode == 3
    text = json.loads((here / "nightly" / "report" / "alerts.json").read_text())["text"]
    assert ("&lt;!channel&gt;" in text, "&amp;\uff20everyone" in text) == (True, True)
    assert not {"<", ">", "@"} & set(text)


def test_a_contradiction_ends_with_3(upskill: Upskill, here: Path) -> None:
    sweep = MadeSweep(here / "nightly")
    job = sweep.job("registry/knots")
    sweep.keep(replace(made_result(job, made_rows({"small": (0.5, 0.5), "large": (0.5, 0.5)})), rows=()))
    done = upskill("sweep", "report", "nightly")
    assert done.returncode == 3
    assert done.stderr.count("error: ") == 2
    assert "its answers give no pair" in done.stderr
    assert "undecided" in done.stdout
