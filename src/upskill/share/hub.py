"""Publishes skills to the Hugging Face Hub, as one dataset: skills, evidence, a card and the results as Parquet.

What is uploaded is a list of files that is made here, never a folder that is walked: cases, answers and runs are in it
only where they are named.
"""

import io
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

from upskill import disk
from upskill.core.cases.files import cases_as_json, read_skill_cases
from upskill.core.hub import Repository, explaining
from upskill.core.nouns.skill import MOST_SHARED_BYTES, RUN_FILE
from upskill.core.nouns.text import count, on_one_line
from upskill.core.runs.records import TRIALS_FILE
from upskill.core.runs.run_folders import name_of_run
from upskill.core.skills.skill_files import read_plain
from upskill.errors import EngineError, UsageError
from upskill.redaction import redactor_from
from upskill.share.card import how, table_cells
from upskill.share.evidence import EvidenceResult
from upskill.share.files import Action, FolderChanges, NewFile, read_shared_skill, why_not
from upskill.share.publish import (
    README_FILE,
    SKILLS_FOLDER,
    PlannedSkill,
    PublishRefused,
    planned_skill,
    readme_list,
    require_apart,
    with_list,
)

RESULTS_FILE = "results.parquet"
Named = Literal["cases", "answers", "runs"]
"""What is published only where it is named."""
_OURS = frozenset({README_FILE, RESULTS_FILE, SKILLS_FOLDER, "cases", "runs"})
"""What upskill writes at the top of a dataset. Everything else there stays."""
_REPOSITORY = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_README = """\
---
pretty_name: {title}
tags:
- agent-skills
- self-reported-results
- upskill
configs:
- config_name: results
  data_files: results.parquet
---

# {name}

Agent Skills, each with what was measured of it.

{tables}

To install one: `upskill install hf://datasets/{repository}/skills/NAME`.
"""
_RESULTS = (
    "## Results",
    "",
    "**Self-reported:** whoever published this measured it, and nobody has checked it. A look is one verdict on a "
    "skill with a model; later looks need stronger evidence. The figures are in `results.parquet`, and what they rest "
    "on is in `evidence.json` of each skill.",
    "",
    "| Skill | Model | How | Without | With | Lift in points (95% CI) | Verdict | Cases | Pairs | Look | Date |",
    "|---|---|---|--:|--:|---|---|--:|--:|--:|---|",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HubPlan:
    """What publishing would do. Nothing was sent yet."""

    repository: str
    skills: tuple[PlannedSkill, ...]
    files: Mapping[str, NewFile]
    """Every file of upskill's that the dataset will hold, by path."""
    actions: Mapping[str, Action]
    removed: tuple[str, ...] = ()
    private: bool
    commit: str | None = None
    """What it was compared with; `None` where the dataset is new, or was not looked at."""

    @property
    def address(self) -> str:
        return f"hf://datasets/{self.repository}"

    @property
    def changes(self) -> bool:
        """Whether anything would be uploaded or removed."""
        return bool(self.removed) or set(self.actions.values()) != {"keep"}


def plan_hub(
    skills: Sequence[Path],
    *,
    repository: str,
    named: Collection[Named],
    private: bool,
    to: Path | None,
    runs_dir: Path,
    ledger: Path | None,
) -> HubPlan:
    """What would be published; with a folder `to` what would be written there instead, without asking the Hub.

    Raises where a skill must not be published, a file holds a secret, or something of others is in the way.
    """
    if not _REPOSITORY.fullmatch(repository):
        raise UsageError(on_one_line(f"--hub {repository}: names no dataset"), hint="write OWNER/NAME, as on the Hub")
    shared = [read_shared_skill(skill) for skill in skills]
    with TemporaryDirectory() as empty:
        require_apart(shared, (to or Path(empty)).resolve())
        planned = tuple(planned_skill(one, Path(empty), runs_dir=runs_dir, ledger=ledger) for one in shared)
    files = {f"{SKILLS_FOLDER}/{one.name}/{path}": file for one in planned for path, file in one.files.items()}
    for kind in named:
        found = {path: NewFile(data) for one in planned for path, data in _named_files(one, kind)}
        if not found:
            raise UsageError(f"--with {kind}: there are none here", hint=f"remove --with {kind}")
        files |= found
    name = repository.partition("/")[2]
    tables = readme_list([one.listed for one in planned], *_RESULTS, *_table(planned), "")
    card = _README.format(title=json.dumps(name), name=name, tables=tables, repository=repository)
    files |= {RESULTS_FILE: NewFile(_parquet(planned)), README_FILE: NewFile(card.encode())}
    _require_no_secret(files)
    new: dict[str, Action] = dict.fromkeys(files, "write")
    plan = HubPlan(repository=repository, skills=planned, files=files, actions=new, private=private)
    return _compared(plan, tables) if to is None else plan


def _named_files(skill: PlannedSkill, kind: Named) -> Iterator[tuple[str, bytes]]:
    """What is published of a skill where it is named, by path. Logs and reports of runs never are."""
    if kind == "cases":
        file = read_skill_cases(skill.shared.root, check_problems=lambda _: [])
        if file is not None and file.cases:
            text = json.dumps({"cases": cases_as_json(file.cases)}, indent=2, ensure_ascii=False)
            yield f"cases/{skill.name}.json", text.encode("utf-8", "replace") + b"\n"
        return
    name = TRIALS_FILE if kind == "answers" else RUN_FILE
    for run in skill.runs:
        yield f"runs/{name_of_run(run)}/{name}", read_plain(run / name, most=MOST_SHARED_BYTES)


_COLUMNS: dict[str, tuple[type, Callable[[PlannedSkill, EvidenceResult], Any]]] = {
    "skill": (str, lambda skill, _: skill.name),
    "skill_digest": (str, lambda skill, _: skill.evidence.skill.digest),
    "model": (str, lambda _, one: one.model),
    "how": (str, lambda _, one: how(one)),
    "against": (str, lambda _, one: one.against),
    "cases": (int, lambda _, one: len(one.cases)),
    "pairs": (int, lambda _, one: getattr(one.lift, "pairs", None)),
    "rate_without": (float, lambda _, one: getattr(one.lift, "rate_against", None)),
    "rate_with": (float, lambda _, one: getattr(one.lift, "rate", None)),
    "lift": (float, lambda _, one: getattr(one.lift, "mean", None)),
    "low": (float, lambda _, one: getattr(one.report.interval, "low", None)),
    "high": (float, lambda _, one: getattr(one.report.interval, "high", None)),
    "confidence": (float, lambda _, one: getattr(one.lift, "confidence", None)),
    "claim": (str, lambda _, one: one.report.claim),
    "verdict": (str, lambda _, one: one.verdict),
    "look": (int, lambda _, one: one.look),
    "other_looks": (int, lambda _, one: sum(one.other_looks.values())),
    "date": (str, lambda _, one: one.finished_at[:10]),
    "self_reported": (bool, lambda *_: True),
    "scripted": (bool, lambda _, one: one.scripted),
    "judge": (str, lambda _, one: one.judge),
    "upskill": (str, lambda _, one: one.versions.get("upskill")),
}
"""A row for each result, with the figures of the evidence as they are."""


def _parquet(skills: Sequence[PlannedSkill]) -> bytes:
    """Equal results have equal bytes."""
    try:
        from arro3.core import Array, DataType, Table
        from arro3.io import write_parquet
    except ImportError:
        raise UsageError("--hub needs the package arro3-io", hint="pip install 'skill-lift[hub]'") from None

    types = {str: DataType.utf8(), int: DataType.int64(), float: DataType.float64(), bool: DataType.bool()}
    rows = [(skill, one) for skill in skills for one in skill.evidence.results]
    columns = [Array([value(*row) for row in rows], types[kind]) for kind, value in _COLUMNS.values()]
    file = io.BytesIO()
    write_parquet(Table.from_arrays(columns, names=list(_COLUMNS)), file, compression="uncompressed")
    return file.getvalue()


def _table(skills: Sequence[PlannedSkill]) -> Iterator[str]:
    for skill in skills:
        results = skill.evidence.results
        for one, (model, asked, _, *figures) in zip(results, table_cells(results), strict=True):
            old = "" if one.against == "baseline" else f", against version {one.against[:12]}"
            look = "not counted" if one.look is None else str(one.look)
            cells = (skill.name, model, asked + old, *figures, look, one.finished_at[:10])
            yield f"| {' | '.join(cells)} |"


def _require_no_secret(files: Mapping[str, NewFile]) -> None:
    """Raise with every file in which something looks like a secret, and the line of the first."""
    clean, places = redactor_from(os.environ).clean, []
    for path, file in sorted(files.items()):
        text = f"{path}\n{file.data.decode('utf-8', 'replace')}"
        if (cleaned := clean(text)) != text:
            pairs = enumerate(zip(text, cleaned, strict=False))
            line = text.count("\n", 0, next((at for at, (one, other) in pairs if one != other), len(cleaned)))
            places.append(on_one_line(f"{clean(path)}: {f'line {line}' if line else 'its name'}"))
    if places:
        raise PublishRefused(
            f"nothing was published: {count(len(places), 'file')} with what looks like a secret",
            problems=places,
            hint="write $NAME or <name> in its place; a secret that others have seen must be revoked",
        )


def write_hub_folder(plan: HubPlan, to: Path) -> None:
    """Write what would be uploaded to a folder that is new or empty: everything, or nothing."""
    real = to.resolve()
    if os.path.lexists(real) and (disk.listed(real) or not disk.is_folder(real)):
        raise UsageError(on_one_line(f"{to}: is there already"), hint="name another folder with --to, or remove it")
    try:
        with FolderChanges() as changes:
            changes.make_folders(real.parent)
            changes.stage_folder(real, plan.files)
            changes.apply()
    except OSError as error:
        raise EngineError(on_one_line(f"{to}: nothing was written ({why_not(error)})")) from error


def _compared(plan: HubPlan, tables: str) -> HubPlan:
    """The same plan for the dataset that is there. In its card only the tables are replaced."""
    repository = _repository(plan)
    repository.require_token()
    with explaining(plan.address, kept="nothing was published"):
        commit = repository.commit_if_any()
        if commit is None:
            return plan
        there = {one.path: one for one in repository.listing(commit.hash) if one.type == "file"}
        ours = {path for path in there if path.partition("/")[0] in _OURS}
        card: str | None = plan.files[README_FILE].data.decode()
        if ours:
            file = repository.fetch(there[README_FILE], commit.hash) if README_FILE in ours else None
            card = None if file is None else with_list(disk.read_text(file), tables)
    others = {path.split("/")[1] for path in ours if path.startswith("skills/")} - {one.name for one in plan.skills}
    if card is None or others or (plan.private and not commit.is_private):
        why = "holds what upskill did not publish" if card is None else "is public"
        why = f"holds other skills, too: {', '.join(sorted(others))}" if card and others else why
        hint = "name every skill that it is to hold, or another dataset"
        raise UsageError(on_one_line(f"{plan.address}: {why}"), hint=hint)
    files = {**plan.files, README_FILE: NewFile(card.encode())}
    actions: dict[str, Action] = {
        path: "write" if path not in there else "keep" if there[path].fits(io.BytesIO(file.data)) else "replace"
        for path, file in files.items()
    }
    removed, private = tuple(sorted(ours - files.keys())), commit.is_private
    return replace(plan, files=files, actions=actions, removed=removed, private=private, commit=commit.hash)


def _repository(plan: HubPlan) -> Repository:
    return Repository(plan.repository, "dataset", shown=plan.address)


def publish_to_hub(plan: HubPlan) -> str:
    """Upload in one commit, and return its hash. Raises where somebody changed the dataset since it was planned."""
    changed = sorted(path for path, action in plan.actions.items() if action != "keep")
    with explaining(plan.address, kept="what arrived is not sent again"):
        return _repository(plan).change(
            parent=plan.commit,
            private=plan.private,
            written={path: plan.files[path].data for path in changed},
            removed=plan.removed,
            message=f"Publish {', '.join(one.name for one in plan.skills)}",
        )
