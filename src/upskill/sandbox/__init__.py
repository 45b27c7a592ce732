"""Confinement for programs that models wrote. Fails closed: nothing here falls back to less than was asked for."""

from upskill.sandbox.backends import describe_sandbox, open_sandbox, require_sandbox
from upskill.sandbox.contract import (
    ENGINES,
    MOST_READ_ONLY,
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
    SandboxSpent,
    SandboxUnavailable,
)

__all__ = [
    "ENGINES",
    "MOST_READ_ONLY",
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
    "SandboxSpent",
    "SandboxUnavailable",
    "describe_sandbox",
    "open_sandbox",
    "require_sandbox",
]
