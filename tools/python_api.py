"""The page on the Python API: what is public, with the signatures and docstrings that the code has."""

from pathlib import Path

from tools.definitions import Definition, definition

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/python/evaluate.py"

NOTEBOOK = "examples/notebook.ipynb"

INTRODUCTION = f"""# Python API

Each function does what a command does, with plain arguments and a typed result. `import upskill` loads nothing; the
engine is loaded when a trial runs.

This program is [`{EXAMPLE}`](../../{EXAMPLE}), and the tests run it:
"""

RULES = f"""- **Arguments** are named like the flags, but for these: `-m` is `models` (of `generate`, the `teacher`),
  `--from` is `sources`, `--compare previous:PATH` is `previous`, `--max-time` is `max_time_minutes`, `--fresh` is
  `store=False`.
- **Settings** that no argument names come from `UPSKILL_*`, the project's file and the user's file, as with the
  commands. Any of [the settings](settings.md) can be an argument, by its name: `max_cost=2.0`, `store=False`. A wrong
  name is an error with a suggestion.
- **Spending.** What may cost more than a dollar or take longer than ten minutes raises `UsageError` with its price,
  unless `yes=True` is given. The caps hold as with the commands.
- **Notebooks.** The functions work where an event loop is already running; the work is done in a thread of its own. A
  result shows itself as a table. The tests execute
  [`{NOTEBOOK}`](../../{NOTEBOOK}) on a local model.
- **Interrupts.** Ctrl-C, or a notebook's stop button, ends a run in good order and raises `KeyboardInterrupt`, which
  says how to resume it. A second one does not wait for that.
- **One at a time.** The engine runs once per process: a second call in another thread waits for the first.
- **Values** are frozen, and what is unknown is `None`, never 0. Errors that a person can act on are `UpskillError`s;
  their hint is in the traceback.

What stands on this page is public. Until version 1.0 it may change with a line in the changelog; anything else may
change without one."""

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Functions",
        "",
        tuple(
            f"upskill:{name}" for name in ("evaluate", "resume", "generate", "resume_generate", "regrade", "read_trace")
        ),
    ),
    (
        "Results",
        "`print` shows of each what its command prints.",
        ("upskill:EvaluationResult", "upskill:GenerationResult", "upskill:TraceResult"),
    ),
    (
        "Values",
        "What results hold.",
        (
            *(
                f"upskill.domain:{name}"
                for name in (
                    "Evaluation",
                    "StudentReport",
                    "ArmSummary",
                    "Lift",
                    "Interval",
                    "Verdict",
                    "LabelLift",
                    "Purchase",
                    "RunEnd",
                    "StudentEnd",
                    "Cap",
                    "Outage",
                    "JudgeReport",
                    "Qualification",
                    "Skill",
                    "SkillFile",
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
                    "Grade",
                    "CheckResult",
                    "Answer",
                )
            ),
            "upskill.domain.generated:GenerateResult",
            "upskill.domain.generated:StudentClaim",
            "upskill.domain.generated:AttemptSummary",
            "upskill.domain.trace_digest:TraceSource",
            "upskill.domain.trace_digest:TraceSummary",
            "upskill.domain.trace_digest:TraceDigest",
            "upskill.domain.trace_digest:Finding",
        ),
    ),
    (
        "Errors",
        "",
        tuple(
            f"upskill:{name}"
            for name in ("UpskillError", "UsageError", "SkillInvalid", "SettingsError", "ProviderError", "EngineError")
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
)


def python_api_page() -> str:
    """The whole page, without its notice."""
    program = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    parts = [INTRODUCTION + "\n```python\n" + program + "```", RULES]
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
