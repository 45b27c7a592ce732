"""Recorded work -> Trace. One reader per recorder; detection by content."""
