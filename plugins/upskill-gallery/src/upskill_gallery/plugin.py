"""The checks of the gallery."""

from upskill.plugin import Plugin

PLUGIN = Plugin(
    checks={
        "skill-files": "upskill_gallery.agent_skills:skill_files",
        "skill-script": "upskill_gallery.agent_skills:skill_script",
        "skill-text": "upskill_gallery.agent_skills:skill_text",
        "skill-triggers": "upskill_gallery.agent_skills:skill_triggers",
        "skill-valid": "upskill_gallery.agent_skills:skill_valid",
        "postgres-migration": "upskill_gallery.migrations:postgres_migration",
        "sqlite-migration": "upskill_gallery.migrations:sqlite_migration",
        "builds-package": "upskill_gallery.packaging:builds_package",
        "runs-script": "upskill_gallery.packaging_scripts:runs_script",
        "workflow-lint": "upskill_gallery.workflows:workflow_lint",
        "workflow-rules": "upskill_gallery.workflows:workflow_rules",
        "workflow-runs": "upskill_gallery.workflows:workflow_runs",
        "tidy-parquet": "upskill_gallery.tidy_data:tidy_parquet",
    }
)
