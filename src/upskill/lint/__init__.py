"""Searches a skill for danger, breaches of the specification and poor quality."""
