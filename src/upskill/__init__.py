"""upskill: measure what an Agent Skill does for a model, with and without it.

Importing this package does nothing but define names; the engine is loaded when a trial runs.
"""

__version__ = "0.1.0"
