"""Prepares a machine and a project, and shows how they are set."""

from upskill.plugin import Command, Plugin

PLUGIN = Plugin(
    commands={
        "init": Command(
            place="upskill.setup.init_command:command",
            heading="Skills and cases",
            help="Write an example project that runs without a key.",
        ),
        "doctor": Command(
            place="upskill.setup.doctor:command",
            heading="This machine",
            help="Check the sandbox, a coding agent or a model server.",
        ),
        "models": Command(
            place="upskill.setup.models_command:command",
            heading="This machine",
            help="Show what a model name resolves to, its key variable and price.",
        ),
        "settings": Command(
            place="upskill.setup.settings_command:command",
            heading="This machine",
            help="Show every setting and where its value comes from.",
        ),
        "trust": Command(
            place="upskill.setup.trust_command:command",
            heading="This machine",
            help="Trust the settings file of a project.",
        ),
    },
)
