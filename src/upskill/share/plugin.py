"""Carries skills and what was measured of them to other people."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "evidence": Command(
            place="upskill.share.command:evidence_command",
            heading="Sharing",
            help="Write what was measured of a skill beside it.",
        ),
        "install": Command(
            place="upskill.share.command:install_command",
            heading="Sharing",
            help="Copy a skill to where a coding agent looks for it.",
        ),
        "publish": Command(
            place="upskill.share.command:publish_command",
            heading="Sharing",
            help="Lay out skills with their evidence for installers.",
        ),
        "verify": Command(
            place="upskill.share.command:verify_command",
            heading="Sharing",
            help="Check which results beside a skill still hold.",
        ),
    },
    offers={
        "write a comment for a pull request": "upskill.share.comment:comment_text",
    },
)
