"""A repository of skills as installers expect it: where things lie, and the list of plugins. Reads and writes nothing.

`skills` from npm finds `skills/<name>/SKILL.md`. Claude Code reads `.claude-plugin/marketplace.json`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from upskill.domain.case import Json
from upskill.errors import UsageError

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
    """One skill in the list of plugins."""

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
