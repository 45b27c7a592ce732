"""A confined place to run what models wrote. Fails closed."""

from upskill.sandbox.place import WORKSPACE, FileRefused, Furnishing, Limits, Mount, Ran, Sandbox

__all__ = ["WORKSPACE", "FileRefused", "Furnishing", "Limits", "Mount", "Ran", "Sandbox"]
