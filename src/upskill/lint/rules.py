"""Every rule of `lint`, in one table: its id, how bad it is, why it matters and what to do. Searches nothing itself."""

from dataclasses import dataclass
from typing import Literal

from upskill.core.nouns.finding import Finding, Severity
from upskill.core.nouns.skill import MOST_CHARACTERS, NAME_RULE, SKILL_FILE
from upskill.core.nouns.text import on_one_line, shortened

Family = Literal["danger", "specification", "folder", "agents", "quality", "overlap"]
MOST_PER_RULE = 20
"""Findings of one rule: more would hide the others."""
MOST_HEAD_CHARACTERS = 20_000
MOST_BODY_LINES = 500
MOST_BODY_TOKENS = 5_000
BODY_TOKENS = 1_200
"""What `generate` allows a body; see docs/explanation/how-a-skill-is-made.md."""
_LONGEST_EXCERPT = 240
_NAME_RULE = NAME_RULE[0].upper() + NAME_RULE[1:] + "."
_READ_IT = "Read it; remove it unless you know why it is there."


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """An id, why it matters and what to do."""

    id: str
    family: Family
    severity: Severity
    reason: str
    remedy: str


# fmt: off
TABLE: dict[Family, tuple[tuple[str, Severity, str, str], ...]] = {
    "danger": (
        ("invisible-characters", "danger",
         "It has invisible characters, which a model still reads.", "Delete them."),
        ("control-characters", "danger",
         "Control characters can hide or rewrite what a terminal shows.", "Delete them."),
        ("out-of-sight", "danger",
         "It is hidden behind a long stretch of blank space.", "Delete the blank space, then read the text."),
        ("hidden-comment", "danger",
         "A comment that is not displayed tells the model what to do.",
         _READ_IT),
        ("hidden-element", "danger",
         "This HTML is not displayed, but a model reads it.", _READ_IT),
        ("link-text", "danger",
         "The title or alternative text of a link tells the model what to do.",
         _READ_IT),
        ("deceiving-link", "danger",
         "The link shows one host and leads to another.", "Show the host that it leads to."),
        ("pipe-to-shell", "danger",
         "It runs what a server sends, without review.",
         "Install from a package manager, or download, verify and read it first."),
        ("download-and-run", "danger",
         "It downloads or decodes a file and runs it unverified.",
         "Verify a checksum or a signature first, or remove it."),
        ("remote-instructions", "danger",
         "It makes the model follow instructions from elsewhere.", "Write the instructions into the skill."),
        ("decode-and-run", "danger",
         "It runs encoded text, which cannot be reviewed.", "Write the command as plain text."),
        ("encoded-command", "danger",
         "Decoded, this text is a command or an instruction.", "Write it as plain text, or remove it."),
        ("encoded-text", "caution",
         "Long encoded text cannot be reviewed.", "Keep data in a data file."),
        ("credential-read", "danger",
         "It reads keys or passwords of the user.", "Let the tool that needs a key read it."),
        ("environment-dump", "caution",
         "The whole environment contains keys.", "Name the variables that are needed."),
        ("theft", "danger",
         "It reads private data and sends data to another machine.",
         "Check that nothing private is sent; name what is sent."),
        ("filled-image", "danger",
         "Displaying this image sends whatever is filled into its address.", "Remove it."),
        ("key-to-another-host", "danger",
         "It sends the key of one service to the host of another.", "Send a key only to its own service."),
        ("drop-site", "danger",
         "Anyone can read or collect what is sent there.", "Use a service that the user chose."),
        ("remote-shell", "danger",
         "It opens a channel through which another machine can give commands or take data.", "Remove it."),
        ("sends-out", "caution",
         "It sends data to another machine.", "Check what is sent, and to whom."),
        ("network-call", "caution",
         "This program reaches the network.", "Check what it sends and receives."),
        ("ignore-instructions", "danger",
         "It tells the model to disregard other instructions.", "Remove it."),
        ("hide-from-user", "danger",
         "It tells the model to hide something from the user.", "Remove it."),
        ("unasked", "danger",
         "It tells the model to continue without approval, or to turn off a safeguard.",
         "Leave that decision to the user."),
        ("safeguard-off", "danger",
         "It turns off a safeguard: a sandbox, approvals or verification.", "Leave the safeguard on."),
        ("agent-settings", "danger",
         "It changes what an agent is told or allowed in other sessions.", "Leave agent settings to the user."),
        ("start-up-file", "danger",
         "It changes what runs whenever a shell starts.", "Show the line to the user instead."),
        ("scheduled-job", "caution",
         "It makes something run later, unobserved.", "Leave scheduling to the user."),
        ("hook", "danger",
         "It installs a hook, a key or a helper that acts later.", "Leave that to the user."),
        ("destructive", "danger",
         "It destroys data that cannot be restored.", "Name exactly what to delete, and ask first."),
        ("covers-tracks", "danger",
         "It erases the traces of what was done.", "Remove it."),
        ("name-squatting", "danger",
         "It passes for a skill that others trust: by its name, or by what it says of itself.",
         "Give it a name of its own, and claim no vendor."),
        ("foreign-package", "danger",
         "It installs programs from a source that the skill chooses, or gives them full access.",
         "Use the sources that the user has set up."),
        ("disguised-address", "danger",
         "The address hides where it leads.", "Name the host in full."),
        ("secret", "danger",
         "It contains what looks like a key or a password.", "Remove it, and replace the key if it is real."),
        ("long-line", "caution",
         "The line is too long to review.", "Break the line."),
        ("url", "caution",
         "It names a host outside this machine.", "Check that you know the host."),
        ("unreadable-file", "danger",
         "A program, an archive, or a file that is too long cannot be searched.",
         "Ship its source as text, or remove it."),
    ),
    "specification": (
        ("not-utf8", "error",
         "SKILL.md is not UTF-8 text, so agents cannot read it.", "Save it as UTF-8."),
        ("byte-order-mark", "error",
         "The reference validator refuses a file that begins with a byte order mark.", "Save it without one."),
        ("frontmatter-not-first", "error",
         "The frontmatter must begin in the first line.", "Delete what is before the first `---`."),
        ("no-frontmatter", "error",
         "Without frontmatter an agent knows neither name nor description.",
         "Begin SKILL.md with `---`, a name, a description and `---`."),
        ("frontmatter-not-closed", "error",
         "The frontmatter has no closing line of `---`.", "Add a line with only `---` behind it."),
        ("frontmatter-too-long", "error",
         f"A frontmatter of more than {MOST_HEAD_CHARACTERS:,} characters is not read here; agents load all of it.",
         "Move text into the body."),
        ("not-yaml", "error",
         "The frontmatter is not valid YAML.", "Put the value in double quotes."),
        ("frontmatter-not-fields", "error",
         "The frontmatter is not a list of `key: value` lines.", "Write `name:` and `description:`."),
        ("dashes-in-frontmatter", "error",
         "The reference validator ends the frontmatter at the first `---`, also inside a value.",
         "Write a dash (–) or fewer hyphens."),
        ("flow-style", "error",
         "The reference validator refuses `{…}` and `[…]` in frontmatter.", "Write one line per item, or a string."),
        ("yaml-anchor", "error",
         "The reference validator refuses anchors and aliases (`&name`, `*name`).", "Write the value out."),
        ("yaml-tag", "error",
         "The reference validator refuses YAML tags (`!name`).", "Delete the tag."),
        ("duplicate-key", "error",
         "The key is there twice, and agents differ in which one they use.", "Keep one."),
        ("value-cut-at-hash", "error",
         "YAML takes ` #` in an unquoted value for a comment: no agent sees the rest of the line.",
         "Put the value in double quotes."),
        ("name-missing", "error",
         "The specification requires a name.", _NAME_RULE),
        ("name-invalid", "error",
         "The specification does not allow this name.", _NAME_RULE),
        ("name-too-long", "error",
         f"A name has at most {MOST_CHARACTERS['name']} characters.", "Shorten it."),
        ("name-not-folder", "error",
         "The name must equal the name of the folder.", "Rename the folder, or change the name."),
        ("description-missing", "error",
         "An agent chooses a skill by its description, and the specification requires one.",
         "Say what the skill does and when to use it."),
        ("description-too-long", "error",
         f"A description has at most {MOST_CHARACTERS['description']:,} characters; agents refuse or cut a longer one.",
         "Shorten it, and move details into the body."),
        ("compatibility-length", "error",
         f"`compatibility` has 1 to {MOST_CHARACTERS['compatibility']} characters.",
         "Shorten it, or delete the field."),
        ("field-not-text", "error",
         "The specification requires one string here.", "Write it as one line in double quotes."),
        ("metadata-not-strings", "error",
         "The specification requires a table of strings in `metadata`.", 'Write one `key: "value"` line each.'),
        ("unknown-key", "error",
         "The specification has no such key, and validators refuse it.", "Move it into `metadata`, or delete it."),
    ),
    "folder": (
        ("skill-file-missing", "error",
         "Without a readable SKILL.md the folder is no skill.", "Add a SKILL.md."),
        ("link-out-of-folder", "danger",
         "The link leads out of the skill: a program that reads or installs the skill opens a file of the user.",
         "Replace the link with the file."),
        ("link-to-cases", "error",
         "The link leads to the cases, which models must not see.", "Delete the link."),
        ("link-to-skipped-folder", "error",
         "The link leads to a folder that is no part of a skill.", "Replace it with the file."),
        ("broken-link", "error",
         "The target of the link does not exist.", "Replace it with the file."),
        ("circular-link", "error",
         "The link leads to itself or to a folder that holds it.", "Delete it."),
        ("special-file", "danger",
         "It is no file: a program that opens it may wait forever, or act on a device.", "Delete it."),
        ("cannot-be-read", "error",
         "The file cannot be read, so it was not searched.", "Allow reading it."),
        ("file-name-not-utf8", "danger",
         "The name is not UTF-8, and many programs cannot open it.", "Rename it."),
        ("nested-folders", "error",
         "It is nested more than 20 folders deep and was not searched.", "Move it up."),
        ("hard-link", "caution",
         "The file has another name elsewhere: a change there changes the skill.", "Copy the file."),
        ("skipped-folder", "caution",
         "This folder is no part of a skill and was not searched.", "Delete it before you share it."),
        ("names-differ-by-case", "danger",
         "On macOS and Windows both names are one, so one file replaces the other, or hides in its folder.",
         "Rename one of them."),
        ("file-name-not-portable", "danger",
         "Not every system can hold this name, or it looks like another.", "Rename it."),
    ),
    "agents": (
        ("client-key", "warning",
         "Only some agents read this key. The specification has no such key; other agents ignore it or refuse the "
         "skill.",
         "Keep it only where you use that agent; else move it into `metadata`."),
        ("frontmatter-hooks", "danger",
         "Claude Code runs these commands by itself once the skill is loaded; no model decides on them.",
         "Read the commands, or delete the hooks."),
        ("command-on-load", "warning",
         "Claude Code runs this command while it loads the skill; other agents show it as text.",
         "Tell the model to run the command."),
        ("any-command-allowed", "caution",
         "Agents that read `allowed-tools` then run every command of the model without asking.",
         "Name the commands, such as `Bash(git:*)`."),
        ("angle-brackets", "warning",
         "Anthropic's validator refuses `<` and `>` in a description, which agents put into a prompt with tags.",
         "Write it without them."),
        ("reserved-name", "warning",
         "Claude refuses skills with this word in their name.", "Choose another name."),
        ("name-not-ascii", "warning",
         "The reference validator takes this name; other tools refuse it.", "Use only a-z, 0-9 and hyphens."),
        ("unquoted-value", "warning",
         "Most YAML readers take this value for a number, a date, a truth value or nothing, not for text.",
         "Put it in double quotes."),
        ("long-body", "warning",
         f"The specification advises at most {MOST_BODY_LINES} lines and {MOST_BODY_TOKENS:,} tokens: a model reads "
         "all of it at once.",
         "Move what is rarely needed into files under references/."),
        ("skill-file-name", "warning",
         "Many agents, and upskill, look only for SKILL.md in capitals.", "Rename it."),
    ),
    "quality": (
        ("empty-body", "warning",
         "The skill has no instructions.", "Write what the model should know or do."),
        ("placeholder", "warning",
         "The text is unfinished, and a model reads it as an instruction.", "Complete it."),
        ("description-without-when", "warning",
         "A model loads a skill by its description, and this one does not say when to use the skill.",
         "Add `Use when …`, in the words of users; `upskill trigger` measures it."),
        ("body-size", "caution",
         f"`generate` keeps a body below {BODY_TOKENS:,} tokens: in our measurements, bodies of up to 533 tokens "
         "helped a very small model, and longer ones with the same facts were not shown to.",
         "Keep what the model does not know; measure with `upskill eval`."),
        ("repeated-section", "warning",
         "The same text is there twice: it costs tokens, and later only one may be changed.", "Keep one."),
        ("missing-file", "warning",
         "The skill has no such file, so a model that looks for it fails.", "Add the file, or correct the path."),
        ("path-leaves-skill", "warning",
         "The path leads out of the skill; it breaks where the skill is installed.", "Copy the file into the skill."),
        ("unreferenced-file", "warning",
         "No file of the skill names it, so a model has no reason to open it.",
         "Say in SKILL.md when to read or run it, or delete it."),
        ("nested-reference", "warning",
         "SKILL.md does not name this file, only another page does. The specification advises one step.",
         "Name it in SKILL.md, too."),
    ),
    "overlap": (
        ("competing-description", "warning",
         "Two descriptions share so many rare words that a model can load the wrong skill.",
         "Say in each what it does that the other does not; measure with `upskill trigger --among`."),
        ("loaded-instead", "warning",
         "In a measurement, models loaded the other skill for prompts that should load this one.",
         "Say in each description what it does that the other does not, and measure again."),
        ("same-name", "warning",
         "Two skills have one name: an agent that finds both uses one of them.", "Rename one of them."),
    ),
}
"""By family: id, severity, reason and remedy."""
# fmt: on

RULES = {
    id: Rule(id=id, family=family, severity=severity, reason=reason, remedy=remedy)
    for family, rules in TABLE.items()
    for id, severity, reason, remedy in rules
}
"""Every rule by its id, dangers first."""


def finding(
    rule: str,
    line: int,
    excerpt: str,
    *,
    file: str = SKILL_FILE,
    reason: str | None = None,
    remedy: str | None = None,
    is_example: bool = False,
) -> Finding:
    """A finding of a rule. `reason` and `remedy` say more than the rule where they are given; a danger that is only
    named, as an example or as advice against it, is a caution."""
    known = RULES[rule]
    return Finding(
        rule=rule,
        severity="caution" if is_example else known.severity,
        file=on_one_line(file),
        line=line,
        excerpt=on_one_line(shortened(excerpt, _LONGEST_EXCERPT)),
        reason=reason or known.reason,
        remedy=remedy or known.remedy,
    )
