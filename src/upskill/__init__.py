"""upskill: measure what an Agent Skill does for a model, with and without it.

Importing this package only defines names. Each is loaded when it is used, and the engine when a model is asked.
"""

from typing import TYPE_CHECKING

from upskill.lazy_exports import lazy_exports

__version__ = "0.1.0"

if TYPE_CHECKING:
    from upskill.core.nouns.finding import FindingsRefused
    from upskill.errors import EngineError, ProviderError, SettingsError, SkillInvalid, UpskillError, UsageError
    from upskill.library.functions import (
        evaluate,
        evaluate_skills,
        generate,
        read_trace,
        regrade,
        resume,
        resume_generate,
    )
    from upskill.library.results import EvaluationResult, GenerationResult, SkillsResult, TraceResult
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "core.nouns.finding": ("FindingsRefused",),
            "errors": ("EngineError", "ProviderError", "SettingsError", "SkillInvalid", "UpskillError", "UsageError"),
            "library.functions": (
                "evaluate",
                "evaluate_skills",
                "generate",
                "read_trace",
                "regrade",
                "resume",
                "resume_generate",
            ),
            "library.results": ("EvaluationResult", "GenerationResult", "SkillsResult", "TraceResult"),
        },
    )

__all__ = [
    "EngineError",
    "EvaluationResult",
    "FindingsRefused",
    "GenerationResult",
    "ProviderError",
    "SettingsError",
    "SkillInvalid",
    "SkillsResult",
    "TraceResult",
    "UpskillError",
    "UsageError",
    "evaluate",
    "evaluate_skills",
    "generate",
    "read_trace",
    "regrade",
    "resume",
    "resume_generate",
]


def __dir__() -> list[str]:
    """For completion: also what has not been loaded yet."""
    return sorted({*globals(), *__all__})
