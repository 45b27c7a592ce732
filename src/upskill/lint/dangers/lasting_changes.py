"""What stays after the task, or is gone after it: start-up files, hooks, scheduled jobs, settings of agents; commands that
destroy what cannot be restored, or the traces of what was done."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from upskill.lint.dangers.file_text import FileText, Hit, finder, pattern

_PATH_ONLY = re.compile(r"^(?:echo|printf) [\"']export PATH=[\"']?[\w$/.:{}~-]{1,200}[\"']{1,2} >> ~?[\w$/.\"-]{1,60}$")
_APPENDED = re.compile(
    r"(?:^|[\s`(])(?:(?:echo|printf) ([\"'])([^\"'\n]{1,200})\1|cat ([\w./-]{1,100})) ?>> ?[\"']?[~\w$/.{}-]{1,60}[\"']?(?=[`\s,.)]|$)"
)
_PLAIN_VALUE = re.compile(
    r"export (?!(?:LD|DYLD|PYTHON|NODE|PERL|RUBY|GIT|BASH|PROMPT|PATH|SSH|SSL|ENV)\w*=)[A-Z][A-Z0-9_]{2,60}=[\"']?[\w.-]{0,40}[\"']?"
)
"""A variable with a value that is no path, no address and no command."""

_AGENT_FILES = (
    r"(?:\.claude/(?:settings[\w.]*\.json|commands/|hooks/|agents/|claude\.md)|\.claude\.json|claude_desktop_config\.json|(?:~|\$home)/\.claude\b|\.codex/(?:config\.toml|agents\.md)"
    r"|\.cursor(?:/(?:mcp\.json|rules|hooks)|rules\b)|\.windsurfrules|\.clinerules|\.github/copilot-instructions\.md|\.gemini/settings\.json|(?<![\w-])\.?mcp\.json"
    r"|\.vscode/(?:tasks|settings)\.json|\.aider\.conf\.yml|\.continue/config\.\w+|opencode\.json)"
)
_MEMORY_FILES = r"(?:(?<![\w/])(?:claude|agents|gemini|memory)\.md)"
_START_FILES = (
    r"(?:\.(?:bashrc|zshrc|profile|bash_profile|zprofile|zshenv|zlogin|bash_login|bash_logout|xinitrc|xprofile)\b|config\.fish|/etc/profile(?:\.d)?\b|/etc/bash\.bashrc|/etc/rc\.local"
    r"|/etc/ld\.so\.preload|\$profile\b|microsoft\.powershell_profile)"
)
_JOB_FILES = r"(?:/etc/cron\S{0,40}|/var/spool/cron\S{0,40}|\.config/systemd/user\S{0,60}|/etc/systemd/system/\S{1,60}|library/launch(?:agents|daemons)\S{0,80}|\.config/autostart\S{0,60}|start menu\S{0,80}startup)"
_HOOKS = r"(?:\.git/hooks/[\w-]{3,40})"
_KEYS = r"(?:authorized_keys\b|sitecustomize\.py|usercustomize\.py|site-packages/[\w.-]{1,40}\.pth)"
_WRITE = r"(?:>>?|\btee(?: -a| --append)?|\bsed -i\b[^\n|;]{0,160}|\bchmod \+x|\bcat >>?|\bout-file|\badd-content|\bset-content)"
_COPY = r"(?:\bcp\b|\bmv\b|\bln -\w+\b|\binstall -\w+\b)[^\n|;]{0,120}"
_SAYS = r"\b(?:append|add|write|put|insert|install|register|edit|modify|update|create|drop|place|save|copy|inject|patch|set|merge|include|change)\b"
_COPIED_FROM = r"(?!\.(?:bak|backup|orig|old))(?![^\s\"']{0,60}[\"']?\s+[\"']?(?:[~$./]|[\w.-]{1,60}[./]\w))"
"""A path that another path follows is what is copied, not where to."""
_PYTHON = r"(?:open|write_text|path)\(.{0,80}?"


def _written(files: str) -> str:
    """A command that writes one of the files, or copies something over it."""
    name = rf"[\"']?[^\s\"']{{0,60}}{files}"
    return rf"{_WRITE}\s*{name}|{_COPY}\s{name}{_COPIED_FROM}"


agent_settings = finder(
    pattern(
        ".claude .codex .cursor mcp.json .windsurfrules .clinerules copilot .gemini .vscode claude_desktop .aider .continue opencode",
        rf"{_written(_AGENT_FILES)}|{_PYTHON}{_AGENT_FILES}",
    ),
    pattern(
        ".claude .codex .cursor mcp.json .windsurfrules .clinerules copilot .gemini claude_desktop",
        rf"{_SAYS}[^.\n]{{0,100}}?\b(?:to|in|into|at|of)?\s{{1,3}}[\S]{{0,40}}{_AGENT_FILES}",
    ),
    pattern("claude.md agents.md gemini.md memory.md", rf"{_written(_MEMORY_FILES)}"),
    pattern(
        "claude.md agents.md gemini.md memory.md",
        rf"{_SAYS}[^.\n]{{0,120}}?\b(?:to|in|into)\s{{1,3}}(?:the |your |~/\S{{0,30}}|\S{{0,20}})?\s?{_MEMORY_FILES}",
    ),
    pattern("mcpservers", r"[\"']mcpservers[\"']\s*:"),
    pattern(
        "mcp claude codex",
        r"\b(?:claude|codex|gemini) mcp add\b|\bclaude config set\b|\bclaude plugin (?:install|marketplace add)",
    ),
    pattern(
        "posttooluse pretooluse sessionstart userpromptsubmit",
        r"[\"'](?:posttooluse|pretooluse|sessionstart|userpromptsubmit|stop)[\"']\s*:",
    ),
    pattern(
        "memory start agent global",
        r"\b(?:append|add|write|put|insert|register|carry|move|fold|transfer|save|copy|enter|widen|record|store)(?:s|ing)?\b[^.\n]{0,100}?\b(?:to|in|into|among|under)\s(?:\w+ ){0,4}?"
        r"(?:(?:global|long-term|persistent|user-level) (?:memory|instructions|rules)|memory file|start-?up (?:actions|hooks)|(?:settings|configuration|memory) of the (?:coding )?agent|agent(?:'?s)? (?:settings|configuration|memory))\b",
    ),
    consent=True,
)
_start_up_files = finder(
    pattern(
        "rc profile fish .zshenv xinit rc.local preload .zlogin bash_log",
        rf"{_written(_START_FILES)}|{_PYTHON}{_START_FILES}",
    ),
    pattern(
        "rc profile fish .zshenv",
        rf"{_SAYS}[^\n]{{0,120}}?\b(?:to|in|into)\s{{1,3}}(?:the |your |the user'?s |their )?\s?[~$\w/]{{0,30}}{_START_FILES}",
    ),
    consent=True,
)


def start_up_files(files: Sequence[FileText]) -> Iterator[Hit]:
    """Changes of start-up files. A folder that is added to the path, or a variable with a plain value, is a caution."""
    for hit in _start_up_files(files):
        yield replace(hit, quoted=hit.quoted or _PATH_ONLY.search(hit.text) is not None or _sets_values(hit, files))


def _sets_values(hit: Hit, files: Sequence[FileText]) -> bool:
    """Whether all that is appended sets variables to plain values: as it is written, or in a file of the skill."""
    appended = [*_APPENDED.finditer(hit.text)]
    texts = {file.path: file.text for file in files}
    added = [texts.get(found[3], "?") if found[3] else found[2] for found in appended]
    lines = [line.strip() for text in added for line in text.split("\n")]
    return hit.text.count(">>") == len(appended) > 0 and all(
        not line or line.startswith("#") or _PLAIN_VALUE.fullmatch(line) for line in lines
    )


scheduled_jobs = finder(
    pattern(
        "crontab",
        r"\|\s*(?:sudo )?crontab\b(?: -u \w+)?\s*-?|\bcrontab\s+(?:-u \w+ )?[\w./~-]{0,80}(?:[./]\w{1,30})\b|\bcrontab <<",
    ),
    pattern("cron systemd launch autostart startup", rf"{_written(_JOB_FILES)}"),
    pattern(
        "systemctl launchctl schtasks register-scheduledtask at",
        r"\bsystemctl --user (?:enable|start)|\blaunchctl (?:load|bootstrap)|\bschtasks[^\n]{0,10}/create|\bregister-scheduledtask|\becho\b[^\n|]{0,160}\|\s*at\s+(?:now|\d)",
    ),
    pattern(
        "cron crontab scheduled",
        r"\b(?:install|register|create|add|set up|schedule)\b[^.\n]{0,60}\b(?:cron ?job|cron entry|crontab entry|scheduled task|launch agent|systemd (?:timer|unit|service))\b",
    ),
    pattern("run", r"hk(?:cu|lm)\S{0,80}\\run\b"),
    consent=True,
)
hooks_and_keys = finder(
    pattern(".git/hooks", rf"{_written(_HOOKS)}|{_PYTHON}{_HOOKS}|{_SAYS}[^.\n]{{0,100}}?{_HOOKS}"),
    pattern(
        "authorized_keys customize .pth",
        rf"{_written(_KEYS)}|{_PYTHON}{_KEYS}|{_SAYS}[^.\n]{{0,100}}?{_KEYS}",
    ),
    pattern(
        "git",
        r"\bgit config --(?:global|system) (?:alias\.|core\.(?:hookspath|sshcommand|fsmonitor|pager|editor)|credential\.helper|init\.templatedir|url\.)\S*",
    ),
    pattern(
        "ld_preload dyld_insert pythonstartup bash_env prompt_command",
        r"\bexport (?:ld_preload|dyld_insert_libraries|pythonstartup|bash_env|prompt_command)=",
    ),
    pattern(
        "useradd sudoers nopasswd",
        r"nopasswd:\s*all|\buseradd\b[^\n]{0,60}|\bnet user\b[^\n]{0,40}/add|>>?\s*/etc/sudoers",
    ),
    consent=True,
)


_ROOTS = r"(?:/(?=[\s*\"'`;)]|$)\*?|/\*|~/?(?=[\s\"'`;*)]|$)\*?|\"?\$\{?home\}?\"?/?(?=[\s\"'`;*)]|$)\*?|\*(?=[\s`;]|$)|\.\.?/?(?=[\s`;)]|$)|\.git(?=[\s/`;]|$)|/(?:etc|usr|var|home|boot|lib|bin|root|users|opt)/?(?=[\s\"'`;*)]|$)\*?|--no-preserve-root|c:\\\\?)"

destroy = finder(
    pattern(
        "rm", rf"\brm\s+(?:-[\w-]+\s+){{0,4}}-\w{{0,4}}(?:r|f)\w{{0,4}}\s+(?:-[\w-]+\s+){{0,4}}(?:--\s+)?[\"']?{_ROOTS}"
    ),
    pattern("find", r"\bfind\s+(?:/|~/?|\$home/?|\.\.)\s[^\n|;]{0,120}(?:-delete\b|-exec rm\b)"),
    pattern(
        "mkfs dd shred wipefs diskpart format blkdiscard",
        r"\bmkfs(?:\.\w+)?\s+\S*/dev/|\bdd\b[^\n]{0,120}\bof=/dev/(?:sd|nvme|hd|disk|vd|mmc)|\bshred\s+-|\bwipefs\b|\bdiskpart\b|\bformat c:|\bblkdiscard\b",
    ),
    pattern("/dev/sd /dev/nvme", r">\s*/dev/(?:sd[a-z]|nvme\d)"),
    pattern(":(){", r":\(\)\s*\{\s*:\s*\|\s*:"),
    pattern(
        "rmtree unlink rimraf remove-item",
        r"\brmtree\(\s*(?:path\.home\(\)|os\.path\.expanduser\([\"']~[\"']\)|[\"'](?:/|~|\.\.|\.git)/?[\"'])|\bremove-item\b[^\n]{0,60}-recurse[^\n]{0,60}(?:\$home|\$env:userprofile|c:\\\\?(?=[\s\"'*]|$)|~)",
    ),
    pattern(
        "push",
        r"\bgit push\b[^\n|;&]{0,80}(?:--force(?!-with-lease)\b|\s-f\b)[^\n|;&]{0,60}|\bgit push\b[^\n|;&]{0,60}\s--(?:delete|mirror)\b[^\n]{0,30}\b(?:main|master|origin)\b|\bgit push\b[^\n|;&]{0,60}\s\+(?:main|master|head)",
    ),
    pattern(
        "filter-branch filter-repo reflog update-ref",
        r"\bgit (?:filter-branch|reflog expire)\b[^\n]{0,80}|\bgit update-ref -d\b",
    ),
    pattern(
        "drop truncate",
        r"\bdrop (?:database|schema)\s+(?!if exists (?:test|tmp|scratch))[\w\"`.;$]{1,60}|\bdropdb\s+\w|\bdropdatabase\(",
    ),
    pattern(
        "delete destroy prune rm rb",
        r"\bkubectl delete (?:ns|namespace|all|pv|pvc)\b[^\n]{0,60}(?:--all|prod\w*)|\bkubectl delete [\w,]{1,40} --all\b|\bterraform destroy\b[^\n]{0,60}-auto-approve|\baws s3 (?:rm\b[^\n]{0,100}--recursive|rb\b[^\n]{0,60}--force)|\bgsutil -?m? ?rm -r|\bgcloud projects delete|\bdocker system prune\b[^\n]{0,30}--volumes",
    ),
    pattern("chmod chown", r"\bch(?:mod|own)\s+-r\s+\S{1,30}\s+(?:/|~|/etc|/usr)(?=[\s\"'`]|$)"),
    pattern(
        "vssadmin bcdedit cipher", r"\bvssadmin delete shadows|\bbcdedit\b[^\n]{0,60}recoveryenabled no|\bcipher /w"
    ),
    pattern(
        "delete erase wipe remove",
        r"\b(?:delete|erase|wipe|remove|overwrite)\b (?:\w+ ){0,3}(?:all (?:of )?(?:the )?(?:user'?s )?(?:files|backups?|data|branches|repositories|history)|every (?:file|backup|branch|repository)|(?:the )?(?:user'?s )?(?:home (?:directory|folder)|entire (?:disk|repository|database)|backups))\b",
    ),
    consent=True,
)
cover_tracks = finder(
    pattern(
        "history histfile histsize clear-history bash_history zsh_history",
        r"\bhistory -[cw]{1,2}\b|\bunset histfile|\bhist(?:file|size)=(?:/dev/null|0)|\bclear-history|\brm\b[^\n]{0,40}_history|>\s*\S{0,20}_history|\bset \+o history",
    ),
    pattern(
        "wevtutil journalctl /var/log auth.log",
        r"\bwevtutil cl\b|\bjournalctl --vacuum-(?:time|size)=[01]\w*|\b(?:rm|shred|truncate)\b[^\n]{0,60}/var/log\b|(?<!>)>\s*/var/log/\S+",
    ),
)
