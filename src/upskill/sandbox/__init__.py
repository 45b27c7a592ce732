"""A confined place to run what models wrote. Fails closed."""

from upskill.sandbox.backends import describe_sandbox, open_sandbox, require_sandbox
from upskill.sandbox.contract import (
    HOME,
    WORKSPACE,
    Backend,
    CommandResult,
    FileRefused,
    Limits,
    Mount,
    Sandbox,
    SandboxFacts,
    SandboxGone,
    SandboxSpec,
    SandboxUnavailable,
)

__all__ = [
    "HOME",
    "WORKSPACE",
    "Backend",
    "CommandResult",
    "FileRefused",
    "Limits",
    "Mount",
    "Sandbox",
    "SandboxFacts",
    "SandboxGone",
    "SandboxSpec",
    "SandboxUnavailable",
    "describe_sandbox",
    "open_sandbox",
    "require_sandbox",
]
