"""The report of a run of many trials: seconds to make it, its size, and how it opens and scrolls in Chromium.

`python -m benchmarks.report_size FOLDER [TRIALS …]` writes invented runs into FOLDER, without an engine, and prints a
row for each. The students and their answers are invented: the figures say something about the page, not about models.
"""

import json
import math
import os
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from upskill.core.nouns import CheckResult, Errored, Grade, Scored, Trial, Usage
from upskill.core.runs.run_folders import RunFolder, create_run
from upskill.core.settings import resolve_settings
from upskill.core.trials.harness import Requests
from upskill.evaluation import resume
from upskill.evaluation.evaluate import first_record
from upskill.evaluation.order import EvaluationOrder
from upskill.evaluation.prepare import PreparedEvaluation, prepare
from upskill.evaluation.report import read_report, write_page

STUDENTS = {
    # What each is good for: baseline, with skill, dollars per thousand tokens, and tokens for one without the skill.
    "small-local": (0.08, 0.66, 0.00004, 0.8),
    "medium": (0.34, 0.88, 0.0009, 0.7),
    "large": (0.80, 0.90, 0.0080, 0.75),
    "chatty": (0.45, 0.47, 0.0030, 1.3),
}
REPEATS = 5
TEXT = (
    "the gauge reads a port from tarn kdl and then writes one line per tide into its log so that nobody has to guess "
    "which of them was late when a lock file is left behind it must be removed by hand before rouse is called again"
)
WORDS = tuple(TEXT.split())


def main() -> None:
    """Write, report, open."""
    folder = Path(sys.argv[1])
    print("| trials | read and written, s | MB | opened, s | scrolled to its end, s | a pair opened, ms |")
    print("|---|---|---|---|---|---|")
    for trials in map(int, sys.argv[2:] or ["2000", "20000"]):
        run = write_run(folder / str(trials), trials=trials)
        started = time.perf_counter()
        report = read_report(run)
        page = run / "report.html"
        write_page(report.page(), page)
        read = time.perf_counter() - started
        size = page.stat().st_size / 1e6
        opened, scrolled, clicked = _opened(page)
        print(f"| {trials:,} | {read:.1f} | {size:.2f} | {opened:.1f} | {scrolled:.1f} | {clicked:.0f} |")


def write_run(
    folder: Path, *, trials: int, students: tuple[str, ...] = tuple(STUDENTS), characters: int = 1200
) -> Path:
    """A whole run of so many trials, as if students had been asked. Answers are about so many characters long."""
    folder.mkdir(parents=True, exist_ok=True)
    here = Path.cwd()
    os.chdir(folder)
    try:
        for name in students:
            (folder / f"{name}.yaml").write_text("rules:\n- replies: [never]\n")
        cases = max(1, trials // (2 * REPEATS * len(students)))
        skill = _skill(folder / "tide-gauge", cases)
        aliases = {name: f"scripted/{folder}/{name}.yaml" for name in students}
        (folder / "upskill.toml").write_text(
            "[aliases]\n" + "".join(f'{name} = "{model}"\n' for name, model in aliases.items())
        )
        settings = resolve_settings({"models": students}, folder=folder, environment={})
        settings = replace(settings, values=replace(settings.values, report=False, store=False))
        prepared = prepare(EvaluationOrder(skill=skill, repeats=REPEATS), settings.values)
        run = create_run(folder / "runs", skill_name="tide-gauge")
        record = first_record(prepared, settings, run)
        run.write_record(record)
        _write_trials(prepared, run, characters)
        resume.resume(run.path)
        return run.path
    finally:
        os.chdir(here)


def _skill(folder: Path, cases: int) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "SKILL.md").write_text(
        "---\nname: tide-gauge\ndescription: How the tide gauge is configured, started and read.\n---\n# Tide gauge\n\n"
        "Read the configuration before you answer.\n"
    )
    made = [
        {
            "id": f"case-{number:05d}",
            "input": _text(random.Random(number), 300),
            "expected": {"contains": f"k{number}k"},
        }
        for number in range(cases)
    ]
    (folder / "skill_meta.json").write_text(json.dumps({"cases": made}))
    return folder


def _text(draw: random.Random, characters: int) -> str:
    words = draw.choices(WORDS, k=max(1, characters // 5))
    words[:: len(words) // 3 + 1] = [f"{draw.random():.4f}" for _ in words[:: len(words) // 3 + 1]]
    return " ".join(words)


def _write_trials(prepared: PreparedEvaluation, run: RunFolder, characters: int) -> None:
    requests = Requests(prepared.experiment.skill)
    with run.trials.open() as log:
        for student in prepared.experiment.plan.students:
            for planned in prepared.experiment.plan.trials():
                seed = f"{student.name}/{planned.case.id}/{planned.arm}/{planned.repeat}"
                draw = random.Random(seed)
                blank = Trial(
                    id=requests.trial_id(planned, student),
                    student=student.name,
                    case_id=planned.case.id,
                    arm=planned.arm,
                    repeat=planned.repeat,
                    outcome=Errored(fault="timeout", message="invented"),
                )
                log.append(_answered(blank, draw, characters))


def _answered(trial: Trial, draw: random.Random, characters: int) -> Trial:
    before, after, price, saved = STUDENTS[trial.student]
    hard = random.Random(trial.case_id).uniform(-0.25, 0.25)
    passed = draw.random() < (after if trial.arm == "with_skill" else before) + hard
    answer = _text(draw, int(draw.lognormvariate(math.log(characters), 0.5)))
    tokens = int(draw.lognormvariate(math.log(400), 0.3) * (saved if trial.arm == "with_skill" else 1))
    saw = "found the key" if passed else "not found: the key"
    return replace(
        trial,
        outcome=Scored(end="answered", grade=Grade(results=(CheckResult(kind="contains", passed=passed, saw=saw),))),
        answer=answer,
        usage=Usage(input_tokens=120, output_tokens=tokens, cost=(120 + tokens) / 1000 * price),
        seconds=draw.uniform(0.5, 4),
        calls=1,
    )


def _opened(page: Path) -> Iterator[float]:
    """Seconds until the page can be used, seconds to scroll to its very end, milliseconds to open a pair."""
    sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
    from report.pages.browser import Browser

    scroll = """new Promise((done) => { const from = performance.now(); let last = -1; const step = () => {
        scrollTo(0, document.documentElement.scrollHeight);
        const now = document.querySelectorAll("#pairs li").length + scrollY;
        if (now === last) done((performance.now() - from) / 1000); else { last = now; setTimeout(step, 120); } };
        step(); })"""
    click = """(() => { const from = performance.now(); document.querySelector("#pairs button").click();
        const shown = document.querySelectorAll("dialog[open] .side").length;
        return shown ? performance.now() - from : -1; })()"""
    with Browser() as browser:
        started = time.perf_counter()
        browser.open(page)
        browser.run("document.querySelector('#pairs button').textContent")
        yield time.perf_counter() - started
        yield browser.run(scroll)
        yield browser.run(click)


if __name__ == "__main__":
    main()
