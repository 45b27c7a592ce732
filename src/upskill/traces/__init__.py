"""Recorded work -> Trace. One reader per recorder, recognised by content. Knows no use of a trace."""
