"""What is frozen: the commands, and how what they do is written down and compared.

A frozen command is typed in a copy of `project/`, with the recorded run folders as its `runs/`. Everything it does is
written down by `observe`, without what no two runs share, and compared by `differences`: structured output exactly,
every key of it; text for people by the figures and verdicts in it, so that its wording may change.
"""

import csv
import json
import math
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any
from xml.etree import ElementTree

from golden import inside

HERE = Path(__file__).parent
PROJECT, RECORDED, EXPECTED = HERE / "project", HERE / "recorded", HERE / "expected"

PLACE = "/HERE"
"""Stands in recorded files for the folder where the command was typed."""
PROSE = {"sentence", "found", "notes", "refined", "reasons", "detectable", "how", "title", "message", "text", "error"}
"""Keys whose values are for people."""
ON_THE_PAGE = ("helps", "+100", "tarn.kdl", "every=60", "000002-quay-offered-1")
"""Of the report of `agent`: verdict, lift, a file that was left and what is in it, and an answer's name in the log."""
VERDICTS = re.compile(
    r"(?i)\b(helps|hurts|no difference|undecided|invalid|not proven|finished|interrupted|failed|running)\b"
)
_ATTEMPT = re.compile(r"/\d{8}T\d{6}-[0-9a-f]{8}/run$")
_RUN_NAME = re.compile(r"\d{4}-\d\d-\d\d-\d{6}-([\w-]+?)-[0-9a-f]{6}\b")
_HARNESS = re.compile(r"\b(chat|agent)/\d+(?![\w/.])")
_LOG = re.compile(r"logs/[^/]+\.eval")


@dataclass(frozen=True, kw_only=True, slots=True)
class Frozen:
    """A command; `{name}` in it stands for the recorded run folder of that name."""

    words: str
    before: tuple[str, ...] = ()
    """Commands that are typed first, in the same folder."""
    run: str | None = None
    """The recorded run that it goes on with."""
    variables: Mapping[str, str] = field(default_factory=dict)


