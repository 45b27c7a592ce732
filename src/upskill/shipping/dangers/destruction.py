"""Commands that destroy what cannot be had again, or the traces of what was done."""

from upskill.shipping.dangers.rule import finder, pattern

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
