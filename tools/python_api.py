"""The page on the Python API: what is public, with the signatures and docstrings that the code has."""

from pathlib import Path

from tools.definitions import Definition, definition

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/python/evaluate.py"

INTRODUCTION = f"""# Python API

Whatever a command does, a few lines of Python do too: a command parses flags, calls one function of
`upskill.workflows` and prints what it returns. Importing does nothing but define names; the engine is loaded when a
trial runs.

What stands on this page is public. Until version 1.0 it may change with a line in the changelog; anything else may
change without one. Values are frozen, their fields are given by name, and what is unknown is `None`, never 0. Errors
that a person can act on are `UpskillError`s.

This program is [`{EXAMPLE}`](../../{EXAMPLE}), and the tests run it:
"""

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Evaluating",
        "Settings come first: they hold the models, the caps and where runs are kept.",
        (
            "upskill.settings:resolve_settings",
            "upskill.settings:Resolved",
            "upskill.workflows.evaluating.prepare:EvaluationOrder",
            "upskill.workflows.evaluate:evaluate",
            "upskill.workflows.evaluating.evaluate:resume",
            "upskill.workflows.progress:RunProgress",
            "upskill.workflows.evaluating.regrade:regrade",
            "upskill.reporting:evaluation_json",
            "upskill.reporting:evaluation_schema",
        ),
    ),
    (
        "Generating",
        "From a task, a recording or an older skill to a skill that was measured.",
        (
            "upskill.workflows.generating.order:GenerateOrder",
            "upskill.workflows.generating.generate:plan_generate",
            "upskill.workflows.generating.generate:generate",
            "upskill.workflows.generating.generate:resume_generate",
            "upskill.domain.generated:GenerateResult",
        ),
    ),
    (
        "Skills, cases and runs",
        "",
        (
            "upskill.workflows.init:init_project",
            "upskill.workflows.list_skills:list_skills",
            "upskill.workflows.list_skills:ListedSkill",
            "upskill.workflows.evaluating.check_cases:check_cases",
            "upskill.workflows.evaluating.check_cases:CheckedCases",
            "upskill.workflows.evaluating.probe_cases:probe_cases",
            "upskill.workflows.list_runs:list_runs",
            "upskill.workflows.list_runs:ListedRun",
            "upskill.workflows.list_runs:trials_of",
        ),
    ),
    (
        "Recordings, models and the sandbox",
        "",
        (
            "upskill.workflows.read_trace:read_trace",
            "upskill.workflows.models:show_model",
            "upskill.workflows.models:known_aliases",
            "upskill.workflows.doctor:examine",
        ),
    ),
    (
        "Check plug-ins",
        "The contract of [your own checks](../how-to/write-a-check-plugin.md).",
        (
            "upskill.checks.plugin:CheckFunction",
            "upskill.checks.plugin:Inspection",
            "upskill.checks.plugin:Finding",
        ),
    ),
    (
        "Values",
        "The nouns that these functions take and return, all in `upskill.domain`.",
        tuple(
            f"upskill.domain:{name}"
            for name in (
                "Evaluation",
                "StudentReport",
                "ArmSummary",
                "Purchase",
                "Lift",
                "Interval",
                "Verdict",
                "LabelLift",
                "Qualification",
                "Skill",
                "SkillFile",
                "Case",
                "Check",
                "CheckResult",
                "Grade",
                "Answer",
                "Student",
                "Price",
                "Trial",
                "Arm",
                "Outcome",
                "Scored",
                "Errored",
                "End",
                "Fault",
                "Usage",
                "SkillUse",
                "Trace",
                "Step",
                "Call",
                "Observation",
            )
        ),
    ),
    (
        "Errors",
        "",
        tuple(
            f"upskill.errors:{name}"
            for name in ("UpskillError", "UsageError", "SkillInvalid", "SettingsError", "ProviderError", "EngineError")
        ),
    ),
)


def python_api_page() -> str:
    """The whole page, without its notice."""
    program = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    parts = [INTRODUCTION + "\n```python\n" + program + "```"]
    for title, about, names in SECTIONS:
        parts.append(f"## {title}" + (f"\n\n{about}" if about else ""))
        parts += [_entry(definition(name)) for name in names]
    return "\n\n".join(parts) + "\n"


def _entry(found: Definition) -> str:
    parts = [f"### {found.name}"]
    imported = f"from {found.module} import {found.name}"
    parts.append(f"```python\n{imported}\n\n{found.code}\n```")
    if found.about:
        parts.append(found.about)
    if found.fields:
        rows = [
            f"| `{field.name}` | `{_cell(field.type)}` | {_default(field.default)} | {_cell(field.about)} |"
            for field in found.fields
        ]
        parts.append("\n".join(["| field | type | default | meaning |", "|---|---|---|---|", *rows]))
    parts += [f"```python\n{method.code}\n```\n\n{method.about}" for method in found.methods]
    return "\n\n".join(parts)


def _default(text: str | None) -> str:
    if text is None:
        return "required"
    return "new" if text.startswith("field(") else f"`{_cell(text)}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
