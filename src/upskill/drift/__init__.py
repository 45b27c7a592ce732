"""Watches a skill night after night: does it still do what its history says, and if not, what changed."""
