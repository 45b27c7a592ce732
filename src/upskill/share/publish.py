"""Publish skills into a folder that installers read: files, evidence, card, list of plugins, list in the README.

`skills` from npm finds `skills/<name>/SKILL.md`. Claude Code reads `.claude-plugin/marketplace.json`. All of it is
written, or nothing. Asks nobody and prints nothing. What does not belong to the published skills stays, byte for byte.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill import disk
from upskill.core.foreign_json import parse_json
from upskill.core.nouns.case import Json
from upskill.core.nouns.finding import Finding, FindingsRefused
from upskill.core.nouns.skill import CARD_FILE, EVIDENCE_FILE, EVIDENCE_FILES, SIGNATURE_FILE, is_skill_name
from upskill.core.nouns.text import count, on_one_line, whole_characters
from upskill.core.skills.skills import find_skills, read_skill
from upskill.errors import EXIT_NOT_SHOWN, EngineError, SkillInvalid, UpskillError, UsageError
from upskill.redaction import redactor_from
from upskill.report.markdown import markdown_text
from upskill.share.card import card_text, evidence_line
from upskill.share.evidence import Evidence, evidence_text, read_evidence
from upskill.share.files import (
    Action,
    FolderChanges,
    NewFile,
    SharedSkill,
    changed_files,
    findings_in,
    named_changes,
    read_shared_skill,
    require_no_twin,
    why_not,
)
from upskill.share.gather import gather

SKILLS_FOLDER = "skills"
MARKETPLACE_FILE = ".claude-plugin/marketplace.json"
README_FILE = "README.md"
ATTRIBUTES_FILE = ".gitattributes"
MOST_FILE_BYTES = 5_000_000
_ATTRIBUTE = b"evidence.json -text"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED = re.compile(
    r"anthropic|^claude|official"
    r"|^(agent-skills|builtin|financial-services-plugins|inline|knowledge-work-plugins|life-sciences)$"
)
_MOST_NAME = 64
_MOST_LISTED = 500
_INDENT = re.compile(rb"\n([ \t]{1,8})\S")
_HERE = "./"
BEGIN = "<!-- upskill: list of skills, written by `upskill publish` -->"
END = "<!-- upskill: end of the list -->"
_README = """\
# {title}

{block}

Each skill has a card, `evidence.md`, and the same as data, `evidence.json`. `upskill verify skills/NAME`
tells whether they still hold.

To install a skill from a clone of this repository:

```sh
npx skills add .
```

