"""Measures skills with and without them, and shows what was measured."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "eval": Command(
            place="upskill.evaluation.command:command",
            heading="Commands",
            help="Measure one or more models with and without a skill.",
        ),
        "report": Command(
            place="upskill.evaluation.runs_command:report_command",
            heading="Commands",
            help="Show a run as an HTML page or as Markdown.",
        ),
        "regrade": Command(
            place="upskill.evaluation.runs_command:regrade_command",
            heading="Past runs",
            help="Apply changed checks to the stored answers of a run.",
        ),
        "runs": Command(
            place="upskill.evaluation.runs_command:command",
            heading="Past runs",
            help="List past runs and their results; remove old ones.",
        ),
        "cases": Command(
            place="upskill.evaluation.skills_command:command",
            heading="Skills and cases",
            help="Check the cases of a skill, or have a teacher write them.",
        ),
        "list": Command(
            place="upskill.evaluation.skills_command:list_command",
            heading="Skills and cases",
            help="List the skills in a folder.",
        ),
    },
)