_STUDENT = "-m scripted/students"
_TRIGGER = f"trigger skills/tarn-config {_STUDENT}/trigger.yaml -t triggers.json"
COMMANDS = {
    # What is shown of recorded runs. Nothing is bought: `bought.calls` is 0.
    "auto-again": Frozen(
        words="eval --resume {auto} --require helps --json --write out.csv --write out.xml", run="auto"
    ),
    "versions-again": Frozen(words="eval --resume {versions} --json", run="versions"),
    "agent-again": Frozen(words="eval --resume {agent} --json --write out.csv --write out.xml", run="agent"),
    "generated-again": Frozen(words="generate --resume {generated} --json", run="generated"),
    "auto-regraded": Frozen(words="regrade {auto} --json"),
    "auto-regraded-text": Frozen(words="regrade {auto}"),
    "versions-regraded": Frozen(words="regrade {versions} --json"),
    "capped-regraded": Frozen(words="regrade {capped} --json"),
    "agent-regraded": Frozen(words="regrade {agent} --json"),
    "auto-markdown": Frozen(words="report {auto} --markdown"),
    "versions-markdown": Frozen(words="report {versions} --markdown"),
    "agent-page": Frozen(words="report {agent} -o report.html"),
    "runs": Frozen(words="runs"),
    "runs-json": Frozen(words="runs --all --json --csv out.csv"),
    "runs-of-a-skill-json": Frozen(words="runs --skill tarnctl --json"),
    # Runs that were cut short, brought to their end.
    "capped-resumed": Frozen(words="eval --resume {capped} --json --write out.csv --write out.xml", run="capped"),
    "killed-resumed": Frozen(words="generate --resume {killed} --json", run="killed"),
    "outage-resumed": Frozen(words="generate --resume {outage} --json", run="outage"),
    # New runs, and plans of some.
    "eval": Frozen(
        words=f"eval skills/tarnctl {_STUDENT}/reader.yaml --concurrency 1 --json --write out.csv --write out.xml"
    ),
    "eval-outage": Frozen(
        words=f"eval skills/tarnctl {_STUDENT}/down.yaml --runs 1 --json",
        variables={"UPSKILL_MAX_RETRIES": "0"},
    ),
    "eval-dry-run": Frozen(words=f"eval skills/tarnctl {_STUDENT}/reader.yaml --dry-run --json"),
    "eval-agent-dry-run": Frozen(words=f"eval skills/tarn-config {_STUDENT}/agent.yaml --dry-run --json"),
    "generate-dry-run": Frozen(
        words="generate tides -m scripted/students/teacher.yaml --eval-model scripted/students/pupil.yaml -n --json"
    ),
    "eval-second-look": Frozen(
        words=f"eval skills/tarnctl {_STUDENT}/reader.yaml --concurrency 1 --fresh --json",
        before=(f"eval skills/tarnctl {_STUDENT}/reader.yaml --concurrency 1 --json",),
    ),
    "trigger": Frozen(words=_TRIGGER + " --json", variables={"UPSKILL_CONCURRENCY": "1"}),
    "trigger-outage": Frozen(
        words=f"trigger skills/tarn-config {_STUDENT}/down.yaml -t triggers.json --require --json",
        variables={"UPSKILL_MAX_RETRIES": "0", "UPSKILL_CONCURRENCY": "1"},
    ),
    "trigger-never": Frozen(
        words=f"trigger skills/tarn-config {_STUDENT}/reader.yaml -t triggers.json --require --json"
    ),
    "trigger-dry-run": Frozen(words=_TRIGGER + " --dry-run --json", variables={"UPSKILL_CONCURRENCY": "1"}),
    "sweep-plan": Frozen(words="sweep plan sweep.toml --at at -j 2 --json"),
    "sweep-status": Frozen(words="sweep status at --json", before=("sweep plan sweep.toml --at at",)),
    "sweep-report": Frozen(
        words="sweep report at --json", before=("sweep plan sweep.toml --at at", "sweep run at -j 1")
    ),
    "lint-json": Frozen(words="lint skills --json"),
    "lint-danger": Frozen(words="lint dangerous --json"),
    "lint-strict": Frozen(words="lint skills --strict --json"),
    # What cannot be done.
    "lint-no-skill": Frozen(words="lint traces --json"),
    "cases-no-skill": Frozen(words="cases check traces --json"),
    "trigger-no-prompts": Frozen(words=f"trigger skills/tarnctl {_STUDENT}/trigger.yaml -t none.json --json"),
    "generate-no-such-run": Frozen(words="generate --resume runs/none --json"),
    "generate-outage": Frozen(
        words=f"generate tides {_STUDENT}/down.yaml --eval-model scripted/students/pupil.yaml --json",
        variables={"UPSKILL_MAX_RETRIES": "0"},
    ),
    "sweep-no-plan": Frozen(words="sweep report at --json"),
    "report-no-such-run": Frozen(words="report runs/none"),
    "regrade-no-such-run": Frozen(words="regrade runs/none --json"),
    "runs-no-such-folder": Frozen(words="runs --dir none --json"),
    "usage-no-model": Frozen(words="eval skills/tarnctl"),
    "usage-no-such-run": Frozen(words="eval --resume runs/none --json"),
    "usage-unknown-flag": Frozen(words="eval skills/tarnctl --modle any"),
    "no-key": Frozen(words="eval skills/tarnctl -m haiku --json"),
    # What needs no run.
    "list": Frozen(words="list"),
    "list-json": Frozen(words="list --json"),
    "models": Frozen(words="models"),
    "models-json": Frozen(words="models --json"),
    "settings-json": Frozen(words="settings --json"),
    "cases-json": Frozen(words="cases check skills/tarnctl --json"),
    "trace-claude-code": Frozen(words="trace traces/claude-code.jsonl --json"),
    "trace-codex": Frozen(words="trace traces/codex.jsonl --json"),
}


def recorded_run(name: str) -> Path:
    """The run folder of the last version that has this name here."""
    (folder,) = (RECORDED / name).iterdir()
    return folder