In Claude Code: `/plugin marketplace add OWNER/REPOSITORY`.
"""


class PublishRefused(UpskillError):
    """A skill that was measured to do harm is not published."""

    exit_code = EXIT_NOT_SHOWN


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishedSkill:
    """One skill in the list of plugins, and in the README."""

    name: str
    description: str
    """Its own, which is never edited."""
    result: str
    """What was measured, in one line."""

    @property
    def folder(self) -> str:
        return f"{_HERE}{SKILLS_FOLDER}/{self.name}"

    @property
    def entry(self) -> dict[str, Any]:
        """A plugin that holds this skill and nothing else. Its description ends with the result."""
        end = "" if self.description.endswith((".", "!", "?", "…")) else "."
        return {
            "name": self.name,
            "description": f"{self.description}{end} Result: {self.result}.",
            "source": _HERE,
            "strict": False,
            "skills": [self.folder],
        }


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedSkill:
    """One skill: what is written to its folder, and what happens to what is there."""

    shared: SharedSkill
    folder: Path
    evidence: Evidence
    findings: tuple[Finding, ...]
    files: dict[str, NewFile]
    """Everything in the published folder, by path."""
    action: Action
    notes: tuple[str, ...] = ()
    runs: tuple[Path, ...] = ()
    """The folders of the runs that the evidence was gathered from."""

    @property
    def name(self) -> str:
        return self.shared.skill.name

    @property
    def result(self) -> str:
        """What was measured, in one line."""
        return evidence_line(self.evidence)

    @property
    def listed(self) -> PublishedSkill:
        """As the list of plugins and the README show it."""
        return PublishedSkill(name=self.name, description=self.shared.skill.description, result=self.result)


@dataclass(frozen=True, kw_only=True, slots=True)
class PlannedFile:
    """A file beside the skills."""

    path: Path
    data: bytes
    before: bytes | None
    """What was there when the plan was made; `None` for nothing."""

    @property
    def action(self) -> Action:
        return "write" if self.before is None else "keep" if self.before == self.data else "replace"


@dataclass(frozen=True, kw_only=True, slots=True)
class PublishPlan:
    """What publishing would do. Nothing was written yet."""

    to: Path
    """The real folder."""
    marketplace: str
    """The name of the list of plugins."""
    skills: tuple[PlannedSkill, ...]
    files: tuple[PlannedFile, ...]

    @property
    def changes(self) -> bool:
        """Whether anything would be written."""
        actions = {one.action for one in self.skills} | {one.action for one in self.files}
        return actions != {"keep"}


def plan_publish(
    skills: Sequence[Path],
    *,
    to: Path,
    home: Path,
    runs_dir: Path,
    ledger: Path | None,
    owner: str | None = None,
    name: str | None = None,
) -> PublishPlan:
    """What publishing would write. Raises where a skill or the folder cannot or must not be published."""
    real = _folder(to, home)
    if name is not None:
        _require_name(name)
    shared = [read_shared_skill(skill) for skill in skills]
    require_apart(shared, real)
    planned = tuple(planned_skill(one, real, runs_dir=runs_dir, ledger=ledger) for one in shared)
    marketplace, title = _marketplace(real, planned, owner=owner, name=name)
    files = tuple(one for one in (marketplace, _readme(title, planned, real), _attributes(real)) if one is not None)
    return PublishPlan(to=real, marketplace=title, skills=planned, files=files)


def publish(plan: PublishPlan) -> None:
    """Write everything, or nothing. Raises where somebody changed what is there since the plan was made."""
    for skill in plan.skills:
        _there(skill.folder)
    for file in plan.files:
        if _read_plain_file(file.path) != file.before:
            raise UsageError(on_one_line(f"{file.path}: changed meanwhile; nothing was published"), hint="try again")
    try:
        with FolderChanges() as changes:
            for skill in plan.skills:
                if skill.action != "keep":
                    changes.make_folders(skill.folder.parent)
                    changes.stage_folder(skill.folder, skill.files)
            for file in plan.files:
                if file.action != "keep":
                    changes.make_folders(file.path.parent)
                    changes.stage_file(file.path, file.data)
            changes.apply()
    except OSError as error:
        raise EngineError(on_one_line(f"{plan.to}: nothing was published ({why_not(error)})")) from error


def _folder(typed: Path, home: Path) -> Path:
    """The real folder to publish to. It may be new."""
    shown, to = on_one_line(str(typed)), typed.resolve()
    if home.resolve().is_relative_to(to):
        raise UsageError(
            f"{shown}: is your home folder, or above it", hint="name a folder of its own, e.g. --to shared"
        )
    for one in (to, *to.parents):
        if one.exists() and not one.is_dir():
            raise UsageError(on_one_line(f"{one}: is not a folder"), hint="name another folder with --to")
    for inside in (SKILLS_FOLDER, str(Path(MARKETPLACE_FILE).parent)):
        real = (to / inside).resolve()
        if not real.is_relative_to(to) or (real.exists() and not real.is_dir()):
            raise UsageError(on_one_line(f"{typed / inside}: must be a folder inside {shown}"), hint="move it away")
    return to


def require_apart(skills: Sequence[SharedSkill], to: Path) -> None:
    """Raise for two skills of one name, and where the folder is inside a skill or around it."""
    names: set[str] = set()
    for one in skills:
        if one.skill.name in names:
            raise UsageError(f"two of the skills have the name {one.skill.name}", hint="publish one of them")
        names.add(one.skill.name)
        if to.is_relative_to(one.root):
            raise UsageError(on_one_line(f"{to}: is inside the skill {one.skill.name}"), hint="name another folder")
        if one.root.is_relative_to(to):
            raise UsageError(
                on_one_line(f"{one.root}: is inside the folder to publish to, so its cases would be published, too"),
                hint="publish to a folder that does not contain the skill",
            )


def planned_skill(shared: SharedSkill, to: Path, *, runs_dir: Path, ledger: Path | None) -> PlannedSkill:
    """What one skill is published with. Raises where it does harm, is dangerous, or something else is in its place."""
    name, folder = shared.skill.name, to / SKILLS_FOLDER / shared.skill.name
    gathered = gather(shared.root, runs_dir=runs_dir, ledger=ledger)
    here = gathered.evidence
    for one in (shared.evidence, here):  # harm counts in both
        if one is not None and one.worst_verdict == "hurts":
            raise PublishRefused(
                f"{name}: not published: {evidence_line(one)}",
                hint="improve the skill with `upskill generate --from`, and measure it again",
            )
    notes = [] if shared.note is None else [shared.note]
    evidence, about = here, shared.evidence_files
    if shared.evidence is not None and not here.results:
        evidence = shared.evidence
    else:
        about = _new_evidence(here)
        if shared.evidence not in (None, here):
            notes.append(f"{EVIDENCE_FILE} beside the skill is replaced by what the runs here measured")
    findings = findings_in(shared, about)
    if bad := [one for one in findings if one.severity in ("danger", "error")]:
        raise FindingsRefused(
            f"{name}: not published: {count(len(bad), 'danger or error', 'dangers or errors')}",
            findings=findings,
            problems=[one.line_for_people for one in bad],
            hint="fix these; `upskill lint` shows them with remedies",
        )
    files = {**shared.files, **about}
    action, there = _there(folder)
    if SIGNATURE_FILE in there and there.get(EVIDENCE_FILE) == files[EVIDENCE_FILE].data:
        files.setdefault(SIGNATURE_FILE, NewFile(there[SIGNATURE_FILE]))
    if action == "replace" and there == {path: one.data for path, one in files.items()}:
        action = "keep"
    return PlannedSkill(
        shared=shared,
        folder=folder,
        evidence=evidence,
        findings=findings,
        files=files,
        action=action,
        notes=tuple(notes),
        runs=gathered.runs,
    )


def _new_evidence(evidence: Evidence) -> dict[str, NewFile]:
    clean = redactor_from(os.environ).clean_own
    texts = {EVIDENCE_FILE: evidence_text(evidence), CARD_FILE: card_text(evidence)}
    return {name: NewFile(clean(text).encode()) for name, text in texts.items()}


def _there(folder: Path) -> tuple[Action, dict[str, bytes]]:
    """Whether there is a published version, and its files. Raises where upskill did not publish what is there."""
    shown = on_one_line(str(folder))
    require_no_twin(folder)
    if not os.path.lexists(folder):
        return "write", {}
    evidence = None
    if folder.is_dir() and not folder.is_symlink():
        with suppress(SkillInvalid, EngineError):
            evidence = read_evidence(folder)
    if evidence is None:
        raise UsageError(f"{shown}: upskill did not publish what is there, so it was not replaced", hint="move it away")
    published = {file.path: file.sha256 for file in evidence.skill.files}
    if changed := changed_files(folder, published, besides=EVIDENCE_FILES):
        raise UsageError(
            f"{shown}: was changed after it was published, so it was not replaced",
            problems=named_changes(changed),
            hint="make the change in the skill itself, then move this folder away and publish again",
        )
    return "replace", {path.relative_to(folder).as_posix(): disk.read(path) for path in disk.below(folder)}


def _marketplace(
    to: Path, skills: Sequence[PlannedSkill], *, owner: str | None, name: str | None
) -> tuple[PlannedFile, str]:
    """The list of plugins with these skills, and its name."""
    path = to / MARKETPLACE_FILE
    before = _read_plain_file(path)
    current: dict[str, Any]
    if before is None:
        name = name or re.sub(r"[^a-z0-9]+", "-", to.name.lower()).strip("-")[:_MOST_NAME].strip("-") or SKILLS_FOLDER
        _require_name(name)
        owner = (owner or "").strip()
        if not owner:
            raise UsageError(
                "a new marketplace needs the name of its owner", hint="add --owner NAME, of you or your team"
            )
        current = {
            "name": name,
            "owner": {"name": owner},
            "description": f"Agent Skills of {owner}, each with what was measured.",
            "plugins": [],
        }
    else:
        current = _read_marketplace(path, before)
        for option, typed, there in (
            ("--name", name, current["name"]),
            ("--owner", owner, current["owner"]["name"]),
        ):
            if typed is not None and typed != there:
                raise UsageError(
                    on_one_line(f"{option} {typed}: {path} has {there!r}"), hint=f"remove {option}, or edit the file"
                )
    data = _marketplace_bytes(_with_skills(current, [one.listed for one in skills]), before=before)
    return PlannedFile(path=path, data=data, before=before), str(current["name"])


def _readme(title: str, skills: Sequence[PlannedSkill], to: Path) -> PlannedFile | None:
    """The README if there is none, or its list if it has the marks of one; `None` where it is the user's own."""
    path = to / README_FILE
    if path.is_symlink():
        return None
    before = _read_plain_file(path)
    rows = _published_skills(to / SKILLS_FOLDER) | {one.name: one.listed for one in skills}
    block = readme_list(rows.values())
    if before is None:
        text = _README.format(title=markdown_text(title), block=block)
        return PlannedFile(path=path, data=text.encode(), before=None)
    try:
        text = before.decode("utf-8")
    except UnicodeDecodeError:
        return None
    new = with_list(text, block)
    return PlannedFile(path=path, data=(text if new is None else new).encode(), before=before)


