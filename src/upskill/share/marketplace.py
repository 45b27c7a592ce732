"""A repository of skills as installers expect it: where things lie, the list of plugins, and the list in its README.

`skills` from npm finds `skills/<name>/SKILL.md`. Claude Code reads `.claude-plugin/marketplace.json`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from upskill.core.foreign_json import parse_json
from upskill.core.nouns.case import Json
from upskill.core.nouns.skill import EVIDENCE_FILES, is_skill_name
from upskill.core.nouns.text import on_one_line, whole_characters
from upskill.core.skills.skill_files import read_plain
from upskill.core.skills.skills import find_skills, read_skill
from upskill.errors import EngineError, SkillInvalid, UsageError
from upskill.report.markdown import markdown_text
from upskill.share.card import evidence_line
from upskill.share.copies import changed_files
from upskill.share.files import read_evidence

SKILLS_FOLDER = "skills"
MARKETPLACE_FILE = ".claude-plugin/marketplace.json"
README_FILE = "README.md"
ATTRIBUTES_FILE = ".gitattributes"
_ATTRIBUTE = b"evidence.json -text"
NAME_RULE = "use letters a-z, digits and hyphens, as in harbour-skills"
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED = frozenset(
    {
        "agent-skills",
        "builtin",
        "financial-services-plugins",
        "inline",
        "knowledge-work-plugins",
        "life-sciences",
    }
)
_OFFICIAL = re.compile(r"anthropic|^claude|official")
_MOST_NAME = 64
_HERE = "./"


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


def marketplace_name(folder_name: str) -> str:
    """A name made from that of a folder."""
    return re.sub(r"[^a-z0-9]+", "-", folder_name.lower()).strip("-")[:_MOST_NAME].strip("-") or SKILLS_FOLDER


def require_name(name: str) -> None:
    """Raise for a name that Claude Code would refuse."""
    if _NAME.fullmatch(name) is None or len(name) > _MOST_NAME:
        raise UsageError(f"--name {name!r}: not a valid name of a marketplace", hint=NAME_RULE)
    if name in _RESERVED or _OFFICIAL.search(name) is not None:
        raise UsageError(
            f"the name {name} is reserved: Claude Code refuses marketplaces of that name",
            hint="choose another with --name NAME",
        )


def new_marketplace(name: str, owner: str) -> dict[str, Any]:
    """The list of plugins before there is one."""
    return {
        "name": name,
        "owner": {"name": owner},
        "description": f"Agent Skills of {owner}, each with what was measured.",
        "plugins": [],
    }


def with_skills(marketplace: Mapping[str, Any], skills: Sequence[PublishedSkill]) -> dict[str, Any]:
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


def marketplace_problem(value: Json) -> str | None:
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


def with_attribute(before: bytes | None) -> bytes:
    """The attributes of a repository in which git keeps the bytes of evidence: a signature is about these bytes."""
    before = before or b""
    if _ATTRIBUTE in before.splitlines():
        return before
    end = b"\n" if before and not before.endswith(b"\n") else b""
    return before + end + _ATTRIBUTE + b"\n"


BEGIN = "<!-- upskill: list of skills, written by `upskill publish` -->"
END = "<!-- upskill: end of the list -->"


def readme_text(title: str, rows: Sequence[PublishedSkill]) -> str:
    """A new README."""
    return "\n".join(
        [
            f"# {markdown_text(title)}",
            "",
            _block(rows),
            "",
            "Each skill has a card, `evidence.md`, and the same as data, `evidence.json`. `upskill verify skills/NAME`",
            "tells whether they still hold.",
            "",
            "To install a skill from a clone of this repository:",
            "",
            "```sh",
            "npx skills add .",
            "```",
            "",
            "In Claude Code: `/plugin marketplace add OWNER/REPOSITORY`.",
            "",
        ]
    )


def updated_readme(text: str, rows: Sequence[PublishedSkill]) -> str:
    """The text with a new list between the marks; as it was where it has no marks."""
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    return f"{before}{_block(rows)}{after}" if begin and end else text


def _block(rows: Sequence[PublishedSkill]) -> str:
    table = ["| Skill | What it is for | Result |", "|---|---|---|"]
    for row in rows:
        cells = (f"[{row.name}](skills/{row.name}/evidence.md)", markdown_text(row.description))
        table.append(f"| {' | '.join(cells)} | {markdown_text(row.result)} |")
    return "\n".join([BEGIN, "", *table, "", END])


MOST_FILE_BYTES = 5_000_000
_MOST_LISTED = 500
_INDENT = re.compile(rb"\n([ \t]{1,8})\S")


def published_changes(folder: Path) -> tuple[str, ...] | None:
    """What in a folder of a skill is not as upskill published it; `None` if upskill did not publish it."""
    try:
        evidence = read_evidence(folder)
    except (SkillInvalid, EngineError):
        return None
    if evidence is None:
        return None
    files = {file.path: file.sha256 for file in evidence.skill.files}
    return changed_files(folder, files, besides=EVIDENCE_FILES)


def read_text_file(path: Path) -> bytes | None:
    """The bytes of a file; `None` where there is none. Raises `UsageError` where it is not an ordinary file."""
    if path.is_symlink() or (path.exists() and not path.is_file()):
        raise UsageError(on_one_line(f"{path}: is not an ordinary file"), hint="move it away")
    try:
        return read_plain(path, most=MOST_FILE_BYTES)
    except FileNotFoundError:
        return None


def parse_marketplace(path: Path, data: bytes) -> Any:
    """The list of plugins in the bytes of its file."""
    try:
        return parse_json(data)
    except ValueError as error:
        raise UsageError(
            on_one_line(f"{path}: cannot be added to: {error}"), hint="correct the file, then publish again"
        ) from None


def marketplace_bytes(value: Mapping[str, Any], *, before: bytes | None) -> bytes:
    """The list as it is written: indented as it was before, and the same bytes where nothing changed."""
    if before is not None and json.loads(before.decode("utf-8-sig")) == value:
        return before
    found = None if before is None else _INDENT.search(before)
    indent = "  " if found is None else found[1].decode()
    text = json.dumps(value, indent=indent, ensure_ascii=False)
    if whole_characters(text) != text:  # half a character can only be written as an escape
        text = json.dumps(value, indent=indent)
    return f"{text}\n".encode()


def published_skills(skills_folder: Path) -> dict[str, PublishedSkill]:
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
