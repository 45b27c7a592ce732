"""The page on the Python API: what is public, with the signatures and docstrings of the code.

Fields that the pages on JSON explain under the same name are not explained again."""

import re
from collections.abc import Mapping
from pathlib import Path

from tools import file_formats
from tools.definitions import Definition, definition

ROOT = Path(__file__).parent.parent
EXAMPLE = "examples/python/evaluate.py"

NOTEBOOK = "examples/notebook.ipynb"

INTRODUCTION = f"""# Python API

Each function does what a command does, with plain arguments and a typed result. `import upskill` is fast: it loads the
engine only when a model is asked. The tests run this program,
[`{EXAMPLE}`](../../{EXAMPLE}):
"""

RULES = f"""- **Arguments** have the names of the flags, except: `-m` is `models` (`teacher` for `generate`), `--from`
  is `sources`, `--compare git:REF` is `previous="git:REF"`, `--compare previous:PATH` is `previous="PATH"`, and
  `--eval-model` is `models`.
- **Settings:** any [setting](settings.md) can be an argument, such as `max_cost=2.0` or `store=False`. Others come from
  `UPSKILL_*`, the project's file and the user's file. A wrong name raises an error with a suggestion.
- **Spending:** a call that may cost more than $1 or take more than 10 minutes raises `UsageError` with its price,
  unless `yes=True` is given.
- **Notebooks:** the functions also work while an event loop is running. The tests run
  [`{NOTEBOOK}`](../../{NOTEBOOK}) on a local model.
- **Interrupts:** Ctrl-C or a notebook's stop button saves the run and raises `KeyboardInterrupt`, which says how to
  resume. A second interrupt stops without waiting.
- **Threads:** one call runs per process. A second call waits for the first.
- **Values** are frozen. Unknown values are `None`, never 0.

Everything on this page is public. Until version 1.0 it may change with a line in the changelog. Anything else may
change without one."""

FUNCTIONS = tuple(
    f"upskill:{name}"
    for name in ("evaluate", "evaluate_skills", "resume", "generate", "resume_generate", "regrade", "read_trace")
)

VALUES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Results",
        "Import these from `upskill`. `print` shows what the command prints; a notebook shows a table.",
        ("upskill:EvaluationResult", "upskill:SkillsResult", "upskill:GenerationResult", "upskill:TraceResult"),
    ),
    (
        "Values of an evaluation",
        "Import these from `upskill.core.nouns`. `Verdict` and `StudentEnd` are the values of "
        "[`verdict` and `end`](json.md#student). `Arm`, `Design`, `State`, `Label`, `CapKind`, `End` and `Fault` are "
        "[words](formats.md#words). `Student`, `Price`, `Qualification`, `Reason`, `Cap`, `Outage`, `OtherSkills`, "
        "`CheckResult` and `SkillUse` have the keys in [run files](formats.md). "
        "`OtherSkillsLike` is a path, a number or `bundled`. "
        "`Outcome` is `Scored | Errored`. `Files` maps a path to its bytes.",
        tuple(
            f"upskill.core.nouns:{name}"
            for name in (
                "Evaluation",
                "StudentReport",
                "ArmSummary",
                "Lift",
                "Interval",
                "LabelLift",
                "Purchase",
                "RunEnd",
                "JudgeReport",
                "Skill",
                "SkillFile",
                "Trial",
                "Scored",
                "Errored",
                "Usage",
                "Grade",
                "Answer",
            )
        ),
    ),
    (
        "Values of several skills",
        "Import these from `upskill.core.nouns.evaluation`. `SkillState` is `measured`, `unchanged`, `failed` or "
        "`not started`.",
        tuple(f"upskill.core.nouns.evaluation:{name}" for name in ("ComparedSkills", "ComparedSkill")),
    ),
    (
        "Values of a generated skill",
        "Import these from `upskill.generation.generated`.",
        tuple(f"upskill.generation.generated:{name}" for name in ("GenerateResult", "StudentClaim", "AttemptSummary")),
    ),
    (
        "Values of a session",
        "Import these from `upskill.traces.trace`.",
        tuple(f"upskill.traces.trace:{name}" for name in ("TraceSource", "TraceSummary", "TraceDigest", "Finding")),
    ),
    (
        "Check plug-ins",
        "Import these from `upskill.core.checks.plugin`. [How to write one](checks.md#write-a-plug-in).",
        tuple(f"upskill.core.checks.plugin:{name}" for name in ("CheckFunction", "Inspection", "Finding")),
    ),
)
ERRORS = (
    *(
        f"upskill:{name}"
        for name in ("UpskillError", "UsageError", "SkillInvalid", "SettingsError", "ProviderError", "EngineError")
    ),
    "upskill.errors:StudentCannotProfit",
    "upskill:FindingsRefused",
)