def readme_list(skills: Iterable[PublishedSkill], *more: str) -> str:
    """The list of skills in a README between its marks, and what else stands there, line by line."""
    table = [
        f"| [{it.name}](skills/{it.name}/evidence.md) | {markdown_text(it.description)} | {markdown_text(it.result)} |"
        for it in sorted(skills, key=lambda it: it.name)
    ]
    return "\n".join([BEGIN, "", "| Skill | What it is for | Result |", "|---|---|---|", *table, "", *more, END])


def with_list(text: str, block: str) -> str | None:
    """The text of a README with another list between its marks; `None` where it has no marks."""
    above, begin, rest = text.partition(BEGIN)
    _, end, below = rest.partition(END)
    return f"{above}{block}{below}" if begin and end else None


def _attributes(to: Path) -> PlannedFile | None:
    """The attributes by which git keeps the bytes of evidence, as a signature needs; `None` where they are a link."""
    path = to / ATTRIBUTES_FILE
    if path.is_symlink():
        return None
    before = _read_plain_file(path)
    lines = before or b""
    if _ATTRIBUTE not in lines.splitlines():
        lines += (b"\n" if lines and not lines.endswith(b"\n") else b"") + _ATTRIBUTE + b"\n"
    return PlannedFile(path=path, data=lines, before=before)


