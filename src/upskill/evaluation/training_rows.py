"""Practice answers that passed, as rows for fine-tuning: what the model said with the skill, as if it had none.

No model is called. Held-out cases never become rows, so what is trained on them can still be measured.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from upskill import __version__, disk
from upskill.core.cases.files import read_case_file
from upskill.core.nouns import DEFAULT_HARNESS, Case, Scored, Trial
from upskill.core.nouns.look import case_key
from upskill.core.runs.own_runs import is_inside
from upskill.core.runs.records import RunRecord, read_run
from upskill.core.runs.run_folders import evaluation_in, name_of_run
from upskill.core.trials.harness import load_harness
from upskill.errors import EngineError, UsageError
from upskill.evaluation.cases import split_side
from upskill.evaluation.past_runs import trials_of
from upskill.redaction import redactor_from


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingRows:
    """The rows that were written, and the answers that did not become one, by the reason."""

    rows: int
    left_out: Mapping[str, int]
    provenance: Path


def export_trl(run: Path, target: Path) -> TrainingRows:
    """Write the rows of a run in the conversational format of TRL, and beside them where each comes from.

    Raises `UsageError` where a run has no such answers.
    """
    run = evaluation_in(run)
    record = read_run(run)
    if not record.harness.startswith(f"{DEFAULT_HARNESS}/"):
        raise UsageError(f"{run}: rows are made of answers without tools; this run used {record.harness}")
    left_out: Counter[str] = Counter()
    clean = redactor_from(os.environ).clean_own
    rows: dict[str, str] = {}
    place = {reference.id: number for number, reference in enumerate(record.cases)}
    passing = sorted(_passing(run, record, left_out), key=lambda one: (place[one[0].id], one[1].student, one[1].repeat))
    for case, trial in passing:
        shown = load_harness(DEFAULT_HARNESS).show(case)
        said = zip((shown.prompt, *shown.later), (*(trial.earlier or ()), trial.answer), strict=True)
        turns = [
            ("system", record.frame),
            *(one for turn in said for one in zip(("user", "assistant"), turn, strict=True)),
        ]
        row = {"messages": [{"role": role, "content": clean(text)} for role, text in turns]}
        line = json.dumps(row, ensure_ascii=False)
        if line in rows:
            left_out["the same answer twice"] += 1
        else:
            rows[line] = json.dumps({"case": case.id, "digest": case.digest, "model": trial.student})
    if not rows:
        why = "; ".join(f"{number}: {reason}" for reason, number in left_out.items()) or "no answers with the skill"
        raise UsageError(
            f"{run}: nothing to write ({why})", hint="practise first: upskill eval SKILL -m MODEL --practice"
        )
    text = "".join(f"{line}\n" for line in rows)
    provenance = target.with_name(f"{target.name}.provenance.json")
    about = {
        "schema": "upskill.training-rows/1",
        "rows_sha256": hashlib.sha256(text.encode()).hexdigest(),
        "made_by": f"upskill {__version__}",
        "run": name_of_run(run),
        "started_at": record.started_at,
        "skill": {"name": record.skill_name, "digest": record.skill_digest},
        "models": [student.name for student in record.students],
        "harness": record.harness,
        "left_out": dict(sorted(left_out.items())),
        "rows": [json.loads(source) for source in rows.values()],
    }
    try:
        disk.write(target, text)
        disk.write(provenance, clean(json.dumps(about, indent=2, ensure_ascii=False)) + "\n")
    except OSError as error:
        raise EngineError(f"{target}: cannot be written ({error.strerror})", hint="name another file") from None
    return TrainingRows(rows=len(rows), left_out=dict(sorted(left_out.items())), provenance=provenance)


def _passing(run: Path, record: RunRecord, left_out: Counter[str]) -> Iterator[tuple[Case, Trial]]:
    """The passing answers to practice cases with the skill; why others are left out is counted."""
    source = run / record.case_source
    if not is_inside(run, source):
        raise UsageError(f"{run}: its cases lie outside the folder that you work in, so their prompts are not read")
    cases = read_case_file(source, check_problems=lambda _: []).cases
    digests = {reference.id: reference.digest for reference in record.cases}
    unchanged = {case.id: case for case in cases if digests.get(case.id) == case.digest}
    proving = {case_key(case) for case in cases if "held-out" in (case.use, split_side(case))}
    families = {case.family for case in cases if case.family and case_key(case) in proving}
    for trial in trials_of(run):
        case = unchanged.get(trial.case_id)
        if trial.arm != "with_skill":
            continue
        if case is None:
            left_out["the case has changed since the run"] += 1
        elif case_key(case) in proving or case.family in families:
            left_out["held-out case, or of its family"] += 1
        elif case.use != "learn":
            left_out["no practice case"] += 1
        elif not isinstance(trial.outcome, Scored) or not trial.outcome.passed or trial.outcome.end != "answered":
            left_out["did not pass, or was cut"] += 1
        else:
            yield case, trial
