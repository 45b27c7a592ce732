"""A confined place to run what models wrote. Fails closed."""

from upskill.sandbox.opening import describe_sandbox, open_sandbox, require_sandbox
from upskill.sandbox.place import (
    HOME,
    WORKSPACE,
    Backend,
    FileRefused,
    Furnishing,
    Limits,
    Mount,
    Ran,
    Sandbox,
    SandboxFacts,
    SandboxGone,
    SandboxUnavailable,
)

__all__ = [
    "HOME",
    "WORKSPACE",
    "Backend",
    "FileRefused",
    "Furnishing",
    "Limits",
    "Mount",
    "Ran",
    "Sandbox",
    "SandboxFacts",
    "SandboxGone",
    "SandboxUnavailable",
    "describe_sandbox",
    "open_sandbox",
    "require_sandbox",
]