def lay_out(here: Path) -> None:
    """Put a copy of the project, with the recorded run folders, where a command is typed."""
    shutil.copytree(PROJECT, here, dirs_exist_ok=True)
    for name in RECORDED.iterdir():
        shutil.copytree(name, here / "runs", dirs_exist_ok=True)
    for record in here.glob("runs/*/generate.json"):
        record.write_text(record.read_text(encoding="utf-8").replace(PLACE, str(here)), encoding="utf-8")


def words_of(frozen: Frozen) -> list[str]:
    """The command as it is typed."""
    runs = {name.name: f"runs/{recorded_run(name.name).name}" for name in RECORDED.iterdir()}
    return frozen.words.format(**runs).split()


def variables_of(frozen: Frozen, here: Path) -> dict[str, str]:
    """The environment of the command: the runs were recorded elsewhere, and are trusted."""
    trust = {} if frozen.run is None else inside.trusting(here / "runs" / recorded_run(frozen.run).name)
    return {**frozen.variables, **trust}


def observe(done: CompletedProcess[str], frozen: Frozen, here: Path) -> dict[str, Any]:
    """Everything that a command did, without what no two runs share."""
    seen: dict[str, Any] = {"command": frozen.words, "exit": done.returncode}
    seen["error"] = next((line for line in done.stderr.splitlines() if line.startswith(("error:", "Error:"))), None)
    is_json = "--json" in frozen.words and done.stdout != ""
    seen["json" if is_json else "text"] = json.loads(done.stdout) if is_json else done.stdout
    if (here / "out.csv").exists():
        with (here / "out.csv").open(encoding="utf-8", newline="") as file:
            seen["csv"] = sorted((_row(row) for row in csv.DictReader(file)), key=json.dumps)
    if (here / "out.xml").exists():
        seen["junit"] = _element(ElementTree.parse(here / "out.xml").getroot())
    if (here / "report.html").exists():
        page = (here / "report.html").read_text(encoding="utf-8")
        seen["page"] = {word: word in page for word in ON_THE_PAGE}
    if frozen.run is not None or "run" in (seen.get("json") or {}):
        recorded = None if frozen.run is None else recorded_run(frozen.run)
        run = here / (str(seen["json"]["run"]) if recorded is None else f"runs/{recorded.name}")
        seen["run"] = _left(run, recorded)
    normal: dict[str, Any] = normalised(seen, here)
    return normal


def normalised(value: Any, here: Path) -> Any:
    """The value without what differs from run to run: the time and the id in the name of a run folder or an attempt,
    the names of the engine's logs, when a sweep was planned, where the project lies, and the version of the harness.
    Seconds and trial ids, which hold that version, are left out where they are read.
    """
    if isinstance(value, dict):
        return {key: "TIME" if key == "planned_at" else normalised(entry, here) for key, entry in value.items()}
    if isinstance(value, list):
        return [normalised(entry, here) for entry in value]
    if not isinstance(value, str):
        return value
    text = _LOG.sub("logs/LOG.eval", _RUN_NAME.sub(r"RUN-\1", value.replace(str(here), PLACE)))
    return _HARNESS.sub(r"\1/N", _ATTEMPT.sub("/ATTEMPT/run", text))


def _row(row: dict[str, str]) -> dict[str, str]:
    return {key: "…" if key in ("seconds", "trial") and value else value for key, value in row.items()}


def _element(element: ElementTree.Element) -> dict[str, Any]:
    """An element of a JUnit report; its properties as one table."""
    seen: dict[str, Any] = {"tag": element.tag, **element.attrib}
    if "time" in seen:
        seen["time"] = "…"
    children = []
    for child in element:
        if child.tag == "properties":
            seen["properties"] = {one.attrib["name"]: one.attrib["value"] for one in child}
        else:
            children.append(_element(child))
    if text := (element.text or "").strip():
        seen["text"] = text
    return {**seen, "children": children} if children else seen


