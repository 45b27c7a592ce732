"""Makes skills and cases with a teacher."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "generate": Command(
            place="upskill.generation.command:command",
            heading="Commands",
            help="Write a skill from a task or a session, and measure it.",
        ),
        "handoff": Command(
            place="upskill.generation.handoff:command",
            heading="Commands",
            help="Act as the teacher of a run, by hand or with an agent.",
        ),
        "cases write": Command(place="upskill.generation.cases_command:cases_write_command"),
    },
    offers={
        "write missing cases": "upskill.generation.write_for_skill:write_missing_cases",
        "plan missing cases": "upskill.generation.cases_command:plan_missing_cases",
        "write missing trigger prompts": "upskill.generation.write_for_skill:write_missing_triggers",
        "write trigger prompts": "upskill.generation.cases_command:write_triggers_for_person",
        "read the report of a teaching": "upskill.generation.story:read_generate_report",
    },
)
