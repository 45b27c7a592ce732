"""What some agents read, ignore or refuse although the specification allows it, and keys that only some agents know.

The keys are those that Claude Code 2.1.197 reads; the limits are those of the specification's advice and of
Anthropic's own validator.
"""

import re
from collections.abc import Iterator

from upskill.domain.finding import Finding
from upskill.domain.text import estimate_tokens
from upskill.shipping.lint.head import Head
from upskill.shipping.lint.rule import LintRule

MOST_BODY_LINES = 500
MOST_BODY_TOKENS = 5_000
CLIENT_KEYS = {
    "agent": "which agent runs the skill",
    "argument-hint": "a hint for people who type the name of the skill",
    "arguments": "the arguments of the skill",
    "context": "whether the skill runs in a conversation of its own",
    "disable-model-invocation": "that only people may load the skill",
    "disallowed-tools": "tools that are taken away",
    "disallowedTools": "tools that are taken away",
    "effort": "how long the model thinks",
    "hooks": "commands that run at certain events",
    "model": "which model is used",
    "paths": "the files for which the skill is offered",
    "shell": "which shell runs its commands",
    "user-invocable": "whether people may load the skill by its name",
    "version": "a version, which it does not show",
    "when_to_use": "when to use the skill",
}
"""Keys of Claude Code that the specification does not have, and what they say there."""
_RESERVED = re.compile(r"anthropic|claude")
_ON_LOAD = re.compile(r"(?:^|(?<=\s))!`[^`\n]{1,400}`")
_ANY_COMMAND = re.compile(r"(?:^|[\s,])(?:Bash(?:\(\s*\*?\s*(?::\s*\*)?\s*\))?|\*)(?=$|[\s,])")


def _rule(id: str, reason: str, remedy: str, *, warns: bool = True) -> LintRule:
    return LintRule(id=id, family="agents", severity="warning" if warns else "caution", reason=reason, remedy=remedy)


CLIENT_KEY = _rule(
    "client-key",
    "Only some agents read this key. The specification has no such key; other agents ignore it or refuse the skill.",
    "Keep it only where you use that agent; else move it into `metadata`.",
)
HOOKS = LintRule(
    id="frontmatter-hooks",
    family="agents",
    severity="danger",
    reason="Claude Code runs these commands by itself once the skill is loaded; no model decides on them.",
    remedy="Read the commands, or delete the hooks.",
)
ON_LOAD = _rule(
    "command-on-load",
    "Claude Code runs this command while it loads the skill; other agents show it as text.",
    "Tell the model to run the command.",
)
ANY_COMMAND = _rule(
    "any-command-allowed",
    "Agents that read `allowed-tools` then run every command of the model without asking.",
    "Name the commands, such as `Bash(git:*)`.",
    warns=False,
)
ANGLE_BRACKETS = _rule(
    "angle-brackets",
    "Anthropic's validator refuses `<` and `>` in a description, which agents put into a prompt with tags.",
    "Write it without them.",
)
RESERVED_NAME = _rule("reserved-name", "Claude refuses skills with this word in their name.", "Choose another name.")
NAME_NOT_ASCII = _rule(
    "name-not-ascii",
    "The reference validator takes this name; other tools refuse it.",
    "Use only a-z, 0-9 and hyphens.",
)
OTHER_TYPE = _rule(
    "unquoted-value",
    "Most YAML readers take this value for a number, a date, a truth value or nothing, not for text.",
    "Put it in double quotes.",
)
LONG_BODY = _rule(
    "long-body",
    f"The specification advises at most {MOST_BODY_LINES} lines and {MOST_BODY_TOKENS:,} tokens: a model reads all of "
    "it at once.",
    "Move what is rarely needed into files under references/.",
)
SKILL_FILE_NAME = _rule(
    "skill-file-name", "Many agents, and upskill, look only for SKILL.md in capitals.", "Rename it."
)
RULES = (
    CLIENT_KEY, HOOKS, ON_LOAD, ANY_COMMAND, ANGLE_BRACKETS, RESERVED_NAME, NAME_NOT_ASCII, OTHER_TYPE, LONG_BODY,
    SKILL_FILE_NAME,
)  # fmt: skip


def find(head: Head) -> Iterator[Finding]:
    """What some agents would ignore, refuse, or do unasked."""
    yield from _keys(head)
    name, description = head.written("name"), head.written("description")
    if _RESERVED.search(name.lower()):
        yield RESERVED_NAME.at(head.line_of("name"), f"name: {name}")
    if not name.isascii() and all(c.isalnum() or c == "-" for c in name):
        yield NAME_NOT_ASCII.at(head.line_of("name"), f"name: {name}")
    if "<" in description or ">" in description:
        at = next(n for n, c in enumerate(description) if c in "<>")
        yield ANGLE_BRACKETS.at(head.line_of("description"), description[max(0, at - 60) : at + 60])
    if found := _ANY_COMMAND.search(head.written("allowed-tools")):
        yield ANY_COMMAND.at(head.line_of("allowed-tools"), f"allowed-tools: {found[0].strip(' ,')}")
    yield from _body(head)


def _keys(head: Head) -> Iterator[Finding]:
    for key, field in head.fields.items():
        if key == "hooks":
            yield HOOKS.at(field.line, f"hooks: {', '.join(one.key for one in field.inner) or field.text}")
        elif key in CLIENT_KEYS:
            reason = (
                f"Claude Code reads this key ({CLIENT_KEYS[key]}); the specification has no such key, and other "
                "agents ignore it or refuse the skill."
            )
            yield CLIENT_KEY.at(field.line, f"{key}: {field.text}", reason=reason)
        for one in (field, *field.inner):
            if one.other_type and one.text and (key in _TEXTS or one is not field):
                yield OTHER_TYPE.at(one.line, f"{one.key}: {one.text}")


_TEXTS = ("name", "description", "license", "compatibility", "allowed-tools")


def _body(head: Head) -> Iterator[Finding]:
    lines, tokens = head.body.rstrip().count("\n") + 1, estimate_tokens(head.body)
    if lines > MOST_BODY_LINES or tokens > MOST_BODY_TOKENS:
        yield LONG_BODY.at(head.body_line, f"{lines:,} lines, about {tokens:,} tokens")
    before = None
    for number, (line, fence) in enumerate(head.lines):
        opens = fence is not None and before is None
        before = fence
        if opens and fence is not None and fence.info.startswith("!"):
            yield ON_LOAD.at(head.body_line + number, line)
        elif fence is None and "!`" in line and (found := _ON_LOAD.search(line)):
            yield ON_LOAD.at(head.body_line + number, found[0])