def _left(run: Path, recorded: Path | None) -> dict[str, Any]:
    """What lies in a run folder: files, the shape of each record, its results; lines added to each log of it."""
    files = {path.relative_to(run).as_posix(): path for path in sorted(run.rglob("*")) if path.is_file()}
    left: dict[str, Any] = {"files": sorted({_LOG.sub("logs/LOG.eval", name) for name in files})}
    for name in ("run.json", "generate.json"):
        if name in files:
            record = json.loads(files[name].read_text(encoding="utf-8"))
            left[name] = {"status": record["status"], "shape": sorted(set(_shape(record)))}
    lines = {name: path.read_bytes() for name, path in files.items() if name.endswith(".jsonl")}
    left["lines"] = {name: text.count(b"\n") for name, text in lines.items()}
    left["line shape"] = {
        name: sorted({key for line in text.splitlines() for key in _shape(json.loads(line))})
        for name, text in lines.items()
    }
    if recorded is not None:
        before = {path.relative_to(recorded).as_posix(): path.read_bytes() for path in recorded.rglob("*.jsonl")}
        left["kept"] = {name: lines[name].startswith(text) for name, text in sorted(before.items())}
        left["added"] = {name: lines[name].count(b"\n") - text.count(b"\n") for name, text in sorted(before.items())}
    return left


ADDED = frozenset(
    {
        *("answered_by", "claim", "earlier_pairs", "end", "families", "family", "judge_error"),
        *("judge_is_student", "looks", "prompt_digest", "rate", "rate_against", "required", "version"),
        *("lost", "lost_answers", "refused", "refused_requests"),
        *("loads", "load_turn", "load_rate", "load_rate_interval", "lift_if_loaded", "lift_if_loaded_withheld"),
        *("others", "other_skills", "other_sources", "others_listed", "shortened", "agent", "outside", "description"),
        *("prompts", "seal"),
    }
)
"""Keys that came after the frozen version: a key may be added, never changed or taken away."""


def _shape(value: Any, path: str = "") -> Iterator[str]:
    """The path of every key; whose keys are names of somebody's own ends there."""
    if isinstance(value, dict) and path not in (".files", ".order", ".settings"):
        for key, entry in value.items():
            yield f"{path}.{key}"
            yield from _shape(entry, f"{path}.{key}")
    elif isinstance(value, list):
        for entry in value:
            yield from _shape(entry, f"{path}[]")


def differences(frozen: Any, now: Any, path: str = "") -> Iterator[str]:
    """What is not as it was frozen, one line each."""
    key = path.rpartition(".")[2].partition("[")[0]
    if isinstance(frozen, dict) and isinstance(now, dict):
        for name in frozen.keys() | now.keys():
            if name in ADDED and name not in frozen:
                continue
            if name not in now or name not in frozen:
                yield f"{path}.{name}: {'is gone' if name in frozen else 'is new'}"
            else:
                yield from differences(frozen[name], now[name], f"{path}.{name}")
    elif isinstance(frozen, list) and isinstance(now, list) and len(frozen) == len(now):
        for number, (one, other) in enumerate(zip(frozen, now, strict=True)):
            yield from differences(one, other, f"{path}[{number}]")
    elif isinstance(frozen, list) and isinstance(now, list):
        gone, new = ([one for one in these if one not in others] for these, others in ((frozen, now), (now, frozen)))
        if gone or not all(map(_was_added, new)) or len(now) - len(new) != len(frozen):
            yield f"{path}: gone {gone}, new {new}, {len(now)} entries where {len(frozen)} were"
    elif key in PROSE and isinstance(frozen, str) and isinstance(now, str):
        if missing := said(frozen) - said(now):
            yield f"{path}: {sorted(missing)} no longer said in {now!r}"
    elif isinstance(frozen, float) and isinstance(now, float) and _is_close(frozen, now):
        return
    elif type(frozen) is not type(now) or frozen != now:
        yield f"{path}: was {frozen!r}, is {now!r}"


def _is_close(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=1e-12, abs_tol=1e-12)


def _was_added(entry: Any) -> bool:
    """Whether this is the path of a key that came later, or of one below it."""
    return isinstance(entry, str) and any(part.removesuffix("[]") in ADDED for part in entry.split("."))


def said(text: str) -> set[str]:
    """The figures and verdicts in a text."""
    return set(re.findall(r"\d+(?:[.,]\d+)*", text)) | {verdict.lower() for verdict in VERDICTS.findall(text)}