EVALUATION = "`upskill eval --json`"
ON_THE_JSON_PAGE = {
    "upskill.core.nouns:Evaluation": EVALUATION,
    "upskill.core.nouns:StudentReport": "`student`",
    "upskill.core.nouns:ArmSummary": "`arm`",
    "upskill.core.nouns:Lift": "`lift`",
    "upskill.core.nouns:LabelLift": "`label_lift`",
    "upskill.core.nouns:Purchase": EVALUATION,
    "upskill.core.nouns:JudgeReport": EVALUATION,
    "upskill.generation.generated:GenerateResult": "`upskill generate --json`",
    "upskill.generation.generated:AttemptSummary": "`upskill generate --json`",
    "upskill.traces.trace:TraceSource": "`upskill trace --json`",
    "upskill.traces.trace:TraceSummary": "A session (`traces[]`)",
    "upskill.traces.trace:TraceDigest": "The digest (`digest`)",
    "upskill.traces.trace:Finding": "A finding (`digest.findings[]`)",
}
"""Values that some `--json` shows, and the section that explains their fields."""
BELOW = {"Purchase": "bought.", "JudgeReport": "judge.", "AttemptSummary": "attempts[]."}
"""Where in that section their fields are."""
DIFFERS = {"Evaluation": {"required"}, "GenerateResult": {"cases"}}
"""Fields that have the name of a key and another meaning."""
NOT_SHOWN = frozenset(
    {
        "RunEnd.has_outage",
        "Trial.key",
        "Trial.supersedes",
        "Trial.lost_answers",
        "Trial.refused_requests",
        "Trial.without_answer",
        "Trial.cleaned",
        "Finding.position",
    }
)
"""Methods for our own use."""


def python_api_page(json_page: str) -> str:
    """The whole page, without its notice. Fields that `json_page` explains under the same name are only listed."""
    program = (ROOT / EXAMPLE).read_text(encoding="utf-8")
    headed = re.split(r"^#{2,3} (.+)$", json_page, flags=re.MULTILINE)
    sections = dict(zip(headed[1::2], headed[2::2], strict=True))
    parts = [INTRODUCTION + "\n```python\n" + program + "```", RULES]
    parts.append("## Functions\n\nImport these from `upskill`.")
    parts += [f"### {one.name}\n\n```python\n{one.code}\n```\n\n{one.about}" for one in map(definition, FUNCTIONS)]
    for title, about, names in VALUES:
        parts.append(f"## {title}\n\n{about}")
        parts += [_entry(where, sections) for where in names]
    parts.append("## Errors\n\nEach has a message; `hint` says what to do next.")
    rows = [f"| `{one.module}.{one.name}` | {_cell(one.about)} |" for one in map(definition, ERRORS)]
    parts.append("\n".join(["| error | meaning |", "|---|---|", *rows]))
    return "\n\n".join(parts) + "\n"


def _entry(where: str, sections: Mapping[str, str]) -> str:
    found = definition(where)
    methods = [one for one in found.methods if f"{found.name}.{one.name}" not in NOT_SHOWN]
    if where in (*file_formats.RUN, *file_formats.TRIAL):
        link = f"Fields as in [run files](formats.md#{found.name.lower()})."
        return _joined(found, link, "\n".join(f"- `{one.code}`: {_cell(one.about)}" for one in methods))
    heading = ON_THE_JSON_PAGE.get(where)
    below = BELOW.get(found.name, "")
    explained = set() if heading is None else _keys(sections[heading], below) - DIFFERS.get(found.name, set())
    link = "" if heading is None else f"Fields as in [JSON output](json.md#{_anchor(heading)})."
    code = [f"{field.name}: {field.type}" for field in found.fields if field.name not in explained]
    code += [one.code for one in methods if "(" not in one.code]
    code += [f"def {one.code}" for one in methods if "(" in one.code]
    meanings = [(one.name, one.about) for one in found.fields] + [(one.name, one.about) for one in methods]
    block = f"```python\nclass {found.name}:\n" + "".join(f"    {one}\n" for one in code) + "```" if code else ""
    listed = [f"- `{name}`: {_cell(about)}" for name, about in meanings if about and name not in explained]
    return _joined(found, link, block, "\n".join(listed))


def _joined(found: Definition, link: str, *rest: str) -> str:
    about = f"{found.about} {link}".rstrip()
    return "\n\n".join(part for part in (f"### {found.name}", about, *rest) if part)


def _keys(section: str, below: str) -> set[str]:
    """The keys in the first column of a table, or those below one of them."""
    rows = re.findall(r"^\| (`[^|]+`) \|", section, re.MULTILINE)
    keys = {key for row in rows for key in re.findall(r"`([^`]+)`", row)}
    return {key.removeprefix(below) for key in keys if key.startswith(below)}


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w -]", "", heading.lower()).strip().replace(" ", "-")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
