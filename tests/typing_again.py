"""What a person types to resume a run of their own: nothing but what is to be another one."""

from pathlib import Path

from upskill.core.settings import resolve_settings
from upskill.evaluation.resume import TypedAgain
from upskill.generation.generate import TypedGenerate


def typed_again(run: Path, **settings: object) -> TypedAgain:
    """What is typed beside a run of `eval`."""
    return TypedAgain(settings=resolve_settings(settings))


def generate_again(run: Path, **settings: object) -> TypedGenerate:
    """The same for a run of `generate`."""
    return TypedGenerate(settings=resolve_settings(settings))