def _require_name(name: str) -> None:
    """Raise for a name that Claude Code would refuse."""
    if _NAME.fullmatch(name) is None or len(name) > _MOST_NAME:
        raise UsageError(
            f"--name {name!r}: not a valid name of a marketplace",
            hint="use letters a-z, digits and hyphens, as in harbour-skills",
        )
    if _RESERVED.search(name) is not None:
        raise UsageError(
            f"the name {name} is reserved: Claude Code refuses marketplaces of that name",
            hint="choose another with --name NAME",
        )


def _with_skills(marketplace: Mapping[str, Any], skills: Sequence[PublishedSkill]) -> dict[str, Any]:
    """The same list with these skills. Other plugins, unknown keys and the order of everything stay.

    A skill that another plugin of the list offers already is not offered twice.
    """
    plugins = [dict(one) for one in marketplace["plugins"]]
    for skill in skills:
        named = next((one for one in plugins if one.get("name") == skill.name), None)
        if named is not None and not _offers(named, skill):
            raise UsageError(
                f"{MARKETPLACE_FILE}: the plugin {skill.name} is there already, with another source",
                hint="rename or remove that plugin",
            )
        if named is None:
            if not any(_offers(one, skill) for one in plugins):
                plugins.append(skill.entry)
        elif named["skills"] == [skill.folder]:
            named["description"] = skill.entry["description"]
    return {**marketplace, "plugins": plugins}


def _offers(plugin: Mapping[str, Any], skill: PublishedSkill) -> bool:
    skills = plugin.get("skills")
    return plugin.get("source") == _HERE and isinstance(skills, list) and skill.folder in skills


def _read_marketplace(path: Path, data: bytes) -> Any:
    """The list of plugins in the bytes of its file. Raises where it cannot be added to."""
    try:
        value = parse_json(data)
        problem = _marketplace_problem(value)
    except ValueError as error:
        problem = str(error)
    if problem is not None:
        raise UsageError(
            on_one_line(f"{path}: cannot be added to: {problem}"), hint="correct the file, then publish again"
        )
    return value


def _marketplace_problem(value: Json) -> str | None:
    """Why a list of plugins cannot be added to; `None` if it can."""
    if not isinstance(value, dict):
        return "it is not an object"
    owner, plugins, metadata = value.get("owner"), value.get("plugins"), value.get("metadata")
    if not isinstance(value.get("name"), str) or not isinstance(owner, dict) or not isinstance(owner.get("name"), str):
        return "it needs `name` and `owner.name`"
    if not isinstance(plugins, list) or not all(isinstance(one, dict) for one in plugins):
        return "`plugins` must be a list of objects"
    if isinstance(metadata, dict) and metadata.get("pluginRoot") not in (None, ".", "./"):
        return "`metadata.pluginRoot` leads to another folder; add the skills there yourself"
    return None


def _read_plain_file(path: Path) -> bytes | None:
    """The bytes of a file; `None` where there is none. Raises `UsageError` where it is not an ordinary file."""
    try:
        return disk.read(path, most=MOST_FILE_BYTES)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise UsageError(on_one_line(f"{path}: cannot be read ({error.strerror})"), hint="move it away") from None


def _marketplace_bytes(value: Mapping[str, Any], *, before: bytes | None) -> bytes:
    """The list as it is written: indented as it was before, and the same bytes where nothing changed."""
    if before is not None and json.loads(before.decode("utf-8-sig")) == value:
        return before
    found = None if before is None else _INDENT.search(before)
    indent = "  " if found is None else found[1].decode()
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if whole_characters(text) != text:  # half a character can only be written as an escape
        text = json.dumps(value, indent=indent)
    return f"{text}\n".encode()


def _published_skills(skills_folder: Path) -> dict[str, PublishedSkill]:
    """The skills that are in the folder and have evidence, by the name of their folder."""
    found: dict[str, PublishedSkill] = {}
    for folder in find_skills(skills_folder, depth=1, most_folders=_MOST_LISTED):
        if not is_skill_name(folder.name):
            continue  # no agent reads it, and its name could be markup
        try:
            evidence = read_evidence(folder)
            if evidence is not None:
                description, result = read_skill(folder).description, evidence_line(evidence)
                found[folder.name] = PublishedSkill(name=folder.name, description=description, result=result)
        except (SkillInvalid, UsageError, EngineError):
            continue  # somebody else's, and not for us to judge
    return found
